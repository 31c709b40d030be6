"""Runs of lines, found at the speed of `str.find`: every line becomes one character."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import chain, repeat


class Coded:
    """Lines to be searched for runs of those lines that are wanted."""

    __slots__ = ("_are_shared", "_codes", "_text", "lines")

    def __init__(self, lines: Sequence[str], wanted: Iterable[str]) -> None:
        self.lines = lines
        characters = map(chr, chain(range(1, sys.maxunicode), repeat(sys.maxunicode)))
        self._codes = codes = dict(zip(dict.fromkeys(wanted), characters, strict=False))
        self._are_shared = len(codes) >= sys.maxunicode
        """Once more distinct lines are wanted than there are characters."""
        self._text = "".join(map(codes.get, lines, repeat("\0")))

    def find(self, run: Sequence[str], start: int, last: int) -> int:
        """The first place from `start` to `last` where the wanted lines stand; -1: nowhere."""
        needle = "".join([self._codes[line] for line in run])
        if last < start:
            return -1
        end = last + len(run)
        at = self._text.find(needle, start, end)
        while self._are_shared and at >= 0 and list(self.lines[at : at + len(run)]) != list(run):
            at = self._text.find(needle, at + 1, end)
        return at

    def around(self, line: str, place: int, limit: int) -> list[int]:
        """The occurrences of a wanted line that are closest to a place, on each side."""
        text, code = self._text, self._codes[line]
        found: list[int] = []
        below = above = place
        while len(found) < limit and (below := text.find(code, below)) >= 0:
            found.append(below)
            below += 1
        limit += len(found)
        while len(found) < limit and (above := text.rfind(code, 0, max(above, 0))) >= 0:
            found.append(above)
        return found
