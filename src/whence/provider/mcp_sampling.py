"""Conversations in the words of MCP's sampling: messages, and the answer of a client's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whence.provider.arguments import read_arguments, recorded_call, replayed_text
from whence.provider.exchange import Completion, Loss
from whence.provider.losses import Ledger, Note, foreign_notes, not_replayed
from whence.provider.mcp_parts import PROTOCOL, decode_part, encode_parts, native_of, own_fields
from whence.provider.mcp_tools import decode_result, encode_result
from whence.provider.wire import dumps, objects, string, text_or_none, without
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
)

_STOPS = {
    "endTurn": StopReason.END,
    "toolUse": StopReason.CALLS,
    "maxTokens": StopReason.LENGTH,
    "stopSequence": StopReason.STOP_SEQUENCE,
}


def encode_items(items: Sequence[Item]) -> tuple[list[dict[str, Any]], tuple[Loss, ...]]:
    """The messages of a sampling request, and what they cannot say."""
    ledger = Ledger()
    messages: list[dict[str, Any]] = []
    mergeable = False
    for index, item in enumerate(items):
        notes = foreign_notes(item, PROTOCOL)
        role, blocks = _encode(item, notes)
        ledger.add(index, notes)
        joins = mergeable and not isinstance(item, Message) and messages[-1]["role"] == role
        if joins:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
        mergeable = bool(messages) and not (isinstance(item, Message) and role == "user")
    return messages, ledger.book()


def _encode(item: Item, notes: list[Note]) -> tuple[str, list[dict[str, Any]]]:
    match item:
        case Message():
            if item.role not in ("user", "assistant"):
                reason = "instructions are a field of the request; it is sent as the user's words"
                notes.append(Note(f"role {item.role}", "changed", reason))
            role = "assistant" if item.role == "assistant" else "user"
            return role, encode_parts(item.parts, notes)
        case ToolCall():
            arguments = read_arguments(replayed_text(item)).arguments
            use = {"type": "tool_use", "id": item.id, "name": item.name, "input": arguments}
            return "assistant", [{**use, **own_fields(item.native)}]
        case ToolOutcome():
            result, losses = encode_result(item)
            notes += [Note(loss.what, loss.fate, loss.reason) for loss in losses]
            return "user", [{"type": "tool_result", "toolUseId": item.call_id, **result}]
        case Reasoning() | Opaque():
            kind = item.kind if isinstance(item, Opaque) else "reasoning"
            notes.append(not_replayed(kind, item.protocol, PROTOCOL))
            return "assistant", []


def decode_messages(messages: Sequence[Any]) -> tuple[Item, ...]:
    """The items of a sampling request."""
    items: list[Item] = []
    for message in objects(messages):
        role: Role = "assistant" if message.get("role") == "assistant" else "user"
        items += _decode_content(message.get("content"), role)
    return tuple(items)


def _decode_content(content: object, role: Role) -> list[Item]:
    items: list[Item] = []
    parts: list[Part] = []
    for block in objects([content] if isinstance(content, dict) else content):
        item = _decode_block(block)
        if item is None:
            parts.append(decode_part(block, role))
            continue
        items += [Message(role, tuple(parts))] if parts else []
        parts = []
        items.append(item)
    return items + ([Message(role, tuple(parts))] if parts else [])


def _decode_block(block: dict[str, Any]) -> Item | None:
    if block.get("type") == "tool_use":
        rest = without(block, "type", "id", "name", "input")
        text = dumps(block.get("input", {})).decode()
        native = native_of(rest)
        return recorded_call(
            string(block.get("id")), string(block.get("name")), text, native=native
        )
    if block.get("type") == "tool_result":
        body = without(block, "type", "toolUseId")
        return decode_result(body, string(block.get("toolUseId")))
    return None


def decode_completion(result: Mapping[str, Any]) -> Completion:
    """The answer to a sampling request."""
    word = text_or_none(result.get("stopReason"))
    items = tuple(_decode_content(result.get("content"), "assistant"))
    stop = _STOPS.get(word or "", StopReason.END)
    return Completion(items, stop, word, model=text_or_none(result.get("model")))


def encode_completion(completion: Completion) -> tuple[dict[str, Any], tuple[Loss, ...]]:
    """An answer to a sampling request, and what it cannot say; usage is not part of it."""
    messages, losses = encode_items(completion.items)
    content = [block for message in messages for block in message["content"]]
    words = {stop: word for word, stop in _STOPS.items()}
    result = {
        "role": "assistant",
        "content": content,
        "model": completion.model or "",
        "stopReason": words.get(completion.stop, completion.stop.value),
    }
    if completion.usage.input_tokens or completion.usage.output_tokens:
        losses = (*losses, Loss("usage", "tokens", "dropped", "MCP does not report them"))
    return result, losses
