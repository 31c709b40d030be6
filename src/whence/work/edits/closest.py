"""Text that was not found, beside what resembles it most: what an error says, and its details."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

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
    at = _first_difference(lines, wanted, region.start)
    asked = wanted[at - region.start] if at - region.start < len(wanted) else None
    found = lines[at] if at < len(lines) else None
    number = skipped + at + 1
    details: dict[str, object] = {
        "reason": "missing",
        "closest": _shown(lines, region, skipped),
        "first_difference": {
            "line": number,
            "expected": None if asked is None else cut(asked),
            "found": None if found is None else cut(found),
        },
    }
    where = f"lines {skipped + region.start + 1}-{skipped + region.end} are closest"
    return f"{where}: {_words(number - 1, asked, found)}", details


def _occurrences(lines: Sequence[str], wanted: Sequence[str]) -> Around:
    places: dict[str, list[int]] = {line: [] for line in wanted}
    for at in compress(range(len(lines)), map(places.__contains__, lines)):
        places[lines[at]].append(at)

    def around(line: str, place: int, limit: int) -> list[int]:
        middle = bisect_left(places[line], place)
        return places[line][max(0, middle - limit) : middle + limit]

    return around


def _first_difference(lines: Sequence[str], wanted: Sequence[str], start: int) -> int:
    pairs = zip(wanted, lines[start:], strict=False)
    same = next((index for index, (a, b) in enumerate(pairs) if a != b), None)
    return start + (min(len(wanted), len(lines) - start) if same is None else same)


def _words(at: int, asked: str | None, found: str | None) -> str:
    if asked is not None:
        return difference(at + 1, asked, found)
    return f"they are followed by {cut(found or '')!r}"


def _shown(lines: Sequence[str], region: Region, skipped: int) -> dict[str, object]:
    text = [cut(line) for line in lines[region.start : region.end][:_SHOWN_LINES]]
    return {
        "start": skipped + region.start + 1,
        "end": skipped + region.end,
        "text": "\n".join(text),
        "similarity": region.score,
    }
