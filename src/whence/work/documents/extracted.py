"""What is taken out of a document."""

from __future__ import annotations

from dataclasses import dataclass

MOST_CHARS = 2_000_000


class Enough(Exception):
    """There is no room for more."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a document."""

    text: str
    warnings: tuple[str, ...] = ()


class Lines:
    """Lines that are gathered up to a limit."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        self._lines: list[str] = []
        self._room = most_chars

    def add(self, line: str) -> None:
        """One more line, or Enough where there is no room for it."""
        self._room -= len(line) + 1
        if self._room < 0:
            raise Enough
        self._lines.append(line)

    def extracted(self, *warnings: str) -> Extracted:
        """All of them, with a warning where some are missing."""
        cut = ("only the beginning of the document was read",) if self._room < 0 else ()
        return Extracted("\n".join(self._lines).strip("\n"), (*warnings, *cut))
