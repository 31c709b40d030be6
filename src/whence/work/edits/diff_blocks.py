r"""SEARCH/REPLACE blocks: their grammar, read strictly, so that a slip is named and not guessed at.

    <<<<<<< SEARCH
    :start_line:12
    -------
    the lines that are there now
    =======
    the lines that shall be there
    >>>>>>> REPLACE

The line with the number, and the dashes below it, may be left out; `:end_line:` is read and says
nothing. Markers begin their line. A line of the text itself that looks like a marker has a
backslash before it, which is taken away here. Text around the blocks is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from whence.errors import InvalidArgs
from whence.work.edits.words import cut

SEARCH, SEPARATOR, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
_PARTS = (SEARCH, ":start_line:N", "-------", "lines", SEPARATOR, "lines", REPLACE)
FORM = f"Write each block as: {' / '.join(_PARTS)}."
"""What a block looks like, for messages."""

_SEARCH = re.compile(r"<<<<<<< SEARCH>?\s*")
_SEPARATOR = re.compile(r"=======\s*")
_REPLACE = re.compile(r">>>>>>> REPLACE\s*")
_CONFLICT = re.compile(r"(?:<{7}(?!<)|>{7}(?!>)).*", re.DOTALL)
_NUMBER = re.compile(r":(start|end)_line:\s*([0-9]{1,9})\s*")
_LIKE_NUMBER = re.compile(r":(?:start|end)_line\b.*", re.DOTALL)
_DASHES = re.compile(r"-------\s*")
_LIKE_DASHES = re.compile(r"-------[^-].*", re.DOTALL)
_ESCAPED = re.compile(
    r"(\s*)\\(\\*:(?:start|end)_line\b.*)|()\\(\\*(?:<{7}|={7}|>{7}|-{7}).*)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that are there, and lines that shall be there instead."""

    number: int
    """Counted from 1."""
    line: int
    """Where it begins in the diff, counted from 1."""
    search: tuple[str, ...]
    replace: tuple[str, ...]
    start_line: int | None = None
    """Where the lines begin in the file, counted from 1, as the diff says."""


def parse(diff: str) -> tuple[Block, ...]:
    """The blocks of a diff, in its order.

    Raises:
        InvalidArgs: With the line of the diff that is wrong.
    """
    lines = [line.removesuffix("\r") for line in diff.split("\n")]
    blocks = tuple(_blocks(_Reader(lines)))
    if not blocks:
        raise InvalidArgs(
            f"the diff has no SEARCH/REPLACE block: {cut(diff.strip(), 120)!r}", _hint(lines)
        )
    return blocks


class _Reader:
    """The lines of a diff, one after the other."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.at = 0
        starts, separators, ends = (
            sum(1 for line in lines if marker.fullmatch(line))
            for marker in (_SEARCH, _SEPARATOR, _REPLACE)
        )
        self.is_balanced = starts == ends and separators >= starts

    def upto(self, marker: re.Pattern[str], expected: str, *, in_replace: bool) -> tuple[str, ...]:
        """The lines before the next marker, which is passed."""
        start = self.at
        for at in range(start, len(self.lines)):
            line = self.lines[at]
            if marker.fullmatch(line):
                self.at = at + 1
                return tuple(_unescaped(each) for each in self.lines[start:at])
            self._refuse_marker(at, expected)
            if in_replace and line.strip().startswith((":start_line:", ":end_line:")):
                self.refuse(
                    at,
                    "is a line marker inside the replacement",
                    "Line numbers belong below SEARCH, and only there. " + _escaped(line),
                )
        raise InvalidArgs(
            f"the diff ends where {expected!r} is expected", FORM, details={"line": len(self.lines)}
        )

    def skip_to_search(self) -> bool:
        """Whether there is another block; its first marker is passed."""
        for at in range(self.at, len(self.lines)):
            line = self.lines[at]
            if _SEARCH.fullmatch(line):
                self.at = at + 1
                return True
            if _SEPARATOR.fullmatch(line) or _CONFLICT.fullmatch(line):
                self.refuse(at, f"is a marker where {SEARCH!r} is expected", FORM)
        return False

    def header(self) -> int | None:
        """The stated line, if there is one; what belongs to it is passed."""
        stated: dict[str, int] = {}
        while (found := _NUMBER.fullmatch(self._line())) and found[1] not in stated:
            stated[found[1]] = int(found[2])
            self.at += 1
        if _LIKE_NUMBER.fullmatch(self._line()):
            how = f"Write :start_line:12. {_escaped(self._line())}"
            self.refuse(self.at, "is no line marker", how)
        if stated and _LIKE_DASHES.fullmatch(self._line()):
            how = f"Put the text on a line of its own. {_escaped(self._line())}"
            self.refuse(self.at, "begins with the dashes that end the header", how)
        if _DASHES.fullmatch(self._line()):
            self.at += 1
        return stated.get("start") or None

    def refuse(self, at: int, problem: str, suggestion: str) -> NoReturn:
        """Say what is wrong with one line."""
        text = cut(self.lines[at], 120)
        raise InvalidArgs(
            f"line {at + 1} of the diff, {text!r}, {problem}",
            suggestion,
            details={"line": at + 1, "text": text},
        )

    def _refuse_marker(self, at: int, expected: str) -> None:
        line = self.lines[at]
        if not (_SEPARATOR.fullmatch(line) or _CONFLICT.fullmatch(line)):
            return
        if (_SEARCH.fullmatch(line) or _REPLACE.fullmatch(line)) or not self.is_balanced:
            self.refuse(at, f"is a marker where {expected!r} is expected", FORM)
        self.refuse(at, "looks like a marker inside a block", _escaped(line))

    def _line(self) -> str:
        return self.lines[self.at] if self.at < len(self.lines) else ""


def _blocks(reader: _Reader) -> Iterator[Block]:
    number = 0
    while reader.skip_to_search():
        number += 1
        first = reader.at
        start_line = reader.header()
        search = reader.upto(_SEPARATOR, SEPARATOR, in_replace=False)
        if not search:
            how = "Search for the line above or below, and repeat it in the replacement."
            reader.refuse(reader.at - 1, "ends a search that is empty", how)
        replace = reader.upto(_REPLACE, REPLACE, in_replace=True)
        if replace and _DASHES.fullmatch(replace[0]) and _DASHES.fullmatch(reader.lines[first]):
            how = _escaped("-------")
            reader.refuse(first, "may end a header or belong to the text", how)
        yield Block(number, first, search, replace, start_line)


def _unescaped(line: str) -> str:
    if "\\" not in line:
        return line
    match = _ESCAPED.fullmatch(line)
    return line if match is None else (match[1] or "") + (match[2] or match[4])


def _escaped(line: str) -> str:
    return f"If the line belongs to the text, put a backslash before it: \\{cut(line.strip(), 120)}"


def _hint(lines: Sequence[str]) -> str:
    if any(_SEARCH.fullmatch(line.strip()) for line in lines):
        return f"Markers begin their line: remove the white space before them. {FORM}"
    return FORM
