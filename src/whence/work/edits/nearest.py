"""The part of a file that resembles some lines most: for messages, never for edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rapidfuzz import fuzz, process

_LINES = 64
"""How many of the wanted lines are looked at."""
_OCCURRENCES = 8
"""How many occurrences of one line are looked at, on each side of the expected place."""
_REGIONS = 8
"""How many regions are compared in full."""
_REACH = 1000
"""How far from the expected place similar lines are looked for, when no equal one exists."""
_CHARS = 200
"""How much of a line is compared."""
_IN_PLACE = 10
"""How many points it is worth to stand at the expected place: most lines change where they are."""
_ALIKE = 60.0
"""Below this many of 100 points nothing is called similar."""


@dataclass(frozen=True, slots=True)
class Region:
    """A run of lines."""

    start: int
    """How many lines come before it."""
    end: int
    score: float
    """0 to 100."""


Around: TypeAlias = Callable[[str, int, int], Iterable[int]]
"""Where a line occurs: the line, a place, and how many occurrences on each side of it."""


def nearest(
    lines: Sequence[str], wanted: Sequence[str], expected: int, around: Around
) -> Region | None:
    """The region most like `wanted`, close to `expected` if several are; None: nothing is.

    The number of comparisons is bounded, whatever the size of the file.
    """
    sample = wanted[:_LINES]
    starts = _starts_by_equal_lines(sample, expected, around)
    starts = starts or _starts_by_similar_lines(lines, sample, expected)
    regions = [_region(lines, wanted, start) for start in starts]

    def rank(region: Region) -> tuple[float, int]:
        distance = abs(region.start - expected)
        return region.score + (0 if distance else _IN_PLACE), -distance

    return max(regions, key=rank, default=None)


def _starts_by_equal_lines(sample: Sequence[str], expected: int, around: Around) -> list[int]:
    """Every equal line votes for the place where the first of the sample would then stand."""
    votes: Counter[int] = Counter()
    for offset, line in enumerate(sample):
        if line and not line.isspace():
            votes.update([at - offset for at in around(line, expected + offset, _OCCURRENCES)])
    ranked = sorted(votes, key=lambda start: (-votes[start], abs(start - expected)))
    return ranked[:_REGIONS]


def _starts_by_similar_lines(
    lines: Sequence[str], sample: Sequence[str], expected: int
) -> list[int]:
    telling = max(sample, key=len, default="")
    if not telling.strip():
        return []
    low = max(0, min(expected, len(lines)) - _REACH)
    around = [line[:_CHARS] for line in lines[low : low + 2 * _REACH]]
    found = process.extract(
        telling[:_CHARS], around, scorer=fuzz.ratio, score_cutoff=_ALIKE, limit=_REGIONS
    )
    return [low + at - sample.index(telling) for _, _, at in found]


def _region(lines: Sequence[str], wanted: Sequence[str], start: int) -> Region:
    low, high = max(0, start), min(len(lines), start + len(wanted))
    score = fuzz.ratio(_joined(lines[low:high]), _joined(wanted))
    return Region(low, high, round(score, 1))


def _joined(lines: Sequence[str]) -> str:
    return "\n".join([line[:_CHARS] for line in lines[: _LINES // 2]])
