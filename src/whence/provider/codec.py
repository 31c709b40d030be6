"""The three protocols under one form, as a conversation uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from whence.declare.toolbox import Mounted
from whence.provider import anthropic, openai_chat, openai_responses
from whence.provider.chat_dialect import Dialect
from whence.provider.exchange import Completion, Encoded, Frame, Settings
from whence.provider.ids import CallIds
from whence.provider.profiles import ANTHROPIC, ANTHROPIC_STRICT, OPENAI, OPENAI_STRICT
from whence.provider.stream import Assembler
from whence.shapes.item import Item


class Decode(Protocol):
    """Reads an answer that came in one piece; any body gives a completion."""

    def __call__(self, body: bytes, ids: CallIds | None = None, status: int = 200) -> Completion:
        """The answer, or the failure that the body tells of."""
        ...


@dataclass(frozen=True, slots=True)
class Codec:
    """How one protocol says everything."""

    protocol: str
    encode_items: Callable[[Sequence[Item]], Encoded]
    encode_tools: Callable[[Iterable[Mounted]], Encoded]
    frame: Callable[[Settings, Sequence[bytes]], Frame]
    assembler: Callable[[CallIds], Assembler]
    decode: Decode
    nulls: bool = False
    """Whether the model has to write null for an argument that it would leave out."""
    with_tools: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a request that has tools, and so will be followed by others."""


def chat_codec(dialect: Dialect, *, strict: bool = False) -> Codec:
    """Chat Completions as one server speaks it; only OpenAI's own schemas can be strict."""
    held = strict and dialect.profile == OPENAI
    spoken = replace(dialect, profile=OPENAI_STRICT) if held else dialect
    return Codec(
        openai_chat.PROTOCOL,
        lambda items: openai_chat.encode_items(items, spoken),
        lambda tools: openai_chat.encode_tools(tools, spoken),
        lambda settings, tools: openai_chat.frame(settings, tools, spoken),
        openai_chat.ChatAssembler,
        openai_chat.decode_response,
        nulls=held,
    )


def responses_codec(*, strict: bool = False) -> Codec:
    """The Responses API."""
    profile = OPENAI_STRICT if strict else OPENAI
    return Codec(
        openai_responses.PROTOCOL,
        openai_responses.encode_items,
        lambda tools: openai_responses.encode_tools(tools, profile),
        openai_responses.frame,
        openai_responses.ResponsesAssembler,
        openai_responses.decode_response,
        nulls=strict,
    )


def anthropic_codec(*, strict: bool = False) -> Codec:
    """The Messages API; with tools the conversation is cached, for it will be sent again."""
    profile = ANTHROPIC_STRICT if strict else ANTHROPIC
    return Codec(
        anthropic.PROTOCOL,
        anthropic.encode_items,
        lambda tools: anthropic.encode_tools(tools, profile),
        anthropic.frame,
        anthropic.AnthropicAssembler,
        anthropic.decode_response,
        nulls=strict,
        with_tools={"cache_control": {"type": "ephemeral"}},
    )
