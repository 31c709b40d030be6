"""What a reader of a stream learns while an answer arrives.

An item is given out once, when it is whole; a call that may still grow is never given out.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from whence.provider.exchange import Completion
from whence.provider.sse import SseEvent
from whence.provider.wire import mend
from whence.shapes.item import Item


class TextDelta(msgspec.Struct, frozen=True):
    """More words of the answer."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """More of what the model thinks, where it shows it."""

    text: str


class CallDelta(msgspec.Struct, frozen=True):
    """A call is being written: for a progress line, not to be acted upon."""

    position: int
    """Counts the calls of the answer from nought."""
    name: str
    """As far as it is known."""
    text: str
    """The new piece of the arguments."""


class ItemDone(msgspec.Struct, frozen=True):
    """An item is whole."""

    item: Item


Delta: TypeAlias = TextDelta | ReasoningDelta | CallDelta | ItemDone


class Assembler(Protocol):
    """Puts an answer together from the events of its stream."""

    def feed(self, event: SseEvent) -> list[Delta]:
        """What this event adds. Never raises: what cannot be read is part of the completion."""
        ...

    def finish(self) -> tuple[list[Delta], Completion]:
        """What was held back until now, and the answer as far as it came."""
        ...


class TextBuffer:
    """Words in pieces; a character that was cut in two is held back until it is whole."""

    __slots__ = ("_held", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._held = ""

    def add(self, piece: str) -> str:
        """The words that may be shown now."""
        if piece.isascii() and not self._held:
            if piece:
                self._pieces.append(piece)
            return piece
        piece = self._held + piece
        self._held = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        shown = mend(piece)
        if shown:
            self._pieces.append(shown)
        return shown

    @property
    def value(self) -> str:
        """All of them."""
        return "".join((*self._pieces, mend(self._held)))
