"""Reporting what a protocol cannot say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from whence.provider.exchange import Fate, Loss
from whence.provider.ids import fitting_id, fitting_name
from whence.shapes.item import Item, Message, Native, Opaque, ToolOutcome


class Note(NamedTuple):
    """Something about one item that could not be said."""

    what: str
    fate: Fate
    reason: str


class Ledger:
    """Collects losses while items are encoded one after another."""

    def __init__(self) -> None:
        self._losses: list[Loss] = []

    def add(self, at: int | str, notes: Iterable[Note]) -> None:
        """Book what was noted about one item."""
        self._losses.extend(Loss(at, note.what, note.fate, note.reason) for note in notes)

    def book(self) -> tuple[Loss, ...]:
        """Everything so far."""
        return tuple(self._losses)


def foreign_notes(item: Item, protocol: str) -> list[Note]:
    """The fields of an item that only another protocol understands."""
    if isinstance(item, Opaque):
        return []
    natives = [item.native]
    if isinstance(item, Message | ToolOutcome):
        natives += [part.native for part in item.parts if not isinstance(part, Opaque)]
    return [note for native in natives for note in foreign_fields(native, protocol)]


def foreign_fields(native: Native | None, protocol: str) -> list[Note]:
    """A note where the fields are another protocol's."""
    if native is None or native.protocol == protocol or not native.fields:
        return []
    reason = f"only {native.protocol} understands them, not {protocol}"
    return [Note(f"fields {', '.join(native.fields)}", "dropped", reason)]


def wire_name(name: str, protocol: str, notes: list[Note]) -> str:
    """The name under which a call goes into a history."""
    fitting = fitting_name(name)
    if fitting != name:
        reason = f"{protocol} takes no such name; {fitting} stands for it"
        notes.append(Note(f"name {name!r}", "changed", reason))
    return fitting


def not_replayed(kind: str, owner: str, protocol: str) -> Note:
    """A thought or an entry of another protocol, which this one cannot use."""
    return Note(kind, "dropped", f"it belongs to {owner or 'no protocol'}, not to {protocol}")


def wire_id(
    call_id: str, pattern: re.Pattern[str], length: int, provider: str, notes: list[Note]
) -> str:
    """The id, or where the provider would refuse it, one that stands for it, and a note of that."""
    fitting = fitting_id(call_id, pattern, length)
    if fitting != call_id:
        reason = f"{provider} takes no such id; {fitting} stands for it"
        notes.append(Note(f"id {call_id!r}", "changed", reason))
    return fitting
