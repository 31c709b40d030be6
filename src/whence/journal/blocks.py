"""Fenced YAML blocks of a log, found by their bytes: works on damaged and hand-written logs too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

_OPEN = b"\n```yaml\n"
_CLOSE = b"\n```"
_HEADING = b"\n## "


class Block(NamedTuple):
    """One block and the words above it."""

    offset: int
    """Where its heading starts, or its fence if it has none."""
    line: int
    before: bytes
    """Everything since the block before, from a line break on."""
    before_line: int
    """The number of the line that this line break ends."""
    text: bytes
    """The YAML between two line breaks; empty for the words behind the last block."""


def blocks(
    descriptor: int, start: int, stop: int, *, line: int = 1, chunk: int = 1 << 20
) -> Iterator[Block]:
    """The blocks between two offsets, both at the start of a line; an unfinished one is skipped."""
    buffer, base, position = b"\n", start - 1, start
    line -= 1
    while True:
        done = 0
        while (found := _find(buffer, done)) is not None:
            opening, closing = found
            yield _block(buffer, done, found, base, line)
            line += buffer.count(b"\n", done, closing)
            done = closing
        buffer = buffer[done:]
        base += done
        data = (
            os.pread(descriptor, min(chunk, stop - position), position) if position < stop else b""
        )
        if not data:
            break
        position += len(data)
        buffer += data
    opening = buffer.find(_OPEN)
    rest = buffer if opening < 0 else buffer[: opening + 1]
    yield Block(base + 1, line + 1, rest, line, b"")


def _find(buffer: bytes, start: int) -> tuple[int, int] | None:
    """The line breaks before the opening and before the closing fence."""
    opening = buffer.find(_OPEN, start)
    closing = buffer.find(_CLOSE, opening + len(_OPEN) - 1) if opening >= 0 else -1
    return (opening, closing) if closing >= 0 else None


def _block(buffer: bytes, start: int, found: tuple[int, int], base: int, line: int) -> Block:
    opening, closing = found
    heading = buffer.rfind(_HEADING, start, opening)
    top = heading if heading >= 0 else opening
    lines = line + buffer.count(b"\n", start, top + 1)
    text = buffer[opening + len(_OPEN) - 1 : closing + 1]
    return Block(base + top + 1, lines, buffer[start : opening + 1], line, text)
