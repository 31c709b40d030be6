"""Items to Responses input: one entry for each item, encoded once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from whence.provider.arguments import replayed_text
from whence.provider.exchange import Encoded
from whence.provider.losses import Ledger, Note, foreign_notes, not_replayed, wire_id, wire_name
from whence.provider.outcomes import mark, shown_parts
from whence.provider.responses_parts import (
    PROTOCOL,
    encode_content,
    encode_parts,
    own_fields,
)
from whence.provider.wire import dumps, raw
from whence.shapes.item import Item, Message, Native, Opaque, Reasoning, ToolCall, ToolOutcome

_ID = re.compile(r"\S{1,64}")
_ID_LENGTH = 40


def encode_items(items: Sequence[Item]) -> Encoded:
    """The input entries of a conversation, or of any piece of it."""
    ledger = Ledger()
    fragments = []
    for index, item in enumerate(items):
        notes = foreign_notes(item, PROTOCOL)
        entry = _encode(item, notes)
        ledger.add(index, notes)
        if entry is not None:
            fragments.append(dumps(entry))
    return Encoded(tuple(fragments), ledger.book())


def _encode(item: Item, notes: list[Note]) -> dict[str, Any] | msgspec.Raw | None:
    match item:
        case Message():
            return _encode_message(item, notes)
        case ToolCall():
            return _encode_call(item, notes)
        case ToolOutcome():
            return _encode_outcome(item, notes)
        case Reasoning():
            return _encode_reasoning(item, notes)
        case Opaque(protocol, kind, json):
            if protocol == PROTOCOL:
                return raw(json)
            notes.append(not_replayed(kind, protocol, PROTOCOL))
            return None


def _own_id(item_id: str | None, native: Native | None) -> dict[str, str]:
    """An id is only known to the provider that gave it."""
    foreign = native is not None and native.protocol != PROTOCOL
    return {"id": item_id} if item_id and not foreign else {}


def _encode_message(item: Message, notes: list[Note]) -> dict[str, Any]:
    if item.name:
        notes.append(Note(f"name {item.name!r}", "dropped", "the Responses API has no names"))
    fields = {**own_fields(item.native), **({"phase": item.phase} if item.phase else {})}
    known = _own_id(item.id, item.native)
    if item.role == "assistant" and known:
        content = encode_parts(item.parts, item.role, notes)
        body = {"type": "message", **known, "role": "assistant", "status": "completed"}
        return {**body, "content": content, **fields}
    return {"role": item.role, "content": encode_content(item.parts, item.role, notes), **fields}


def _wire_id(call_id: str, notes: list[Note]) -> str:
    return wire_id(call_id, _ID, _ID_LENGTH, "the Responses API", notes)


def _encode_call(item: ToolCall, notes: list[Note]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": "custom_tool_call" if item.custom else "function_call",
        **_own_id(item.item_id, item.native),
        "call_id": _wire_id(item.id, notes),
        "name": wire_name(item.name, "the Responses API", notes),
    }
    if item.custom:
        body["input"] = item.text
    else:
        body["arguments"] = replayed_text(item)
    return {**body, **own_fields(item.native)}


def _encode_outcome(item: ToolOutcome, notes: list[Note]) -> dict[str, Any]:
    parts, more = shown_parts(item)
    notes += more
    output = encode_content(mark(parts, is_error=item.is_error), "user", notes)
    return {
        "type": "custom_tool_call_output" if item.custom else "function_call_output",
        **_own_id(item.item_id, item.native),
        "call_id": _wire_id(item.call_id, notes),
        "output": output,
        **own_fields(item.native),
    }


def _encode_reasoning(item: Reasoning, notes: list[Note]) -> dict[str, Any] | None:
    if item.protocol != PROTOCOL:
        notes.append(not_replayed("reasoning", item.protocol, PROTOCOL))
        return None
    body: dict[str, Any] = {
        "type": "reasoning",
        **({"id": item.id} if item.id else {}),
        "summary": [{"type": "summary_text", "text": text} for text in item.summaries],
    }
    if item.texts:
        body["content"] = [{"type": "reasoning_text", "text": text} for text in item.texts]
    if item.seal is not None:
        body["encrypted_content"] = item.seal
    return {**body, **own_fields(item.native)}
