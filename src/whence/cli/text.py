"""Words of strangers on a person's terminal."""

from __future__ import annotations


def harmless(text: str) -> str:
    """One line of text without anything that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
