"""Runs of lines in a text, found exactly or as they look."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Literal, TypeAlias

from whence.work.edits.fold import fold

Likeness: TypeAlias = Literal["exact", "trailing white space", "white space"]
MANY = 9
"""How many places are looked for before there are too many to list."""


class Index:
    """Finds runs of lines at the speed of `str.find`."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._text = "\n".join(["", *lines, ""])
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def fits(self, wanted: Sequence[str], place: int) -> bool:
        """Whether these lines stand here."""
        return self._lines[place : place + len(wanted)] == list(wanted)

    def places(self, wanted: Sequence[str]) -> list[int]:
        """The first few places where these lines stand."""
        needle = "\n".join(["", *wanted, ""])
        found: list[int] = []
        at = self._text.find(needle)
        while at >= 0 and len(found) < MANY:
            found.append(bisect_left(self._starts, at))
            at = self._text.find(needle, at + 1)
        return found


class Lines:
    """A text as lines; each way to compare them is prepared when it is first needed."""

    def __init__(self, text: str) -> None:
        self.lines = text.removesuffix("\n").split("\n") if text else []
        self.starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        """Where each line begins, and where the text ends."""

    def indices(self, wanted: Sequence[str]) -> Iterator[tuple[Likeness, Index, list[str]]]:
        """What there is to compare with, the strictest first, and these lines made comparable."""
        yield "exact", self._exact, list(wanted)
        yield "trailing white space", self._stripped, [line.rstrip() for line in wanted]
        yield "white space", self._folded, [fold(line) for line in wanted]

    @cached_property
    def _exact(self) -> Index:
        return Index(self.lines)

    @cached_property
    def _stripped(self) -> Index:
        return Index([line.rstrip() for line in self.lines])

    @cached_property
    def _folded(self) -> Index:
        return Index([fold(line) for line in self.lines])
