"""Where a hunk may stand, by the `@@` lines above it.

An anchor that begins a class or a function holds what follows it, up to the next one that is not
indented more. Any other line holds the rest of the file. Where the end of a scope is in doubt, it
is taken to be later: a scope that is too long makes a hunk ambiguous, one that is too short would
put it in the wrong place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from whence.work.edits.fold import fold
from whence.work.edits.v4a.scopes import indent_of, scope_of

_WEAK = ("and ", "type ", "val ", "exception ")
"""Words that begin a declaration in some languages, and any line in others."""
_HEAD = re.compile(r"[\w$%.:*&~ ]*\w")
"""The part of a declaration before its parameters."""


class Reach(NamedTuple):
    """Lines that an anchor holds: from its own to one that is no longer among them."""

    start: int
    end: int


class Anchors:
    """Finds anchors in a file, each of them once."""

    def __init__(self, lines: Sequence[str], chains: Iterable[tuple[str, ...]]) -> None:
        self._lines = lines
        self._places = self._index({fold(text) for chain in chains for text in chain})
        self._heads: dict[str, list[int]] | None = None
        self._ends: dict[int, int] | None = None
        self._known: dict[tuple[str, ...], list[Reach]] = {(): [Reach(0, len(lines) + 1)]}

    def reaches(self, chain: tuple[str, ...]) -> list[Reach]:
        """What the last anchor holds, where those before it hold that; in order, none empty."""
        if chain not in self._known:
            outer = self.reaches(chain[:-1])
            text = chain[-1]
            held = self._held(self._within(outer, self.occurrences(text)))
            self._known[chain] = held or self._held(self._within(outer, self._similar(text)))
        return self._known[chain]

    def insertions(self, chain: tuple[str, ...]) -> list[int]:
        """The lines right below the last anchor, for hunks that only add."""
        places = self._within(self.reaches(chain[:-1]), self.occurrences(chain[-1]))
        return [at + 1 for at in places]

    def occurrences(self, text: str) -> list[int]:
        """Where lines equal an anchor: with its indentation if it has one, else with any."""
        places = self._places[fold(text)]
        if not text[:1].isspace():
            return places
        return [at for at in places if self._lines[at].rstrip() == text] or places

    def is_known(self, text: str) -> bool:
        """Whether there is such a line, or one that begins like it."""
        return bool(self.occurrences(text) or self._similar(text))

    def _index(self, wanted: set[str]) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {key: [] for key in wanted}
        for at, key in enumerate(map(fold, self._lines if wanted else ())):
            if key in places:
                places[key].append(at)
        return places

    def _similar(self, text: str) -> list[int]:
        """Declarations of the same name, with other or without parameters."""
        if self._heads is None:
            self._heads = {}
            for at, line in enumerate(self._lines):
                if scope_of(line):
                    self._heads.setdefault(_head(line), []).append(at)
        return self._heads.get(_head(text), [])

    def _within(self, outer: Sequence[Reach], places: Sequence[int]) -> Iterator[int]:
        for reach in outer:
            yield from places[bisect_left(places, reach.start) : bisect_left(places, reach.end)]

    def _held(self, places: Iterable[int]) -> list[Reach]:
        """What these lines hold, without overlaps."""
        held: list[Reach] = []
        for at in places:
            end = self._end(at)
            if held and at <= held[-1].end:
                held[-1] = Reach(held[-1].start, max(held[-1].end, end))
            else:
                held.append(Reach(at, end))
            if end > len(self._lines):
                break  # the rest of the file is in it already
        return held

    def _end(self, at: int) -> int:
        if self._ends is None:
            self._ends = _scope_ends(self._lines)
        return self._ends.get(at, len(self._lines) + 1)


def _head(line: str) -> str:
    text = fold(line)
    head = _HEAD.match(text)
    return head[0] if head else text


def _scope_ends(lines: Sequence[str]) -> dict[int, int]:
    """For each line that begins a scope, the next such line that is not indented more."""
    ends: dict[int, int] = {}
    opened: list[tuple[int, int]] = []
    """Scopes without an end so far: their indentation, which rises, and line."""
    for at, line in enumerate(lines):
        kind = scope_of(line)
        if kind is None or kind == "flat" or line.lstrip().startswith(_WEAK):
            continue
        indent = indent_of(line)
        first = bisect_left(opened, (indent, -1))
        ends.update({begun: at for _, begun in opened[first:]})
        opened[first:] = [(indent, at)]
    ends.update({begun: len(lines) + 1 for _, begun in opened})
    return ends


def first_reach(reaches: Sequence[Reach], place: int) -> int:
    """The index of the first reach that ends at a place or below it."""
    return bisect_left(reaches, place, key=lambda reach: reach.end)
