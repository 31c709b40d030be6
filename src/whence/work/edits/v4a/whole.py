"""The common case: hunks that stand in the file as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from whence.work.edits.v4a.shapes import Hunk


class Placed(NamedTuple):
    """What came of the shortcut."""

    text: str | None
    """The text after all hunks; None: one of them must be looked at more closely."""
    places: list[int]
    """For each hunk that was found where its first character is. The last may fit again below."""


class _Block(NamedTuple):
    """A hunk as text."""

    old: str
    lead: int
    changes_to: int
    """How many characters come before the end of its last change."""
    new: str


def placed(text: str, hunks: Sequence[Hunk]) -> Placed:
    """The text with every hunk at the only place that it can have, if that is plain to see.

    A shortcut that needs no lines of the file, and says nothing of what is wrong.
    """
    places: list[int] = []
    if "\r" in text or not text.endswith("\n") or any(map(_needs_lines, hunks)):
        return Placed(None, places)
    parts: list[str] = []
    done = 0
    before: tuple[_Block, int] | None = None
    for block in map(_block, hunks):
        below = before[1] + before[0].changes_to if before else 0
        at = _find(text, block.old, max(below - block.lead, 0), len(text))
        if at < 0 or (before and _fits_again(text, *before, at + block.lead)):
            return Placed(None, places)
        places.append(at)
        parts += text[done : at + block.lead], block.new
        done = at + block.changes_to
        before = block, at
    if before and _fits_again(text, *before, len(text)):
        return Placed(None, places)
    return Placed("".join([*parts, text[done:]]), places)


def line_numbers(text: str, places: Sequence[int]) -> list[int]:
    """How many lines come before each place."""
    numbers = []
    line = counted = 0
    for place in places:
        # A hunk with much context begins above the one before it, whose changes are above its own.
        line += text.count("\n", counted, place) - text.count("\n", place, counted)
        counted = place
        numbers.append(line)
    return numbers


def _needs_lines(hunk: Hunk) -> bool:
    return bool(hunk.anchors) or hunk.ends_file or not hunk.signs.strip("+")


def _block(hunk: Hunk) -> _Block:
    lead, tail = hunk.lead, hunk.tail
    old, changed = hunk.old, hunk.changed
    pairs = zip(hunk.signs[changed], hunk.lines[changed], strict=True)
    new = [line for sign, line in pairs if sign != "-"]
    return _Block(
        "\n".join([*old, ""]),
        _length(old[:lead]),
        _length(old[: len(old) - tail]),
        "\n".join([*new, ""]) if new else "",
    )


def _length(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines)


def _fits_again(text: str, block: _Block, at: int, limit: int) -> bool:
    """Whether it could stand further down, with its last change above the limit."""
    return _find(text, block.old, at + 1, limit - block.changes_to + len(block.old)) >= 0


def _find(text: str, lines: str, start: int, end: int) -> int:
    """The first place, at the beginning of a line."""
    at = text.find(lines, start, end)
    while at > 0 and text[at - 1] != "\n":
        at = text.find(lines, at + 1, end)
    return at
