"""Files as text: what is text, how many lines it has, and where a line begins."""

from __future__ import annotations

import re
from typing import BinaryIO

from whence.errors import InvalidArgs
from whence.work.lines import Lines

_CONTROLS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_BOM = "\ufeff"


def decode(data: bytes, path: str, *, line: int = 1, lossy: bool = False) -> str:
    """UTF-8 text; refuses anything else and says where it is wrong.

    With `lossy`, for text that is only looked at, wrong bytes are shown as U+FFFD.
    """
    refuse_wide(data[:2], data[:8192], path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if lossy:
            return data.decode(errors="replace")
        at = line + data.count(b"\n", 0, error.start)
        raise _not_text(
            path, f"is not valid UTF-8: byte 0x{data[error.start]:02x} in line {at}"
        ) from None


def refuse_wide(head: bytes, part: bytes, path: str) -> None:
    """Let pass what may be UTF-8, by its first two bytes and some other part of it."""
    if head in (b"\xff\xfe", b"\xfe\xff"):
        raise _not_text(path, "looks like UTF-16")
    if b"\0" in part:
        raise _not_text(path, "is binary, it has NUL bytes")


def is_text(data: bytes) -> bool:
    """Whether it is what `decode` takes."""
    try:
        decode(data, "")
    except InvalidArgs:
        return False
    return True


def was_damaged(shown: str, data: bytes) -> bool:
    """Whether a lossy text stands for other bytes."""
    return "\ufffd" in shown and not is_text(data)


def split_bom(text: str) -> tuple[str, str]:
    """The byte order mark, if there is one, and the rest."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


async def line_span(
    file: BinaryIO, first: int, last: int | None, *, to_the_end: bool = True
) -> tuple[int, int, int]:
    """Where lines first to last begin and end, in bytes, and how many lines there are in all.

    Without `to_the_end` it stops where the last line ends, and counts the lines up to there.
    """
    lines = Lines(file)
    begin, _ = await lines.start(first - 1)
    if last is None:
        return begin, lines.size, await lines.total()
    end, before = await lines.start(last)
    return begin, end, await lines.total() if to_the_end else before


def in_one_line(name: str) -> str:
    """The name of a file as it is, or, where line ends or controls are in it, quoted as in JSON."""
    if not _CONTROLS.search(name):
        return name
    from json import dumps

    return dumps(name, ensure_ascii=False)


def add_line_numbers(text: str, first: int = 1) -> str:
    """The lines of a text, each after its number and a dot."""
    return "\n".join(f"{number}. {line}" for number, line in enumerate(text.split("\n"), first))


def _not_text(path: str, what: str) -> InvalidArgs:
    return InvalidArgs(f"{path!r} {what}", "Only UTF-8 text can be read and edited as text.")
