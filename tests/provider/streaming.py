"""Events for assemblers, as a server would send them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from whence.provider.exchange import Completion
from whence.provider.sse import SseEvent
from whence.provider.stream import Assembler, Delta, ItemDone
from whence.shapes.item import ToolCall


def run(assembler: Assembler, events: Iterable[Any]) -> tuple[list[Delta], Completion]:
    """Everything that an assembler says about these events; text is sent as it is."""
    deltas: list[Delta] = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        deltas += assembler.feed(SseEvent(data.encode("utf-8", "surrogatepass")))
    rest, completion = assembler.finish()
    return deltas + rest, completion


def completed(assembler: Assembler, events: Iterable[Any]) -> Completion:
    return run(assembler, events)[1]


def calls_given_out(deltas: Iterable[Delta]) -> list[ToolCall]:
    return [
        delta.item
        for delta in deltas
        if isinstance(delta, ItemDone) and isinstance(delta.item, ToolCall)
    ]


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """A Chat Completions chunk."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def piece(
    index: int | None = None,
    id: str | None = None,
    name: str | None = None,
    text: str | None = None,
) -> dict[str, Any]:
    """A chunk with a piece of a call; what is None is not sent."""
    function = {
        key: value for key, value in (("name", name), ("arguments", text)) if value is not None
    }
    call: dict[str, Any] = {"function": function} if function else {}
    if index is not None:
        call["index"] = index
    if id is not None:
        call["id"] = id
    return chunk({"tool_calls": [call]})
