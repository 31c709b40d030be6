"""Reading a long output in parts, by position or by pattern."""

from __future__ import annotations

from whence.errors import InvalidArgs
from whence.shapes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of an output."""

    lines: list[tuple[int, str]]
    """With their numbers in the whole."""
    start: int
    end: int
    """The byte after the last one."""
    total: int


@dataclass(frozen=True, slots=True)
class Matches:
    """The lines of an output in which a pattern was found."""

    lines: list[tuple[int, str]]
    more: int
    """How many more there are than the limit has room for."""


def part_of(output: bytes, offset: int, limit: int) -> Part:
    """The bytes from an offset on, as numbered lines.

    Raises:
        InvalidArgs: the offset lies beyond the end.
    """
    if offset > 0 and offset >= len(output):
        raise InvalidArgs(
            f"offset is {offset}, and the output has {len(output)} bytes",
            "Give an offset between 0 and one less than that.",
        )
    start = _at_character(output, offset)
    end = _at_character(output, offset + limit)
    if end <= start:  # the limit has no room for a single character
        end = _at_character(output, start + 4) if start + 4 < len(output) else len(output)
    piece = output[start:end]
    first = output.count(b"\n", 0, start) + 1
    return Part(_numbered(piece, first), start, start + len(piece), len(output))


def search(output: bytes, pattern: str, limit: int) -> Matches:
    """The lines that match, in whatever case; what is no pattern is looked for as it stands."""
    import re2

    options = re2.Options()
    options.case_sensitive, options.log_errors = False, False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        compiled = re2.compile(re2.escape(pattern), options)
    found = [line for line in _numbered(output, 1) if compiled.search(line[1]) is not None]
    kept, room = list[tuple[int, str]](), limit
    for line in found:
        room -= len(line[1].encode())
        if room < 0 and kept:
            break
        kept.append(line)
    return Matches(kept, len(found) - len(kept))


def preview(output: bytes, limit: int) -> str:
    """The beginning and the end of an output that is too long to be shown."""
    if len(output) <= limit:
        return output.decode("utf-8", "replace")
    head = _at_character(output, limit // 2)
    tail = _at_character(output, len(output) - limit // 2)
    shown = (output[part].decode("utf-8", "replace") for part in (slice(head), slice(tail, None)))
    return f"\n[...{tail - head} bytes omitted...]\n".join(shown)


def _numbered(data: bytes, first: int) -> list[tuple[int, str]]:
    text = data.decode("utf-8", "replace")
    lines = text.removesuffix("\n").split("\n") if text else []
    return [(first + at, line.removesuffix("\r")) for at, line in enumerate(lines)]


def _at_character(data: bytes, at: int) -> int:
    """The position, or a little before it where that is inside a character."""
    back = at
    while 0 < back < len(data) and at - back < 4 and data[back] & 0xC0 == 0x80:
        back -= 1
    return min(back, len(data)) if at - back < 4 else min(at, len(data))
