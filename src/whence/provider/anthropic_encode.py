"""Items to Anthropic messages.

Everything that an assistant said, thought and called in one go is one message; the outcomes of its
calls are the beginning of the user's next one. Each message is a fragment, encoded once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from whence.provider.anthropic_parts import PROTOCOL, encode_parts, own_fields
from whence.provider.arguments import replayed_text
from whence.provider.exchange import Encoded
from whence.provider.losses import Ledger, Note, foreign_notes, not_replayed, wire_id, wire_name
from whence.provider.outcomes import shown_parts
from whence.provider.wire import dumps, raw
from whence.shapes.item import Item, Message, Opaque, Reasoning, Text, ToolCall, ToolOutcome

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID_LENGTH = 40
_NO_TEXT = {"type": "text", "text": "[no text]"}


def encode_items(items: Sequence[Item], *, system_messages: bool = False) -> Encoded:
    """The messages of a conversation or of a whole turn of it.

    Instructions at the beginning belong into `frame`; later ones become words of the user, unless
    the model takes messages with the role `system`.
    """
    writer = _Writer(system_messages=system_messages)
    for index, item in enumerate(items):
        writer.write(index, item)
    writer.flush()
    return Encoded(tuple(writer.fragments), writer.ledger.book())


def encode_system(messages: Sequence[Message]) -> tuple[list[Any], list[Note]]:
    """The blocks of the instructions."""
    notes: list[Note] = []
    blocks = [block for message in messages for block in encode_parts(message.parts, notes)]
    return blocks, notes


class _Writer:
    def __init__(self, *, system_messages: bool) -> None:
        self.fragments: list[bytes] = []
        self.ledger = Ledger()
        self._system_messages = system_messages
        self._role = ""
        self._blocks: list[Any] = []
        self._blank = False
        """Whether something was said in which there is no word."""
        self._last_was_words = False

    def write(self, index: int, item: Item) -> None:
        notes = foreign_notes(item, PROTOCOL)
        match item:
            case Message():
                self._message(item, notes)
            case ToolCall():
                self._add("assistant", [_call(item, notes)])
            case ToolOutcome():
                if self._last_was_words:
                    self.flush()
                self._add("user", [_outcome(item, notes)])
            case Reasoning():
                self._thought(item, notes)
            case Opaque(protocol, kind, json, role):
                if protocol == PROTOCOL:
                    self._add("assistant" if role == "assistant" else role, [raw(json)])
                else:
                    notes.append(not_replayed(kind, protocol, PROTOCOL))
        self.ledger.add(index, notes)

    def flush(self) -> None:
        blocks = self._blocks or ([_NO_TEXT] if self._blank else [])
        if blocks:
            self.fragments.append(dumps({"role": self._role, "content": blocks}))
        self._role, self._blocks, self._blank, self._last_was_words = "", [], False, False

    def _add(self, role: str, blocks: list[Any]) -> None:
        if role != self._role:
            self.flush()
        self._role = role
        self._blocks += blocks
        self._last_was_words = False

    def _message(self, item: Message, notes: list[Note]) -> None:
        role: str = item.role
        parts = item.parts
        if role in ("system", "developer"):
            role = "system" if self._system_messages else "user"
            if role == "user":
                reason = "instructions stand only at the beginning; it is sent as the user's words"
                notes.append(Note(f"role {item.role}", "changed", reason))
        if item.name:
            notes.append(Note(f"name {item.name!r}", "dropped", "Anthropic has no names"))
        if self._last_was_words:
            self.flush()
        blocks = encode_parts(parts, notes)
        self._add(role, blocks)
        self._blank = self._blank or bool(parts and not blocks)
        self._last_was_words = True

    def _thought(self, item: Reasoning, notes: list[Note]) -> None:
        if item.protocol != PROTOCOL or item.seal is None:
            notes.append(not_replayed("reasoning", item.protocol, PROTOCOL))
            return
        fields = own_fields(item.native)
        if item.redacted:
            self._add("assistant", [{"type": "redacted_thinking", "data": item.seal, **fields}])
            return
        thought = {"type": "thinking", "thinking": "".join(item.texts), "signature": item.seal}
        self._add("assistant", [{**thought, **fields}])


def _wire_id(call_id: str, notes: list[Note]) -> str:
    return wire_id(call_id, _ID, _ID_LENGTH, "Anthropic", notes)


def _call(item: ToolCall, notes: list[Note]) -> dict[str, Any]:
    if item.custom:
        notes.append(Note("free text of a call", "changed", "it is sent as the argument `input`"))
    return {
        "type": "tool_use",
        "id": _wire_id(item.id, notes),
        "name": wire_name(item.name, "Anthropic", notes),
        "input": raw(replayed_text(item)),
        **own_fields(item.native),
    }


def _outcome(item: ToolOutcome, notes: list[Note]) -> dict[str, Any]:
    parts, more = shown_parts(item)
    notes += more
    blocks = encode_parts(parts, notes)
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": _wire_id(item.call_id, notes),
        "is_error": item.is_error,
    }
    only = parts[0] if len(parts) == 1 else None
    if blocks:
        plain = isinstance(only, Text) and not own_fields(only.native)
        block["content"] = only.text if plain and isinstance(only, Text) else blocks
    return {**block, **own_fields(item.native)}
