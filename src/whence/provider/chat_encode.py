"""Items to Chat Completions messages.

A message is a fragment of its own, encoded once. Thoughts, words and calls of one answer share a
message; each outcome is one, and pictures that a result cannot hold follow in a user's message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.provider.arguments import replayed_text
from whence.provider.chat_dialect import OPENAI_CHAT, PROTOCOL, Dialect
from whence.provider.chat_parts import encode_content, encode_part, own_fields
from whence.provider.exchange import Encoded
from whence.provider.ids import fitting_name
from whence.provider.losses import Ledger, Note, foreign_notes, not_replayed, wire_id, wire_name
from whence.provider.outcomes import mark, shown_parts
from whence.provider.wire import dumps, raw
from whence.shapes.item import (
    File,
    Image,
    Item,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolOutcome,
)


def encode_items(items: Sequence[Item], dialect: Dialect = OPENAI_CHAT) -> Encoded:
    """The messages of a conversation or of a whole turn of it.

    Encoding turn by turn gives the same messages as encoding everything at once, as long as an
    answer, and the outcomes of its calls, are not torn apart.
    """
    writer = _Writer(dialect)
    for index, item in enumerate(items):
        writer.ledger.add(index, foreign_notes(item, PROTOCOL))
        writer.write(index, item)
    writer.flush()
    return Encoded(tuple(writer.fragments), writer.ledger.book())


class _Answer:
    """An assistant's message while it is put together."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.thoughts: list[Any] = []
        self.parts: list[Part] = []
        self.calls: list[dict[str, Any]] = []
        self.has_words = False

    def __bool__(self) -> bool:
        return self.has_words or bool(self.fields or self.thoughts or self.calls)


class _Writer:
    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.fragments: list[bytes] = []
        self.ledger = Ledger()
        self._answer = _Answer()
        self._pictures: list[Part] = []

    def write(self, index: int, item: Item) -> None:
        if not isinstance(item, ToolOutcome):
            self._flush_pictures()
        match item:
            case Message(role="assistant"):
                self._words(index, item)
            case Reasoning():
                self._thought(index, item)
            case ToolCall():
                self._call(index, item)
            case ToolOutcome():
                self._flush_answer()
                self._outcome(index, item)
            case Message():
                self._flush_answer()
                self._message(index, item)
            case Opaque():
                self._opaque(index, item)

    def flush(self) -> None:
        self._flush_answer()
        self._flush_pictures()

    def _emit(self, message: dict[str, Any]) -> None:
        self.fragments.append(dumps(message))

    def _words(self, index: int, item: Message) -> None:
        if self._answer.calls:
            note = Note("text after a call", "moved", "a message has its words before its calls")
            self.ledger.add(index, [note] if item.parts else [])
        elif self._answer.has_words:
            self._flush_answer()
        answer = self._answer
        answer.has_words = True
        answer.parts += item.parts
        answer.fields |= own_fields(item.native) | ({"name": item.name} if item.name else {})

    def _thought(self, index: int, item: Reasoning) -> None:
        fields = own_fields(item.native)
        if not self.dialect.replays_reasoning or not (fields or self.dialect.reasoning_field):
            self.ledger.add(index, [not_replayed("reasoning", item.protocol, self.dialect.name)])
            return
        if self._answer.has_words and not self._answer.calls:
            self._flush_answer()
        if not fields and self.dialect.reasoning_field:
            fields = {self.dialect.reasoning_field: item.text}
            reason = f"{self.dialect.name} is shown only its words"
            self.ledger.add(index, [Note("reasoning", "changed", reason)])
        thought = fields.pop("thinking", None)
        if thought is not None:
            self._answer.thoughts.append(thought)
        for key, value in fields.items():
            known: Any = self._answer.fields.get(key)
            grows = isinstance(value, str | list) and type(known) is type(value)
            self._answer.fields[key] = known + value if grows else value

    def _call(self, index: int, item: ToolCall) -> None:
        call_id = self._wire_id(index, item.id)
        fields = own_fields(item.native)
        notes: list[Note] = []
        name = wire_name(item.name, self.dialect.name, notes)
        self.ledger.add(index, notes)
        if item.custom:
            body = {"type": "custom", "custom": {"name": name, "input": item.text}}
        else:
            function = {"name": name, "arguments": replayed_text(item)}
            body = {"type": "function", "function": function}
        self._answer.calls.append({"id": call_id, **body, **fields})

    def _wire_id(self, index: int, call_id: str) -> str:
        notes: list[Note] = []
        spoken = self.dialect
        fitting = wire_id(call_id, spoken.id_pattern, spoken.id_length, spoken.name, notes)
        self.ledger.add(index, notes)
        return fitting

    def _flush_answer(self) -> None:
        answer, self._answer = self._answer, _Answer()
        if not answer:
            return
        notes: list[Note] = []
        content = encode_content(answer.parts, self.dialect, notes)
        self.ledger.add("assistant", notes)
        if answer.thoughts:
            spoken = [{"type": "text", "text": content}] if isinstance(content, str) else content
            content = [*answer.thoughts, *(spoken or [])]
        message = {"role": "assistant", "content": content, **answer.fields}
        if answer.calls:
            message["tool_calls"] = answer.calls
            if self.dialect.requires_reasoning and self.dialect.reasoning_field:
                message.setdefault(self.dialect.reasoning_field, "")
        elif content is None:
            message["content"] = ""
        self._emit(message)

    def _outcome(self, index: int, item: ToolOutcome) -> None:
        parts, notes = shown_parts(item)
        kept = tuple(part for part in parts if not isinstance(part, Image | File))
        moved = [part for part in parts if isinstance(part, Image | File)]
        if moved:
            reason = "a result is only words here; it follows in a message of the user"
            notes.append(Note(f"{len(moved)} parts that are not text", "moved", reason))
            self._pictures += [Text(f"From the result of {item.name or item.call_id}:"), *moved]
        content = encode_content(mark(kept, is_error=item.is_error), self.dialect, notes)
        self.ledger.add(index, notes)
        message = {
            "role": "tool",
            "tool_call_id": self._wire_id(index, item.call_id),
            "content": "" if content is None else content,
            **own_fields(item.native),
        }
        if self.dialect.names_results and item.name:
            message["name"] = fitting_name(item.name)
        self._emit(message)

    def _flush_pictures(self) -> None:
        if not self._pictures:
            return
        notes: list[Note] = []
        content = [encode_part(part, self.dialect, notes) for part in self._pictures]
        self._pictures = []
        self.ledger.add("user", notes)
        self._emit({"role": "user", "content": content})

    def _message(self, index: int, item: Message) -> None:
        notes: list[Note] = []
        role: str = item.role
        if role == "developer" and not self.dialect.developer_role:
            role = "system"
            notes.append(Note("role developer", "changed", f"{self.dialect.name} calls it system"))
        if role == "system" and self.dialect.one_system and self.fragments:
            role = "user"
            reason = "instructions stand only at the beginning; it is sent as the user's words"
            notes.append(Note("role system", "changed", reason))
        content = encode_content(item.parts, self.dialect, notes)
        self.ledger.add(index, notes)
        name = {"name": item.name} if item.name else {}
        body = {"role": role, "content": "" if content is None else content}
        self._emit({**body, **name, **own_fields(item.native)})

    def _opaque(self, index: int, item: Opaque) -> None:
        if item.protocol != PROTOCOL:
            self.ledger.add(index, [not_replayed(item.kind, item.protocol, PROTOCOL)])
            return
        self._flush_answer()
        self.fragments.append(bytes(raw(item.json)))
