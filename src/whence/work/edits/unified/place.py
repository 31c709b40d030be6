"""Where hunks belong in a file: at their stated line, at the only other fit, or nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal

from whence.work.edits.coded import Coded
from whence.work.edits.unified.shapes import Hunk

MANY = 9
"""How many places are looked for before there are too many to list."""

Reason = Literal["stale", "ambiguous", "already_applied", "out_of_order", "not_at_end", "unchecked"]


class FileLines:
    """A file as lines: only LF ends one, and a CR before it belongs to the ending."""

    __slots__ = ("keys", "pieces", "terminated")

    def __init__(self, text: str) -> None:
        pieces = text.split("\n")
        self.terminated = not pieces[-1]
        if self.terminated:
            pieces.pop()
        self.pieces = tuple(pieces)
        self.keys = self.pieces
        """The lines without their endings."""
        if "\r" in text:
            keys = [piece.removesuffix("\r") for piece in pieces]
            if not self.terminated:
                keys[-1] = pieces[-1]
            self.keys = tuple(keys)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a hunk has no place."""

    reason: Reason
    hunk: Hunk
    expected: int
    """How many lines come before the place where it was looked for first."""
    candidates: tuple[int, ...] = ()
    """Places, counted like `expected`, that could have been meant."""


class Search:
    """Finds the lines of hunks in a file."""

    def __init__(self, keys: tuple[str, ...], hunks: Iterable[Hunk]) -> None:
        self.keys = keys
        self._hunks = hunks

    def fits(self, hunk: Hunk, place: int) -> bool:
        """Whether the old lines of the hunk stand at this place."""
        end = place + len(hunk.old_keys)
        if place < 0 or end > len(self.keys) or (hunk.ends_file and end != len(self.keys)):
            return False
        return self.keys[place:end] == hunk.old_keys

    def places(self, hunk: Hunk, start: int) -> list[int]:
        """The first few places from `start` on where the hunk fits."""
        if hunk.ends_file:
            last = len(self.keys) - len(hunk.old_keys)
            return [last] if last >= start and self.fits(hunk, last) else []
        return self.matches(hunk.old_keys, start)

    def matches(self, wanted: tuple[str, ...], start: int) -> list[int]:
        """The first few places from `start` on where these lines stand."""
        found: list[int] = []
        at = self._coded.find(wanted, start, len(self.keys))
        while at >= 0 and len(found) < MANY:
            found.append(at)
            at = self._coded.find(wanted, at + 1, len(self.keys))
        return found

    def around(self, key: str, place: int, limit: int) -> list[int]:
        """The occurrences of one line of the patch that are closest to a place, on each side."""
        return self._coded.around(key, place, limit)

    @cached_property
    def _coded(self) -> Coded:
        sides = (side for hunk in self._hunks for side in (hunk.old_keys, hunk.new_keys))
        return Coded(self.keys, chain.from_iterable(sides))


def locate(search: Search, hunks: Sequence[Hunk], settled: int = 0) -> list[int] | Misfit:
    """How many lines come before each hunk, or the first hunk that has no place.

    The first `settled` hunks are known to stand where they say.
    """
    places = [hunk.old_at or 0 for hunk in hunks[:settled]]
    cursor = places[-1] + len(hunks[settled - 1].old) - hunks[settled - 1].tail if settled else 0
    drift = 0
    for hunk in hunks[settled:]:
        place = _place(search, hunk, cursor, drift)
        if isinstance(place, Misfit):
            return place
        if "+" in (hunk.signs[0], hunk.signs[-1]) and _repeats(search.keys, hunk, place, cursor):
            return Misfit("already_applied", hunk, place)
        places.append(place)
        if hunk.old_at is not None:
            drift = place - hunk.old_at
        cursor = place + len(hunk.old) - hunk.tail
    return _unchecked(hunks, places) or _contested(search, hunks, places) or places


def is_applied(search: Search, hunks: Sequence[Hunk]) -> bool:
    """Whether the file looks as if all hunks had been applied already."""
    cursor = drift = seen = 0
    for hunk in filter(_shows_when_applied, hunks):
        undone = hunk.undone()
        place = _place(search, undone, cursor, drift)
        if isinstance(place, Misfit):
            return False
        moved = undone.old_at is None or place != undone.old_at + drift
        if moved and not _has_telling_context(hunk):
            return False
        seen += 1
        drift = drift if undone.old_at is None else place - undone.old_at
        cursor = place + len(undone.old)
    return seen > 0


def applied_at(search: Search, hunk: Hunk) -> int | None:
    """The only place in the file that looks as if the hunk had been applied there."""
    if not (_shows_when_applied(hunk) and _has_telling_context(hunk)):
        return None
    found = search.places(hunk.undone(), 0)
    return found[0] if len(found) == 1 else None


