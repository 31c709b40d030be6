"""Text that was not found, beside what resembles it most: what an error says, and its details."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from whence.work.edits.words import cut, difference

if TYPE_CHECKING:
    from whence.work.edits.nearest import Around, Region

_SHOWN_LINES = 40


def compare(
    lines: Sequence[str], wanted: Sequence[str], expected: int = 0, *, skipped: int = 0
) -> tuple[str, dict[str, object]]:
    """How the closest region differs from the lines that were wanted, in words and as details.

    `skipped` says how many lines of the file come before those that are given.
    """
    from whence.work.edits.nearest import nearest  # rapidfuzz, which only failures need

    region = nearest(lines, wanted, expected, _occurrences(lines, wanted))
    if region is None:
        return "nothing in the file resembles it", {"reason": "missing"}
    first = first_difference(lines, wanted, region.start, skipped)
    closest = shown_region(lines, region, _SHOWN_LINES, skipped)
    where = f"lines {closest['start']}-{closest['end']} are closest"
    details: dict[str, object] = {"closest": closest, "first_difference": first.as_details()}
    return f"{where}: {first}", {"reason": "missing", **details}


def _occurrences(lines: Sequence[str], wanted: Sequence[str]) -> Around:
    places: dict[str, list[int]] = {line: [] for line in wanted}
    for at in compress(range(len(lines)), map(places.__contains__, lines)):
        places[lines[at]].append(at)

    def around(line: str, place: int, limit: int) -> list[int]:
        middle = bisect_left(places[line], place)
        return places[line][max(0, middle - limit) : middle + limit]

    return around


class Difference(NamedTuple):
    """The first line that is not as it was wanted."""

    line: int
    """Its number, counted from 1."""
    wanted: str | None
    """None: no more was wanted."""
    found: str | None
    """None: the file has ended."""

    def __str__(self) -> str:
        if self.wanted is not None:
            return difference(self.line, self.wanted, self.found)
        return f"they are followed by {cut(self.found or '')!r}"

    def as_details(self) -> dict[str, object]:
        """The same for a program."""
        wanted, found = (None if one is None else cut(one) for one in (self.wanted, self.found))
        return {"line": self.line, "expected": wanted, "found": found}


def first_difference(
    lines: Sequence[str], wanted: Sequence[str], start: int, skipped: int = 0
) -> Difference:
    """Where the lines from a place on first differ from those that were wanted."""
    same, shared = 0, min(len(wanted), len(lines) - start)
    while same < shared and wanted[same] == lines[start + same]:
        same += 1
    at = start + same
    asked = wanted[same] if same < len(wanted) else None
    return Difference(skipped + at + 1, asked, lines[at] if at < len(lines) else None)


def shown_region(
    lines: Sequence[str], region: Region, most: int, skipped: int = 0
) -> dict[str, object]:
    """A region for a program: its lines, no more than so many."""
    text = [cut(line) for line in lines[region.start : region.end][:most]]
    return {
        "start": skipped + region.start + 1,
        "end": skipped + region.end,
        "text": "\n".join(text),
        "similarity": region.score,
    }
