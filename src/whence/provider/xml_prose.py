"""Markdown around calls: which tags stand in code and are only examples."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_TICKS = re.compile(r"`+")


class Prose:
    """Follows a text from its beginning and knows where code is."""

    def __init__(self, text: str = "", at: int = 0) -> None:
        self._fence = ""
        self._line_start = at
        self.text = text

    def advance(self, to: int) -> None:
        """Take in every line that ends before a position."""
        while (end := self.text.find("\n", self._line_start, to)) >= 0:
            self._take_line(self.text[self._line_start : end])
            self._line_start = end + 1

    def skip(self, to: int) -> None:
        """Go on behind something that is not prose, without looking into it."""
        self._line_start = to

    def is_code(self, at: int, end: int, *, final: bool) -> bool | None:
        """Whether what stands from `at` to `end` is an example; None: the line will tell."""
        self.advance(at)
        before = self.text[self._line_start : at]
        if self._fence or _FENCE.match(before):
            return True
        ticks = _open_ticks(before)
        if not ticks:
            return False
        line_end = self.text.find("\n", end)
        certain = final or line_end >= 0
        rest = self.text[end:] if line_end < 0 else self.text[end:line_end]
        for run in _TICKS.finditer(rest):
            may_grow = not certain and run.end() == len(rest)
            if run.group() == ticks and not may_grow:
                return True
        return False if certain else None

    def _take_line(self, line: str) -> None:
        found = _FENCE.match(line)
        if found is None:
            return
        marks, rest = found.group(1), found.group(2)
        if not self._fence:
            if marks[0] == "~" or "`" not in rest:
                self._fence = marks
        elif marks.startswith(self._fence) and not rest.strip():
            self._fence = ""


def _open_ticks(line: str) -> str:
    """The backticks that opened a code span which has not been closed before the end."""
    opened = ""
    for run in _TICKS.finditer(line):
        if not opened:
            opened = run.group()
        elif run.group() == opened:
            opened = ""
    return opened
