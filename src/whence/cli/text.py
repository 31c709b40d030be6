"""Words of strangers on a person's terminal."""

from __future__ import annotations

from unicodedata import combining, east_asian_width


def harmless(text: str) -> str:
    """One line of text without anything that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


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
