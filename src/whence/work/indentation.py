"""The block around a line, as indentation shows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_TAB = 4
_UNIT = 4
_LONGEST_HEADER = 100
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;|%|<!--|'''|\"\"\")")
_ABOVE = re.compile(rf"{_COMMENT.pattern}|\s*@")
"""What belongs to the line below it: comments, attributes and decorators."""
_GOES_ON = re.compile(
    r"\s*(?:[)}\]]|</|(?:else|elif|elsif|except|catch|finally|rescue|ensure|end|fi|done|esac)\b)"
)
"""A line that ends a block, or continues it, where it began."""
_IMPORT = re.compile(
    r"(?:import|from|use|using|package|extern crate|@import)\b[\s\"'({*]"
    r"|(?:const|let|var)\b.*\brequire\s*\(|export\b.*\bfrom\b|['\"]use strict['\"]"
)


@dataclass(frozen=True, slots=True)
class Around:
    """How much of a file is wanted around a line."""

    anchor: int
    """Counted from 0."""
    levels: int = 0
    """How many enclosing blocks; 0: all of them."""
    siblings: bool = False
    """Whether the neighbours of the outermost block are wanted, too."""
    header: bool = True
    """Whether the imports and comments that a file begins with are wanted, too."""


def block_around(lines: Sequence[str], wanted: Around, most: int) -> list[tuple[int, int]]:
    """The ranges of lines, counted from 0 and without their ends, in order; at most so many lines.

    Raises:
        IndexError: The file has no such line.
    """
    block = _block(lines, wanted, most)
    room = most - (block[1] - block[0])
    head = min(header_end(lines), room, block[0]) if wanted.header else 0
    if not head:
        return [block]
    return [(0, block[1])] if head == block[0] else [(0, head), block]


def header_end(lines: Sequence[str]) -> int:
    """How many lines of comments, docstrings and imports a file begins with."""
    end, brackets, quotes = 0, 0, ""
    for at, line in enumerate(lines[:_LONGEST_HEADER]):
        stripped = line.strip()
        if quotes:
            quotes = "" if quotes in stripped else quotes
        elif stripped[:3] in ('"""', "'''"):
            quotes = "" if stripped[:3] in stripped[3:] else stripped[:3]
        elif brackets or _IMPORT.match(line):
            brackets += sum(map(line.count, "({")) - sum(map(line.count, ")}"))
        elif stripped and not _COMMENT.match(line):
            break
        elif at != end or not stripped:  # only the first comments; others belong to what is below
            continue
        end = at + 1
    return end


def _block(lines: Sequence[str], wanted: Around, most: int) -> tuple[int, int]:
    """Grows from the anchor by one line up and one line down, until both sides have ended."""
    depths = _depths(lines)
    own = depths[wanted.anchor]
    floor = max(own - wanted.levels * _unit(lines), 0) if wanted.levels else 0
    edges = _Edges(floor, wanted, is_opened=own == floor)
    start, end = wanted.anchor, wanted.anchor + 1
    growing_up = growing_down = True
    while (growing_up or growing_down) and end - start < most:
        growing_up = growing_up and start > 0 and edges.above(depths[start - 1], lines[start - 1])
        start -= growing_up
        room = growing_down and end < len(lines) and end - start < most
        growing_down = room and edges.below(depths[end], lines[end])
        end += growing_down
    while end - start > 1 and not lines[start].strip():
        start += 1
    while end - start > 1 and not lines[end - 1].strip():
        end -= 1
    return start, end


class _Edges:
    """Where a growing block ends."""

    def __init__(self, floor: int, wanted: Around, *, is_opened: bool) -> None:
        self._floor, self._wanted = floor, wanted
        self._is_opened = is_opened
        """Whether the line that begins the outermost block is in."""

    def above(self, depth: int, line: str) -> bool:
        """Whether the next line up belongs to the block."""
        if depth != self._floor or self._wanted.siblings:
            return depth >= self._floor
        if self._is_opened:
            return self._wanted.header and _ABOVE.match(line) is not None
        self._is_opened = bool(line.strip())
        return True

    def below(self, depth: int, line: str) -> bool:
        """Whether the next line down belongs to the block."""
        if depth != self._floor or self._wanted.siblings:
            return depth >= self._floor
        return not line.strip() or _GOES_ON.match(line) is not None


def _depths(lines: Sequence[str]) -> list[int]:
    """How far each line is indented, in columns; a blank line as far as the one before it."""
    depths: list[int] = []
    before = 0
    for line in lines:
        if line.strip():
            before = _width(line)
        depths.append(before)
    return depths


def _width(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs(_TAB))


def _unit(lines: Sequence[str]) -> int:
    """By how much one level is indented in this file."""
    widths = [_width(line) for line in lines if line.strip()]
    steps = Counter(after - before for before, after in pairwise(widths) if after > before)
    return steps.most_common(1)[0][0] if steps else _UNIT
