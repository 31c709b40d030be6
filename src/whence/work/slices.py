"""Parts of files as a reader sees them: numbered lines, none of them endless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from whence.errors import InvalidArgs
from whence.execute.ports import Files
from whence.work import files as work
from whence.work import text
from whence.work.indentation import Around, block_around

LINES = 2000
"""How many lines are read where nobody says how many."""
_LINE_CHARS = 2000
MOST_CHARS = 90_000
"""Of one answer: below what is cut from every output, so that it ends where it says."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Some lines of a file."""

    first: int
    """The number of the first one, counted from 1."""
    lines: tuple[str, ...]
    """Without endings; long ones are cut."""
    total: int
    """How many lines the file has, as far as they were counted."""
    counted: bool = True
    """Whether the whole file was counted."""
    cut: bool = False
    """Whether less is here than was asked for."""
    damaged: bool = False
    """Whether bytes that are not UTF-8 are shown as U+FFFD."""

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.first + len(self.lines) - 1

    @property
    def next_line(self) -> int | None:
        """Where to go on; None at the end of the file."""
        return self.last + 1 if self.last < self.total or not self.counted else None


@dataclass(frozen=True, slots=True)
class Part:
    """What is wanted of a file: a block, ranges, lines from one on, or else all of it."""

    path: str
    first: int | None = None
    """Counted from 1."""
    limit: int | None = None
    """How many lines at most."""
    ranges: tuple[tuple[int, int], ...] = ()
    """First and last lines, counted from 1."""
    around: Around | None = None


async def read_part(files: Files, part: Part, most_chars: int = MOST_CHARS) -> list[Slice]:
    """The lines of a file that are wanted, as far as they fit; never none."""
    if part.around is not None:
        data = await work.read_whole(files, part.path)
        whole = text.decode(data, part.path, lossy=True)
        damaged = text.was_damaged(whole, data)
        return [replace(one, damaged=damaged) for one in part_of(whole, part, most_chars)]
    spans = _spans(part)
    room = most_chars // len(spans)
    found = [await read_slice(files, part.path, *span, most_chars=room) for span in spans]
    return _told_apart(part, found)


def part_of(content: str, part: Part, most_chars: int = MOST_CHARS) -> list[Slice]:
    """The same of a text that is there already; the path of the part is what it is called."""
    lines = _lines(content)
    if part.around is not None:
        return _around(lines, part, part.around, most_chars)
    spans = _spans(part)
    room = most_chars // len(spans)
    return _told_apart(part, [_slice_of(lines, part.path, *span, room) for span in spans])


def _spans(part: Part) -> Sequence[tuple[int, int]]:
    """First and last lines of what is wanted, counted from 1."""
    first = part.first or 1
    return part.ranges or ((first, first + (part.limit or LINES) - 1),)


def _told_apart(part: Part, found: list[Slice]) -> list[Slice]:
    """The slices; that of a whole file is cut where the file goes on."""
    if part.ranges or part.limit is not None:
        return found
    return [replace(one, cut=one.cut or one.next_line is not None) for one in found]


async def read_slice(
    files: Files, path: str, first: int, last: int, *, most_chars: int = MOST_CHARS
) -> Slice:
    """Lines first to last, counted from 1, both included, as far as they fit.

    Raises:
        InvalidArgs: The file is no text, or has no such line; the message says which.
    """
    if first < 1:
        raise InvalidArgs(
            f"{first} is no line number; lines are counted from 1", "Begin with line 1 or later."
        )
    read = await work.read(files, path, first, last, lossy=True)
    lines = _lines(read.content)
    fitting = _fitting(lines, most_chars)
    cut = read.truncated or len(fitting) < len(lines)
    return Slice(first, fitting, read.lines, read.counted, cut, read.damaged)


def _slice_of(lines: Sequence[str], path: str, first: int, last: int, room: int) -> Slice:
    if first > max(len(lines), 1):
        raise InvalidArgs(
            f"range starts at line {first}, but {path!r} has {len(lines)} lines",
            f"Choose a range within 1 to {len(lines)}.",
        )
    wanted = lines[first - 1 : last]
    fitting = _fitting(wanted, room)
    return Slice(first, fitting, len(lines), cut=len(fitting) < len(wanted))


def _around(lines: list[str], part: Part, wanted: Around, most_chars: int) -> list[Slice]:
    """The block around a line and what the text begins with, as far as they fit."""
    if not 0 <= wanted.anchor < len(lines):
        raise InvalidArgs(
            f"anchor_line {wanted.anchor + 1} is out of range: "
            f"{part.path!r} has {len(lines)} lines",
            f"Choose a line from 1 to {len(lines)}." if lines else "The file is empty.",
        )
    slices = []
    for start, end in block_around(lines, wanted, part.limit or LINES):
        fitting = _fitting(lines[start:end], most_chars)
        slices.append(Slice(start + 1, fitting, len(lines), cut=len(fitting) < end - start))
        most_chars -= sum(map(len, fitting))
    return slices


def numbered(part: Slice) -> str:
    """The lines with their numbers, `12 | text`."""
    width = len(str(part.last))
    numbers = range(part.first, part.last + 1)
    pairs = zip(numbers, part.lines, strict=True)
    return "\n".join([f"{number:>{width}} | {line}" for number, line in pairs])


def _lines(content: str) -> list[str]:
    if not content:
        return []
    body = text.split_bom(content)[1].removesuffix("\n")
    return [line.removesuffix("\r") for line in body.split("\n")]


def _fitting(lines: Sequence[str], most_chars: int) -> tuple[str, ...]:
    """The first lines, cut where they are long, and at least one."""
    cut = [line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 3]}..." for line in lines]
    sizes = accumulate(len(line) + 10 for line in cut)
    count = sum(1 for size in sizes if size <= most_chars)
    return tuple(cut[: max(count, 1)])
