"""The hunks of one Update section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from whence.work.edits.v4a import grammar
from whence.work.edits.v4a.grammar import shown, syntax_error
from whence.work.edits.v4a.shapes import Hunk

_RANGES = re.compile(r"-[0-9]+(,[0-9]+)?\s+\+[0-9]+(,[0-9]+)?(\s*@@.*)?")
"""What follows `@@` in a unified diff."""
EMPTY = "\n"
"""Stands for the sign of an empty line."""
_BODY = re.compile(r"[-+ \n]+")


class HunkReader:
    """Reads hunks up to the next file header, or the end."""

    def __init__(
        self, lines: Sequence[str], signs: str, span: range, warnings: list[str], *, returns: bool
    ) -> None:
        at = span.start
        self.at = at
        """The line that is read next, counted from 0."""
        self._lines, self._all_signs, self._end = lines, signs, span.stop
        self._has_returns = returns
        """Whether there may be a CR inside a line."""
        self._warnings = warnings
        self._hunks: list[Hunk] = []
        self._anchors: list[str] = []
        self._anchored_at = at
        self._signs = ""
        self._body: list[str] = []
        self._first = at
        self._is_opened = False
        """Empty lines between the file header and what follows are a gap."""
        self._is_closed = False
        """After an end of file, only an `@@` line can begin another hunk."""

    def read(self) -> tuple[Hunk, ...]:
        """Every hunk of the section."""
        while self.at < self._end:
            run = _BODY.match(self._all_signs, self.at, self._end)
            if run:
                self._take(run.end())
                continue
            line = self._lines[self.at]
            if line.startswith(grammar.BREAK):
                if line.rstrip() != grammar.END_OF_FILE:
                    break
                self._close(ends_file=True)
            elif line.startswith(grammar.ANCHOR):
                self._anchor(line)
            else:
                self._unsigned(line)
            self.at += 1
        self._close()
        if self._anchors:
            self._refuse(self._anchored_at, f"no lines follow the anchor {self._anchors[-1]!r}")
        return tuple(self._hunks)

    def _take(self, end: int) -> None:
        """Lines that are empty or have a sign."""
        start, self.at = self.at, end
        if self._is_closed or not (self._signs or self._is_opened):
            while start < end and not self._lines[start].strip():
                start += 1
            if self._is_closed and start < end:
                self._refuse(start, f"{shown(self._lines[start])} follows the end of the file")
        if not self._signs:
            self._first = start
        lines = self._lines[start:end]
        self._signs += self._all_signs[start:end]
        self._body += [line[1:] for line in lines]

    def _unsigned(self, line: str) -> None:
        if line.startswith("\\ No newline"):
            return
        if not self._signs or self._is_closed:
            self._refuse(self.at, f"{shown(line)} begins with neither a space, - nor +")
        sign = self._signs[-1].replace(EMPTY, " ")
        means = {"+": "added", "-": "removed", " ": "context"}[sign]
        self._warnings.append(
            f"line {self.at + 1} of the patch, {shown(line)}, has no sign; it was taken as "
            f"{means}, like the line before it"
        )
        self._signs += sign
        self._body.append(line)

    def _anchor(self, line: str) -> None:
        self._close()
        self._is_opened, self._is_closed = True, False
        text = line[len(grammar.ANCHOR) :].removeprefix(" ").rstrip()
        if not text:
            return
        if _RANGES.fullmatch(text.strip()):
            self._warnings.append(
                f"line {self.at + 1} of the patch: line numbers after @@ are not used"
            )
            return
        text = text.removesuffix(grammar.ANCHOR).rstrip()
        if text:
            self._anchors.append(text)
            self._anchored_at = self.at

    def _close(self, *, ends_file: bool = False) -> None:
        """Make a hunk of the lines so far."""
        # Empty lines below a hunk may be meant as a gap, so they are no context.
        signs = self._signs if ends_file else self._signs.rstrip(EMPTY)
        if ends_file and not signs:
            self._refuse(self.at, f"{grammar.END_OF_FILE!r} follows no lines")
        self._is_closed = ends_file
        if signs:
            self._hunks.append(self._hunk(signs, self._body[: len(signs)], ends_file=ends_file))
            self._anchors = []
        self._signs, self._body = "", []

    def _hunk(self, signs: str, lines: list[str], *, ends_file: bool) -> Hunk:
        signs = signs.replace(EMPTY, " ")
        if self._has_returns:
            signs, lines = _without_returns(signs, lines)
        number, first = len(self._hunks) + 1, self._first + 1
        changes = signs.rstrip(" ")
        if not changes:
            self._warnings.append(f"hunk {number} (line {first} of the patch) changes nothing")
        lead = len(signs) - len(signs.lstrip(" "))
        tail = len(signs) - len(changes) if changes else 0
        old = [line for sign, line in zip(signs, lines, strict=True) if sign != "+"]
        anchors = tuple(self._anchors)
        return Hunk(number, first, anchors, signs, lines, old, lead, tail, ends_file)

    def _refuse(self, at: int, problem: str) -> NoReturn:
        raise syntax_error(at + 1, problem, grammar.HOW_TO_CHANGE)


def _without_returns(signs: str, lines: Sequence[str]) -> tuple[str, list[str]]:
    """A CR ends a line of a file, so an old line that holds one is several."""
    new_signs, new_lines = "", []
    for sign, line in zip(signs, lines, strict=True):
        parts = [line] if sign == "+" else line.split("\r")
        new_signs += sign * len(parts)
        new_lines += parts
    return new_signs, new_lines
