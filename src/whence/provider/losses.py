"""Reporting what a protocol cannot say."""

from __future__ import annotations

from collections.abc import Iterable

from whence.provider.exchange import Loss
from whence.provider.outcomes import Note
from whence.shapes.item import Item, Message, Native, Opaque, ToolOutcome


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
    return [_foreign(native, protocol) for native in natives if _is_foreign(native, protocol)]


def _is_foreign(native: Native | None, protocol: str) -> bool:
    return native is not None and native.protocol != protocol and bool(native.fields)


def _foreign(native: Native | None, protocol: str) -> Note:
    names = ", ".join(native.fields) if native else ""
    owner = native.protocol if native else ""
    return Note(f"fields {names}", "dropped", f"only {owner} understands them, not {protocol}")


def not_replayed(kind: str, owner: str, protocol: str) -> Note:
    """A thought or an entry of another protocol, which this one cannot use."""
    return Note(kind, "dropped", f"it belongs to {owner or 'no protocol'}, not to {protocol}")