def _shows_when_applied(hunk: Hunk) -> bool:
    """Whether finding its new lines means that the hunk was applied.

    They must hold an added line, or the two edges of the gap that a deletion leaves.
    """
    if _says_something(hunk.new_with("+")):
        return True
    return hunk.lead > 0 and hunk.tail > 0 and _says_something(hunk.new_keys)


def _place(search: Search, hunk: Hunk, cursor: int, drift: int) -> int | Misfit:
    if not hunk.old:
        return _insertion(search, hunk, cursor)
    if hunk.old_at is None:
        return _only(search, hunk, cursor, cursor)
    stated, expected = hunk.old_at, hunk.old_at + drift
    if expected < cursor or not search.fits(hunk, expected):
        return _elsewhere(search, hunk, cursor, expected)
    if drift and stated >= cursor and search.fits(hunk, stated):
        # Its own number and the shift of the hunk before it point to different places.
        return Misfit("ambiguous", hunk, expected, (min(stated, expected), max(stated, expected)))
    return expected


def _insertion(search: Search, hunk: Hunk, cursor: int) -> int | Misfit:
    """A hunk without old lines goes where it says: nothing else could tell its place."""
    at = hunk.old_at or 0
    if at > len(search.keys) or (hunk.ends_file and at != len(search.keys)):
        return Misfit("unchecked", hunk, at)
    return at if at >= cursor else Misfit("out_of_order", hunk, at, (at,))


def _elsewhere(search: Search, hunk: Hunk, cursor: int, expected: int) -> int | Misfit:
    if _shows_when_applied(hunk) and search.fits(hunk.undone(), expected):
        return Misfit("already_applied", hunk, expected)
    if not _says_something(hunk.old_keys):
        return Misfit("stale", hunk, expected)
    return _only(search, hunk, cursor, expected)


def _only(search: Search, hunk: Hunk, cursor: int, expected: int) -> int | Misfit:
    found = search.places(hunk, cursor)
    if len(found) == 1:
        return found[0]
    if found:
        return Misfit("ambiguous", hunk, expected, tuple(found))
    earlier = tuple(search.places(hunk, 0))
    if earlier:
        return Misfit("out_of_order", hunk, expected, earlier)
    inside = tuple(search.matches(hunk.old_keys, cursor)) if hunk.ends_file else ()
    return Misfit("not_at_end" if inside else "stale", hunk, expected, inside)


def _has_telling_context(hunk: Hunk) -> bool:
    """Whether its new lines, found at another place, are more than lines of the same text."""
    return _says_something(hunk.new_with(" "))


def _says_something(keys: Iterable[str]) -> bool:
    """Whether lines are evidence of a place: blank ones stand everywhere."""
    return any(key and not key.isspace() for key in keys)


def _repeats(keys: tuple[str, ...], hunk: Hunk, place: int, cursor: int) -> bool:
    """Whether the lines that a hunk adds at its edge stand beyond that edge already.

    Only at an edge without context: there the old lines fit as well after the change as before.
    """
    end = place + len(hunk.old_keys)
    below = _edge(hunk.signs[::-1])
    if below and keys[end : end + below] == hunk.new_keys[-below:]:
        return True
    above = _edge(hunk.signs) if hunk.old else 0
    return 0 < above <= place - cursor and keys[place - above : place] == hunk.new_keys[:above]


def _edge(signs: str) -> int:
    """How many added lines, replacing none, come first."""
    rest = signs.lstrip("+")
    return 0 if rest.startswith("-") else len(signs) - len(rest)


def _contested(search: Search, hunks: Sequence[Hunk], places: Sequence[int]) -> Misfit | None:
    """A hunk that fits as well moved as far as the one after it had to be."""
    placed = [pair for pair in zip(hunks, places, strict=True) if pair[0].old]
    for (hunk, place), (later, later_place) in pairwise(placed):
        if hunk.old_at is None or later.old_at is None:
            continue
        moved = hunk.old_at + later_place - later.old_at
        end = moved + len(hunk.old) - hunk.tail
        if moved != place and end <= later_place + later.lead and search.fits(hunk, moved):
            return Misfit("ambiguous", hunk, place, (min(place, moved), max(place, moved)))
    return None


def _unchecked(hunks: Sequence[Hunk], places: Sequence[int]) -> Misfit | None:
    """A hunk without old lines is placed by its number alone, so all numbers must hold."""
    unchecked = [hunk for hunk in hunks if not hunk.old]
    if not unchecked:
        return None
    moved = any(
        hunk.old_at is not None and hunk.old_at != place
        for hunk, place in zip(hunks, places, strict=True)
    )
    return Misfit("unchecked", unchecked[0], unchecked[0].old_at or 0) if moved else None
