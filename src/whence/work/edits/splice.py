"""Changes by place: a text is searched with LF line endings and changed with those that it has."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_NEWLINE = re.compile("\n")
_CRLF = re.compile("\r\n")


class Edit(NamedTuple):
    """What replaces a part of a text; places count characters of the text with LF endings."""

    start: int
    end: int
    text: str


class Source:
    """A text with its line endings put aside, so that an edit need not know them."""

    __slots__ = ("_crlf", "_ending", "_original", "text")

    def __init__(self, original: str) -> None:
        self._original = original
        self.text = original.replace("\r\n", "\n") if "\r" in original else original
        self._ending = _only_ending(original, self.text)
        """How every line ends; None where it depends on the line."""
        self._crlf = [] if self._ending else _crlf_places(original)
        """The places of those newlines in `text` that are CRLF in the original."""

    def changed(self, edits: Iterable[Edit]) -> str:
        """The original with every edit made; what lies between them stays as it is, to the byte.

        The edits must not overlap; of two insertions at one place the first stays first. New lines
        end like those that they replace, others like their neighbours.
        """
        if self._ending is not None:
            return self._spliced(edits).replace("\n", self._ending)
        placed = [
            Edit(self._place(edit.start), self._place(edit.end), self._ended(edit))
            for edit in edits
        ]
        return _spliced(self._original, placed)

    def after(self, edits: Sequence[Edit]) -> Source:
        """The changed text, ready for more; where nothing is new about its endings, at once."""
        if self._ending != "\r\n" or "\r" in self.text or any("\r" in one.text for one in edits):
            return Source(self.changed(edits))
        source = Source(self._spliced(edits))
        if "\n" in source.text:
            source._ending = self._ending
        return source

    @property
    def original(self) -> str:
        """The text with its line endings."""
        return self._original if self._ending is None else self.text.replace("\n", self._ending)

    def _spliced(self, edits: Iterable[Edit]) -> str:
        """The text with edits made, where all lines end in the same way."""
        if "\n" not in self.text:
            return _spliced(self.text, edits)
        plain = [edit._replace(text=edit.text.replace("\r\n", "\n")) for edit in edits]
        return _spliced(self.text, plain)

    def line_of(self, place: int) -> int:
        """The number of the line that a place is in, counted from 1."""
        return self.text.count("\n", 0, place) + 1

    def _place(self, place: int) -> int:
        return place + bisect_left(self._crlf, place)

    def _ended(self, edit: Edit) -> str:
        """The text of an edit, where line endings are mixed."""
        replaced = [match.start() for match in _NEWLINE.finditer(self.text, *edit[:2])]
        like = replaced or [self._neighbour(edit)]
        *lines, last = edit.text.replace("\r\n", "\n").split("\n")
        ends = (self._ending_at(like[min(index, len(like) - 1)]) for index in range(len(lines)))
        return "".join([line + end for line, end in zip(lines, ends, strict=True)]) + last

    def _neighbour(self, edit: Edit) -> int:
        """The newline of the line above a new line, or of the line that an edit stands in."""
        above = self.text.rfind("\n", 0, edit.start)
        here = self.text.find("\n", edit.end)
        starts_a_line = above == edit.start - 1
        return above if here < 0 or (starts_a_line and above >= 0) else here

    def _ending_at(self, place: int) -> str:
        at = bisect_left(self._crlf, place)
        return "\r\n" if at < len(self._crlf) and self._crlf[at] == place else "\n"


def _only_ending(original: str, text: str) -> str | None:
    """How every line of a text ends; None where some end with CRLF and others do not."""
    crlf = len(original) - len(text)
    if not crlf:
        return "\n"
    return "\r\n" if crlf == text.count("\n") else None


def _crlf_places(original: str) -> list[int]:
    marks = (match.start() for match in _CRLF.finditer(original))
    return [mark - index for index, mark in enumerate(marks)]


def _by_place(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


def _spliced(text: str, edits: Iterable[Edit]) -> str:
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=_by_place):
        parts += text[done : edit.start], edit.text
        done = edit.end
    return "".join([*parts, text[done:]])
