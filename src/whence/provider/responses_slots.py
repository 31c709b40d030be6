"""The entries of a streamed Responses answer while they grow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from whence.provider.responses_decode import decode_entry
from whence.provider.stream import TextBuffer
from whence.provider.wire import dumps, string
from whence.shapes.item import Item, Message, Opaque, Reasoning

CALLS = ("function_call", "custom_tool_call")


class Slot:
    """One entry: what was announced, its pieces, and the item once it is whole."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.id = ""
        self.entry: dict[str, Any] = {}
        self.item: Item | None = None
        self.arguments = TextBuffer()
        self.texts: dict[tuple[str, int], TextBuffer] = {}
        self.call_position = -1

    def announce(self, entry: dict[str, Any]) -> None:
        """The entry has begun."""
        self.entry = entry
        self.id = string(entry.get("id")) or self.id

    def write(self, kind: str, index: object, piece: str) -> str:
        """More words of one part; what may be shown of them now."""
        key = (kind, index if isinstance(index, int) else 0)
        return self.texts.setdefault(key, TextBuffer()).add(piece)

    def replace_arguments(self, whole: str) -> None:
        """The provider repeats the arguments as a whole, or sends them only so."""
        if whole:
            self.arguments = TextBuffer()
            self.arguments.add(whole)

    def settle(self, entry: dict[str, Any], text: str | None) -> Item:
        """The entry is whole."""
        self.announce({**self.entry, **entry})
        field = _payload(self.entry)
        if self.entry.get("type") in CALLS and not self.entry.get(field):
            self.entry[field] = self.arguments.value
        self.item = decode_entry(self.entry, text if entry == self.entry else None)
        return self.item

    def from_pieces(self) -> Item | None:
        """The entry of an answer that ended well without saying so of its entries."""
        entry = self._pieced_together()
        return decode_entry({**entry, "status": "completed"}) if entry else None

    def remains(self) -> Item | None:
        """What had come when the stream broke off; none of it is sent to the provider again."""
        entry = self._pieced_together()
        if not entry:
            return None
        if entry["type"] == "custom_tool_call":
            # Half of a free text looks like a whole one; as arguments it shows that it is cut.
            entry = {**entry, "type": "function_call", "arguments": entry["input"]}
        item = decode_entry(entry, cut=True)
        match item:
            case Message():
                return replace(item, id=None, native=None)
            case Reasoning():
                return replace(item, protocol="", id=None, native=None)
            case Opaque():
                return replace(item, protocol="")
            case _:
                return item

    def _pieced_together(self) -> dict[str, Any]:
        entry = dict(self.entry)
        kind = entry.get("type") or self._guessed_type()
        if not kind:
            return {}
        entry["type"] = kind
        if kind in CALLS:
            field = _payload(entry)
            entry[field] = self.arguments.value or string(entry.get(field))
        elif kind == "message":
            entry |= {"role": "assistant", "content": self._parts("output_text", "refusal")}
        elif kind == "reasoning":
            entry["content"] = self._parts("reasoning_text")
            entry["summary"] = self._parts("summary_text")
        return entry

    def _guessed_type(self) -> str:
        kinds = {kind for kind, _ in self.texts}
        if kinds & {"output_text", "refusal"}:
            return "message"
        if kinds & {"reasoning_text", "summary_text"}:
            return "reasoning"
        return "function_call" if self.arguments.value else ""

    def _parts(self, *kinds: str) -> list[dict[str, Any]]:
        return [
            {"type": kind, "refusal" if kind == "refusal" else "text": buffer.value}
            for (kind, _), buffer in sorted(self.texts.items(), key=lambda item: item[0][1])
            if kind in kinds
        ]


class Slots:
    """All entries of an answer; found by their place or, where there is none, by their id."""

    def __init__(self) -> None:
        self._by_index: dict[int, Slot] = {}
        self._by_id: dict[str, Slot] = {}
        self._calls = 0

    def of(self, event: dict[str, Any], entry_id: str = "") -> Slot:
        """The slot that an event is about, a new one where it is the first to name it."""
        index, item_id = event.get("output_index"), string(event.get("item_id")) or entry_id
        slot = self._by_index.get(index) if isinstance(index, int) else None
        slot = slot or self._by_id.get(item_id)
        if slot is None:
            slot = Slot(index if isinstance(index, int) else len(self.all()))
        if isinstance(index, int):
            self._by_index.setdefault(index, slot)
        if item_id:
            self._by_id.setdefault(item_id, slot)
            slot.id = slot.id or item_id
        return slot

    def number(self, slot: Slot) -> int:
        """Which of the calls this is, counted from nought."""
        if slot.call_position < 0:
            slot.call_position = self._calls
            self._calls += 1
        return slot.call_position

    def all(self) -> list[Slot]:
        """Every slot once, in the order of the answer."""
        found = {id(slot): slot for slot in (*self._by_index.values(), *self._by_id.values())}
        return sorted(found.values(), key=lambda slot: slot.order)


def _payload(entry: dict[str, Any]) -> str:
    return "input" if entry.get("type") == "custom_tool_call" else "arguments"


def same_payload(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two reports of one call ask for the same thing."""
    keys = [key for key in ("call_id", "name", "arguments", "input") if other.get(key)]
    return all(dumps(one.get(key)) == dumps(other[key]) for key in keys)
