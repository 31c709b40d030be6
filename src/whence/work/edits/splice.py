"""Changes by place: a text is searched with LF line endings and changed with those that it has."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

_NEWLINE = re.compile("\n")


class Edit(NamedTuple):
    """What replaces a part of a text; places count characters of the text with LF endings."""

    start: int
    end: int
    text: str


class Source:
    """A text with its line endings put aside, so that an edit need not know them."""

    __slots__ = ("_crlf", "_original", "text")

    def __init__(self, original: str) -> None:
        self._original = original
        marks = [match.start() for match in re.finditer("\r\n", original)]
        self._crlf = [mark - index for index, mark in enumerate(marks)]
        """The places of those newlines in `text` that are CRLF in the original."""
        self.text = original.replace("\r\n", "\n") if marks else original

    def changed(self, edits: Iterable[Edit]) -> str:
        """The original with every edit made; what lies between them stays as it is, to the byte.

        The edits must not overlap. New lines end like those that they replace, others like their
        neighbours.
        """
        parts: list[str] = []
        done = 0
        for edit in sorted(edits):
            parts += self._original[done : self._place(edit.start)], self._ended(edit)
            done = self._place(edit.end)
        return "".join([*parts, self._original[done:]])

    def line_of(self, place: int) -> int:
        """The number of the line that a place is in, counted from 1."""
        return self.text.count("\n", 0, place) + 1

    def _place(self, place: int) -> int:
        return place + bisect_left(self._crlf, place)

    def _ended(self, edit: Edit) -> str:
        if "\n" not in self.text:
            return edit.text
        new = edit.text.replace("\r\n", "\n")
        if not self._crlf:
            return new
        if len(self._crlf) == self.text.count("\n"):
            return new.replace("\n", "\r\n")
        return self._ended_like_neighbours(edit, new)

    def _ended_like_neighbours(self, edit: Edit, new: str) -> str:
        """For texts in which line endings are mixed."""
        replaced = [match.start() for match in _NEWLINE.finditer(self.text, *edit[:2])]
        like = replaced or [self._neighbour(edit)]
        *lines, last = new.split("\n")
        ends = (self._ending(like[min(index, len(like) - 1)]) for index in range(len(lines)))
        return "".join([line + end for line, end in zip(lines, ends, strict=True)]) + last

    def _neighbour(self, edit: Edit) -> int:
        """The newline of the line above a new line, or of the line that an edit stands in."""
        above = self.text.rfind("\n", 0, edit.start)
        here = self.text.find("\n", edit.end)
        starts_a_line = above == edit.start - 1
        return above if here < 0 or (starts_a_line and above >= 0) else here

    def _ending(self, place: int) -> str:
        at = bisect_left(self._crlf, place)
        return "\r\n" if at < len(self._crlf) and self._crlf[at] == place else "\n"
