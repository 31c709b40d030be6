"""Files as text: what is text, how many lines it has, and where a line begins."""

from __future__ import annotations

from typing import BinaryIO

from whence.errors import InvalidArgs
from whence.work.pause import pause

_CHUNK = 1 << 20
_BOM = "\ufeff"


def decode(data: bytes, path: str, *, line: int = 1) -> str:
    """UTF-8 text; refuses anything else and says where it is wrong."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _not_text(path, "looks like UTF-16")
    if b"\0" in data[:8192]:
        raise _not_text(path, "is binary, it has NUL bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        raise _not_text(
            path, f"is not valid UTF-8: byte 0x{data[error.start]:02x} in line {at}"
        ) from None


def split_bom(text: str) -> tuple[str, str]:
    """The byte order mark, if there is one, and the rest."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


async def line_span(
    file: BinaryIO, first: int, last: int | None, *, to_the_end: bool = True
) -> tuple[int, int, int]:
    """Where lines first to last begin and end, in bytes, and how many lines there are in all.

    Reads the file once, in pieces; others run in between. Without `to_the_end` it stops where the
    last line ends, and counts the lines up to there.
    """
    begin = 0 if first == 1 else None
    end = None
    newlines = size = 0
    tail = b""
    while chunk := file.read(_CHUNK):
        found = chunk.count(b"\n")
        if begin is None and newlines + found >= first - 1:
            begin = size + _after_newline(chunk, first - 1 - newlines)
        if end is None and last is not None and newlines + found >= last:
            end = size + _after_newline(chunk, last - newlines)
            if not to_the_end:
                return (end if begin is None else begin), end, last
        newlines += found
        size += len(chunk)
        tail = chunk[-1:]
        if size > _CHUNK:
            await pause()
    lines = newlines + (1 if tail not in (b"", b"\n") else 0)
    return (size if begin is None else begin), (size if end is None else end), lines


def _after_newline(chunk: bytes, count: int) -> int:
    at = -1
    for _ in range(count):
        at = chunk.index(b"\n", at + 1)
    return at + 1


def _not_text(path: str, what: str) -> InvalidArgs:
    return InvalidArgs(f"{path!r} {what}", "Only UTF-8 text can be read and edited as text.")
