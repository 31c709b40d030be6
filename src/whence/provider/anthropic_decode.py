"""Anthropic messages and answers to items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from whence.errors import ParseError
from whence.provider.anthropic_parts import PROTOCOL, decode_content, decode_part, native_of
from whence.provider.arguments import make_call, recorded_call
from whence.provider.exchange import Completion
from whence.provider.failure import read_failure
from whence.provider.ids import CallIds
from whence.provider.wire import (
    count,
    dumps,
    loads,
    mapping,
    mend,
    string,
    text_or_none,
)
from whence.shapes.item import (
    Item,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    StopReason,
    ToolCall,
    ToolOutcome,
    Usage,
)

_STOPS = {
    "end_turn": StopReason.END,
    "tool_use": StopReason.CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
}
_DIRECT = {"type": "direct"}


class _Body(msgspec.Struct):
    """Only to learn where each block begins and ends."""

    content: list[msgspec.Raw] = []


class _Use(msgspec.Struct):
    input: msgspec.Raw = msgspec.Raw()


def decode_messages(messages: Sequence[Any]) -> tuple[Item, ...]:
    """The items of a conversation that was sent to such a server."""
    items: list[Item] = []
    for message in messages:
        fields = mapping(message)
        role = fields.get("role")
        side: Role = role if role in ("assistant", "system") else "user"
        content = fields.get("content")
        blocks = content if isinstance(content, list) else decode_text(content)
        items += joined((decode_block(mapping(block), side, sent=True) for block in blocks), side)
    return tuple(items)


def decode_system(system: object) -> tuple[Message, ...]:
    """The instructions of a request."""
    parts = decode_content(system, "system")
    return (Message("system", parts),) if parts else ()


def decode_text(content: object) -> list[dict[str, Any]]:
    """Plain words as the block that they stand for."""
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def decode_block(
    block: dict[str, Any], role: Role, text: str | None = None, *, sent: bool = False
) -> Item | Part:
    """The item or the part of a message that a block is."""
    match block.get("type"):
        case "tool_use":
            return _decode_call(block, text, sent=sent)
        case "tool_result":
            return _decode_outcome(block)
        case "thinking":
            return _decode_thought(block)
        case "redacted_thinking":
            native = native_of(_rest(block, "data"))
            return Reasoning(PROTOCOL, seal=string(block.get("data")), redacted=True, native=native)
        case _:
            return decode_part(block, role, text)


def _rest(block: dict[str, Any], *known: str) -> dict[str, Any]:
    """The fields that the item has no place for; a direct call need not say so."""
    return {
        key: value
        for key, value in block.items()
        if key not in known and key != "type" and not (key == "caller" and value == _DIRECT)
    }


def _decode_call(block: dict[str, Any], text: str | None, *, sent: bool) -> ToolCall:
    native = native_of(_rest(block, "id", "name", "input"))
    call_id, name = string(block.get("id")), string(block.get("name"))
    arguments = exact_input(text) or dumps(block.get("input", {})).decode()
    if sent:
        return recorded_call(call_id, name, arguments, native=native)
    return make_call(call_id, name, arguments, native=native)


def exact_input(text: str | None) -> str:
    """The arguments of a call, byte for byte, where its JSON is known."""
    if text is None:
        return ""
    try:
        return bytes(msgspec.json.decode(text, type=_Use).input).decode()
    except (msgspec.DecodeError, UnicodeError):
        return ""


def _decode_outcome(block: dict[str, Any]) -> ToolOutcome:
    return ToolOutcome(
        string(block.get("tool_use_id")),
        decode_content(block.get("content"), "user"),
        block.get("is_error") is True,
        native=native_of(_rest(block, "tool_use_id", "content", "is_error")),
    )


def _decode_thought(block: dict[str, Any]) -> Reasoning:
    words = mend(string(block.get("thinking")))
    return Reasoning(
        PROTOCOL,
        (words,) if words else (),
        seal=text_or_none(block.get("signature")),
        native=native_of(_rest(block, "thinking", "signature")),
    )


def joined(blocks: Iterable[Item | Part], role: Role = "assistant") -> list[Item]:
    """Items in order; neighbouring parts make up one message."""
    items: list[Item] = []
    parts: list[Part] = []
    for block in blocks:
        if isinstance(block, Message | ToolCall | ToolOutcome | Reasoning) or (
            isinstance(block, Opaque) and role == "assistant"
        ):
            items += _message(role, parts)
            parts = []
            items.append(block)
        else:
            parts.append(block)
    return items + _message(role, parts)


def _message(role: Role, parts: list[Part]) -> list[Item]:
    return [Message(role, tuple(parts))] if parts else []


def decode_response(body: bytes, ids: CallIds | None = None, status: int = 200) -> Completion:
    """An answer that came in one piece; an error body gives a completion with a failure."""
    try:
        answer = mapping(loads(body))
    except ParseError:
        answer = {}
    content = answer.get("content")
    if not isinstance(content, list) or answer.get("type") == "error":
        return Completion((), StopReason.ERROR, failure=read_failure(body, status))
    texts = _exact_texts(body, len(content))
    blocks = [
        decode_block(mapping(block), "assistant", text)
        for block, text in zip(content, texts, strict=True)
    ]
    word = text_or_none(answer.get("stop_reason"))
    return completed(answer, joined(own_calls(blocks, word, ids or CallIds())))


def _exact_texts(body: bytes, expected: int) -> list[str | None]:
    try:
        raws = msgspec.json.decode(body, type=_Body).content
        texts: list[str | None] = [bytes(block).decode() for block in raws]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        texts = []
    return texts if len(texts) == expected else [None] * expected


def own_calls(blocks: Sequence[Item | Part], word: str | None, ids: CallIds) -> list[Item | Part]:
    """The blocks of a whole answer; after a cut its last call without arguments is not whole."""
    limited = stop_of(word) is StopReason.LENGTH
    last = len(blocks) - 1
    return [
        own_call(block, ids, cut=limited and at == last and block.arguments == {})
        if isinstance(block, ToolCall)
        else block
        for at, block in enumerate(blocks)
    ]


def own_call(call: ToolCall, ids: CallIds, *, cut: bool = False) -> ToolCall:
    """The call with an id that no other has, marked where it was cut off."""
    call_id = ids.claim(call.id)
    if cut:
        return make_call(call_id, call.name, "", native=call.native, cut=True)
    return call if call_id == call.id else replace(call, id=call_id)


def stop_of(word: str | None) -> StopReason:
    """Why it stopped."""
    return _STOPS.get(word, StopReason.END) if word else StopReason.CUT


def completed(answer: dict[str, Any], items: Sequence[Item]) -> Completion:
    """The completion that a message object describes."""
    word = text_or_none(answer.get("stop_reason"))
    container = answer.get("container")
    return Completion(
        tuple(items),
        stop_of(word),
        word,
        usage_of(mapping(answer.get("usage"))),
        text_or_none(answer.get("id")),
        text_or_none(answer.get("model")),
        extra={"container": container} if container else {},
    )


def usage_of(usage: dict[str, Any]) -> Usage:
    """The tokens of an answer; what came from or went into the cache is counted apart there."""
    read = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    details = mapping(usage.get("output_tokens_details"))
    return Usage(
        count(usage.get("input_tokens")) + read + written,
        count(usage.get("output_tokens")),
        read,
        written,
        count(details.get("thinking_tokens") or details.get("reasoning_tokens")),
    )
