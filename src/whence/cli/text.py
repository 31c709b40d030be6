"""Words of strangers on a person's terminal."""

from __future__ import annotations

import re
import sys
from typing import Any
from unicodedata import combining, east_asian_width

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON may hold as it is, and a terminal obeys."""


def harmless(text: str) -> str:
    """One line of text without anything that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def json_bytes(value: Any, indent: int = 0) -> bytes:
    """A value as JSON that a terminal can show: on one line, or with so many columns a level."""
    import msgspec

    try:
        written = msgspec.json.encode(value)
    except UnicodeEncodeError:  # the name of a file need not be Unicode; JSON's escapes can tell it
        import json

        written = json.dumps(value, separators=(",", ":")).encode()
    return harmless_json(msgspec.json.format(written, indent=indent) if indent else written)


def print_json(value: Any, indent: int = 0) -> None:
    """A value as JSON on standard output, in UTF-8 whatever the terminal speaks."""
    sys.stdout.buffer.write(json_bytes(value, indent) + b"\n")


def harmless_json(written: bytes) -> bytes:
    """The same JSON, with escapes for what a terminal would obey."""
    if written.isascii() and b"\x7f" not in written:
        return written
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", written.decode()).encode()


def counted(number: int, noun: str) -> str:
    """So many of them: 1 file, 2 files."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def width_of(text: str) -> int:
    """How many columns of a terminal a line takes."""
    if text.isascii():
        return len(text)
    return sum(_width(char) for char in text)


def fitted(text: str, columns: int, mark: str = "…") -> str:
    """As much of a line as fits into so many columns, with a mark where it is cut."""
    if width_of(text) <= columns:
        return text
    left = columns - width_of(mark)
    for index, char in enumerate(text):
        left -= _width(char)
        if left < 0:
            return text[:index] + mark
    return text


def _width(char: str) -> int:
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
