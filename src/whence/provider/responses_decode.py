"""Responses input and output to items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from whence.errors import ParseError
from whence.provider.arguments import make_call, recorded_call
from whence.provider.exchange import Completion
from whence.provider.failure import failure_of, read_failure
from whence.provider.ids import CallIds
from whence.provider.outcomes import unmark
from whence.provider.responses_parts import PROTOCOL, decode_content, native_of
from whence.provider.wire import count, dumps, loads, mapping, mend, objects, string, text_or_none
from whence.shapes.item import (
    Item,
    Message,
    Opaque,
    Reasoning,
    Role,
    StopReason,
    ToolCall,
    ToolOutcome,
    Usage,
)

_INCOMPLETE = {
    "max_output_tokens": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "content_filter": StopReason.REFUSAL,
}


class _Body(msgspec.Struct):
    """Only to learn where each entry begins and ends."""

    output: list[msgspec.Raw] = []


def decode_input(entries: str | Sequence[Any]) -> tuple[Item, ...]:
    """The items of a conversation that was sent to such a server."""
    if isinstance(entries, str):
        return (Message.of("user", entries),)
    return tuple(decode_entry(mapping(entry), sent=True) for entry in entries)


def decode_entry(
    entry: dict[str, Any], text: str | None = None, *, sent: bool = False, cut: bool = False
) -> Item:
    """One entry of an input or an output; `text` is its JSON, where it is known exactly."""
    match entry.get("type"):
        case "message" | None if "role" in entry:
            return _decode_message(entry)
        case "function_call":
            return _decode_call(entry, sent=sent, cut=cut)
        case "custom_tool_call":
            return _decode_custom(entry)
        case "function_call_output" | "custom_tool_call_output":
            return _decode_outcome(entry)
        case "reasoning":
            return _decode_reasoning(entry)
        case kind:
            json = dumps(entry).decode() if text is None else text
            return Opaque(PROTOCOL, string(kind), json, _side(entry))


def _side(entry: dict[str, Any]) -> Role:
    role = entry.get("role")
    if role in ("system", "developer", "user"):
        return role  # type: ignore[no-any-return]
    return "user" if string(entry.get("type")).endswith("_output") else "assistant"


def _rest(entry: dict[str, Any], *known: str) -> dict[str, Any]:
    """The fields that the item has no place for; a completed item need not say so."""
    return {
        key: value
        for key, value in entry.items()
        if key not in known and key != "type" and (key, value) != ("status", "completed")
    }


def _decode_message(entry: dict[str, Any]) -> Message:
    given = string(entry.get("role"))
    role: Role = given if given in ("system", "developer", "user") else "assistant"  # type: ignore[assignment]
    return Message(
        role,
        decode_content(entry.get("content"), role),
        text_or_none(entry.get("id")),
        phase=text_or_none(entry.get("phase")),
        native=native_of(_rest(entry, "role", "content", "id", "phase")),
    )


def _decode_call(entry: dict[str, Any], *, sent: bool, cut: bool) -> ToolCall:
    native = native_of(_rest(entry, "id", "call_id", "name", "arguments"))
    call_id, name = string(entry.get("call_id")), string(entry.get("name"))
    given, item_id = entry.get("arguments"), text_or_none(entry.get("id"))
    text = given if isinstance(given, str) else "" if given is None else dumps(given).decode()
    if sent:
        return recorded_call(call_id, name, text, item_id=item_id, native=native)
    half = cut or entry.get("status") in ("in_progress", "incomplete")
    return make_call(call_id, name, text, item_id=item_id, native=native, cut=half)


def _decode_custom(entry: dict[str, Any]) -> ToolCall:
    text = mend(string(entry.get("input")))
    return ToolCall(
        string(entry.get("call_id")),
        string(entry.get("name")),
        text,
        {"input": text},
        item_id=text_or_none(entry.get("id")),
        custom=True,
        native=native_of(_rest(entry, "id", "call_id", "name", "input")),
    )


def _decode_outcome(entry: dict[str, Any]) -> ToolOutcome:
    parts, is_error = unmark(decode_content(entry.get("output"), "user"))
    return ToolOutcome(
        string(entry.get("call_id")),
        parts,
        is_error,
        custom=entry.get("type") == "custom_tool_call_output",
        item_id=text_or_none(entry.get("id")),
        native=native_of(_rest(entry, "id", "call_id", "output")),
    )


def _decode_reasoning(entry: dict[str, Any]) -> Reasoning:
    return Reasoning(
        PROTOCOL,
        tuple(mend(string(part.get("text"))) for part in objects(entry.get("content"))),
        tuple(mend(string(part.get("text"))) for part in objects(entry.get("summary"))),
        text_or_none(entry.get("encrypted_content")),
        id=text_or_none(entry.get("id")),
        native=native_of(_rest(entry, "id", "content", "summary", "encrypted_content")),
    )


def decode_response(body: bytes, ids: CallIds | None = None, status: int = 200) -> Completion:
    """An answer that came in one piece; an error body gives a completion with a failure."""
    try:
        response = mapping(loads(body))
    except ParseError:
        response = {}
    if not isinstance(response.get("output"), list):
        return Completion((), StopReason.ERROR, failure=read_failure(body, status))
    items = decode_output(objects(response["output"]), exact_texts(body))
    return completed(response, with_own_ids(items, ids or CallIds()))


def exact_texts(body: bytes) -> list[str]:
    """The JSON of each entry of an output, byte for byte, as far as it can be had."""
    try:
        return [bytes(entry).decode() for entry in msgspec.json.decode(body, type=_Body).output]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []


def decode_output(output: Sequence[dict[str, Any]], texts: Sequence[str]) -> list[Item]:
    """The items of an output."""
    exact = texts if len(texts) == len(output) else [None] * len(output)
    return [decode_entry(entry, text) for entry, text in zip(output, exact, strict=True)]


def with_own_ids(items: Sequence[Item], ids: CallIds) -> tuple[Item, ...]:
    """The items, each call with an id that no other has."""
    return tuple(claimed(item, ids) for item in items)


def claimed(item: Item, ids: CallIds) -> Item:
    """The item; a call gets a new id where its own is missing or taken."""
    if not isinstance(item, ToolCall):
        return item
    call_id = ids.claim(item.id)
    return item if call_id == item.id else replace(item, id=call_id)


def completed(response: dict[str, Any], items: tuple[Item, ...]) -> Completion:
    """The completion that a response object describes."""
    word = text_or_none(response.get("status"))
    failure = failure_of({"error": response.get("error")})
    return Completion(
        items,
        stop_of(response, items),
        word,
        usage_of(response),
        text_or_none(response.get("id")),
        text_or_none(response.get("model")),
        failure,
    )


def stop_of(response: dict[str, Any], items: Sequence[Item]) -> StopReason:
    """Why it stopped."""
    match response.get("status"):
        case "completed":
            calls = any(isinstance(item, ToolCall) for item in items)
            return StopReason.CALLS if calls else StopReason.END
        case "incomplete":
            reason = mapping(response.get("incomplete_details")).get("reason")
            return _INCOMPLETE.get(string(reason), StopReason.LENGTH)
        case "queued" | "in_progress":
            return StopReason.PAUSE
        case _:
            return StopReason.ERROR


def usage_of(response: dict[str, Any]) -> Usage:
    """The tokens of an answer."""
    usage = mapping(response.get("usage"))
    given = mapping(usage.get("input_tokens_details"))
    return Usage(
        count(usage.get("input_tokens")),
        count(usage.get("output_tokens")),
        count(given.get("cached_tokens")),
        count(given.get("cache_write_tokens")),
        count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )
