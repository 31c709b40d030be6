"""The common case: hunks that stand in the file as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from whence.work.edits.v4a.shapes import Hunk


class Placed(NamedTuple):
    """A text after its hunks, and how many lines of the old one come before each."""

    text: str
    starts: list[int]


class _Block(NamedTuple):
    """A hunk as text. A place is the newline before its first line."""

    old: str
    lead: int
    changes_to: int
    """How many characters come before the newline that ends its last change."""
    new: str


def placed(text: str, hunks: Sequence[Hunk]) -> Placed | None:
    """The text with every hunk at the only place that it can have; None: look more closely.

    A shortcut that needs no lines of the file, and says nothing of what is wrong.
    """
    if "\r" in text or not text.endswith("\n") or any(map(_needs_lines, hunks)):
        return None
    hay = "\n" + text
    parts: list[str] = []
    starts: list[int] = []
    done, line, counted = 1, 0, 1
    before: tuple[_Block, int] | None = None
    for block in map(_block, hunks):
        below = before[1] + before[0].changes_to if before else 0
        at = hay.find(block.old, max(below - block.lead, 0))
        if at < 0 or (before and _fits_again(hay, *before, at + block.lead)):
            return None
        line += hay.count("\n", counted, at + 1)
        starts.append(line)
        counted = at + 1
        parts += hay[done : at + 1 + block.lead], block.new
        done = at + 1 + block.changes_to
        before = block, at
    if before and _fits_again(hay, *before, len(hay) - 1):
        return None
    return Placed("".join([*parts, hay[done:]]), starts)


def _needs_lines(hunk: Hunk) -> bool:
    return bool(hunk.anchors) or hunk.ends_file or not hunk.signs.strip("+")


def _block(hunk: Hunk) -> _Block:
    lead, tail = hunk.lead, hunk.tail
    old, changed = hunk.old, hunk.changed
    pairs = zip(hunk.signs[changed], hunk.lines[changed], strict=True)
    new = [line for sign, line in pairs if sign != "-"]
    return _Block(
        "\n".join(["", *old, ""]),
        _length(old[:lead]),
        _length(old[: len(old) - tail]),
        "\n".join([*new, ""]) if new else "",
    )


def _length(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines)


def _fits_again(hay: str, block: _Block, at: int, limit: int) -> bool:
    """Whether it could stand further down, with its last change above the limit."""
    return hay.find(block.old, at + 1, limit - block.changes_to + len(block.old)) >= 0
