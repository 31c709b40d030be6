"""Some lines of a text file, whatever the size of the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from whence.errors import InvalidArgs
from whence.execute.ports import Files
from whence.shapes.dataclass import dataclass
from whence.work import text
from whence.work.files import WHOLE_CAP, open_file
from whence.work.lines import Lines

EXCERPT_CAP = 380_928
"""Bytes of one excerpt, line ends included."""
_HEAD = 8192
_FIRST_LOOK = 1 << 15
"""Bytes that usually hold as many lines as are asked for."""
_BINARY = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
"""Controls that no text has; bells, form feeds and the escapes of colours do occur."""
_PART_OF_CHARACTER = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file, without their ends."""

    lines: Sequence[str]
    first: int | None
    """How many lines are before them; None: that was not counted."""
    total: int | None
    """How many lines there are; None: that was not counted."""
    truncated: bool = False
    """Less than what was asked for."""
    left: int | None = None
    """How many of the lines that were asked for are missing, where that is known."""
    goes_on: bool = False
    """Whether the only line is longer than what fits, and cut."""


def below_root(path: str, root: str | None) -> str:
    """A path that is relative to a root, checked to be so; any path where no root is named."""
    if root is not None and path.startswith("/"):
        raise InvalidArgs(
            f"file must be relative when root is provided: {path!r} with root {root!r}",
            "Leave root out, or give the path below it.",
        )
    return path


async def read_excerpt(files: Files, path: str, offset: int, count: int | None) -> Excerpt:
    """So many lines after the first `offset` ones; without a count, all that follow.

    Past the last line a count means the last lines. A file over WHOLE_CAP is read only as far as
    it must be, and its lines are not counted.

    Raises:
        InvalidArgs: It is not text.
    """
    with open_file(files, path) as file:
        lines = Lines(file)
        # A hole reads as NULs; a text may have one, as long as it is not what is shown.
        _refuse_binary(lines.read(0, _HEAD).rstrip(b"\0"), path)
        huge = lines.size > WHOLE_CAP
        if huge and count and offset > lines.size:
            return _last(lines, path, count, lines.known_total)
        place, before = await lines.start(offset)
        total = lines.known_total if huge else await lines.total()
        if before < offset:
            return _last(lines, path, count, total) if count else Excerpt((), offset, total)
        seen = _window(lines, place, count)
    left = None
    if not seen.whole and total is not None:
        left = min(total - offset, total if count is None else count) - len(seen.lines)
    shown = _decoded(seen.lines, path, offset)
    return Excerpt(shown, offset, total, not seen.whole, left, seen.goes_on)


def _last(lines: Lines, path: str, count: int, total: int | None) -> Excerpt:
    """The last lines, as many as fit."""
    place = lines.tail(count, EXCERPT_CAP)
    shown = _window(lines, place, None).lines
    first = None if total is None else total - len(shown)
    decoded = _decoded(shown, path, first or 0)
    return Excerpt(decoded, first, total, truncated=place > 0 and len(shown) < count)


class _Seen(NamedTuple):
    lines: list[bytes]
    whole: bool
    """Whether they are all that was asked for."""
    goes_on: bool = False
    """Whether the only one is cut."""


def _window(lines: Lines, place: int, count: int | None) -> _Seen:
    """The lines from a place on."""
    most = min(max(lines.size - place, 0), EXCERPT_CAP + 1)
    data = lines.read(place, most if count is None else min(most, _FIRST_LOOK))
    if count is not None and len(data) < most and data.count(b"\n") < count:
        data = lines.read(place, most)
    ended = len(data) <= EXCERPT_CAP and len(data) >= most
    *shown, rest = data.split(b"\n")
    if ended and rest:
        shown.append(rest)
    elif not ended and not shown and count != 0:  # a line that is too long is shown in part
        return _Seen([_PART_OF_CHARACTER.sub(b"", rest[:EXCERPT_CAP])], whole=False, goes_on=True)
    enough = count is not None and len(shown) >= count
    return _Seen(shown[:count] if enough else shown, ended or enough)


def _decoded(lines: Sequence[bytes], path: str, before: int) -> list[str]:
    if not lines:
        return []
    data = b"\n".join(lines)
    _refuse_binary(data, path)
    try:
        decoded = text.decode(data, path, line=before + 1)
    except InvalidArgs as error:
        raise _binary(path, error.message) from None
    if before == 0:
        decoded = text.split_bom(decoded)[1]
    return [line.removesuffix("\r") for line in decoded.split("\n")]


def _refuse_binary(data: bytes, path: str) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _binary(path, "it looks like UTF-16")
    found = _BINARY.search(data)
    if found:
        raise _binary(path, f"it has the byte 0x{found[0][0]:02x}")


def _binary(path: str, why: str) -> InvalidArgs:
    return InvalidArgs(
        f"Refusing to read binary file: {path} ({why})",
        "Only UTF-8 text can be read; a picture can be imported as one.",
    )
