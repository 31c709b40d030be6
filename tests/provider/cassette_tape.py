"""Recorded exchanges with real providers, read from the shared cassettes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from whence.provider import anthropic, openai_chat, openai_responses
from whence.provider.exchange import Completion
from whence.provider.sse import SseReader
from whence.provider.stream import Assembler, Delta
from whence.provider.wire import dumps

CASSETTES = Path(__file__).parents[3] / "shared" / "cassettes"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Interaction:
    """One request and its answer."""

    file: str
    index: int
    uri: str
    request: Any
    status: int
    body: bytes
    streamed: bool
    expected: Any

    @property
    def protocol(self) -> str:
        if "anthropic.com" in self.uri:
            return anthropic.PROTOCOL
        return openai_responses.PROTOCOL if "/responses" in self.uri else openai_chat.PROTOCOL

    @property
    def is_model(self) -> bool:
        """Whether a model was asked; MCP servers and file stores are recorded too."""
        return any(path in self.uri for path in ("/messages", "/responses", "/chat/completions"))

    def __str__(self) -> str:
        return f"{self.file}#{self.index}"


def names() -> list[str]:
    return sorted(f"{path.parent.name}/{path.name}" for path in CASSETTES.glob("*/*.yaml"))


@cache
def expectations() -> dict[str, list[Any]]:
    loaded: dict[str, list[Any]] = json.loads((CASSETTES / "expected.json").read_text("utf-8"))
    return loaded


@cache
def interactions(name: str) -> tuple[Interaction, ...]:
    tape = yaml.load((CASSETTES / name).read_text("utf-8"), LOADER)
    return tuple(_interactions(name, tape["interactions"]))


def _interactions(name: str, recorded: list[Any]) -> Iterator[Interaction]:
    for index, one in enumerate(recorded):
        request, response = one["request"], one["response"]
        plain = "parsed_body" in response
        yield Interaction(
            name,
            index,
            request["uri"],
            request.get("parsed_body"),
            response["status"]["code"],
            dumps(response["parsed_body"]) if plain else response["body"]["string"].encode(),
            "event-stream" in str(response["headers"].get("content-type")),
            expectations()[name][index],
        )


ASSEMBLERS: dict[str, Callable[[], Assembler]] = {
    openai_chat.PROTOCOL: openai_chat.ChatAssembler,
    openai_responses.PROTOCOL: openai_responses.ResponsesAssembler,
    anthropic.PROTOCOL: anthropic.AnthropicAssembler,
}
DECODERS: dict[str, Callable[..., Completion]] = {
    openai_chat.PROTOCOL: openai_chat.decode_response,
    openai_responses.PROTOCOL: openai_responses.decode_response,
    anthropic.PROTOCOL: anthropic.decode_response,
}


def stream(protocol: str, body: bytes, piece: int) -> tuple[list[Delta], Completion]:
    """The answer as it comes in pieces of that many bytes."""
    reader, assembler = SseReader(), ASSEMBLERS[protocol]()
    deltas: list[Delta] = []
    for at in range(0, len(body), piece):
        for event in reader.feed(body[at : at + piece]):
            deltas += assembler.feed(event)
    for event in reader.close():
        deltas += assembler.feed(event)
    rest, completion = assembler.finish()
    return deltas + rest, completion
