"""Text to `Patch`, or an error that names the line."""

from __future__ import annotations

import re
from typing import NoReturn

from whence.work.edits.v4a import grammar
from whence.work.edits.v4a.grammar import shown, syntax_error
from whence.work.edits.v4a.hunks import EMPTY, HunkReader
from whence.work.edits.v4a.shapes import Add, Delete, Patch, Section, Update

_HEREDOC = re.compile(r"(?:apply_patch\s+)?<<-?\s*(['\"]?)(\w+)\1")
_FENCE = re.compile(r"(`{3,}|~{3,})\s*[\w-]*")


def parse(text: str) -> Patch:
    """What the patch says.

    Raises:
        InvalidArgs: It is no V4A patch; the message begins `Syntax error at line N`.
    """
    return _Parser(text).patch()


class _Parser:
    """A patch as lines, read once from the first to the last."""

    def __init__(self, text: str) -> None:
        lines = text.removeprefix("\ufeff").split("\n")
        self.returns = "\r" in text
        if self.returns:
            lines = [line.removesuffix("\r") for line in lines]
        self.lines = lines
        self.signs = "".join([line[:1] or EMPTY for line in lines])
        """The first character of each line."""
        self.at, self.end = self._inside(*self._trimmed(0, len(lines)))
        self.warnings: list[str] = []

    def patch(self) -> Patch:
        """Every section, in order."""
        sections: list[Section] = []
        while (section := self._section()) is not None:
            sections.append(section)
        if not sections:
            raise syntax_error(self.end + 1, "the patch names no file")
        return Patch(tuple(sections), tuple(self.warnings))

    def _trimmed(self, first: int, end: int) -> tuple[int, int]:
        while first < end and not self.lines[first].strip():
            first += 1
        while end > first and not self.lines[end - 1].strip():
            end -= 1
        return first, end

    def _inside(self, first: int, end: int) -> tuple[int, int]:
        """What stands between the markers, whatever is wrapped around them."""
        for _ in range(2):
            if end - first > 2 and self._is_wrapped(first, end):
                first, end = self._trimmed(first + 1, end - 1)
        opening = self.lines[first] if first < end else ""
        if opening.strip() != grammar.BEGIN:
            number = min(first + 1, len(self.lines))
            raise syntax_error(number, f"expected {grammar.BEGIN!r}, found {shown(opening)}")
        closing = self.lines[end - 1]
        if closing.strip() != grammar.END:
            raise syntax_error(
                end, f"the patch ends with {shown(closing)} and not with {grammar.END!r}"
            )
        return first + 1, end - 1

    def _is_wrapped(self, first: int, end: int) -> bool:
        opening, closing = self.lines[first].strip(), self.lines[end - 1].strip()
        if heredoc := _HEREDOC.fullmatch(opening):
            return closing == heredoc[2]
        fence = _FENCE.fullmatch(opening)
        return fence is not None and closing == fence[1]

    def _section(self) -> Section | None:
        """The next section; None: there is none."""
        while self.at < self.end and self.lines[self.at].strip() in ("", grammar.BREAK):
            self.at += 1
        if self.at >= self.end:
            return None
        line = self.lines[self.at].strip()
        self.at += 1
        if line.startswith(grammar.ADD):
            return self._add(self._path(line, grammar.ADD))
        if line.startswith(grammar.DELETE):
            return Delete(self._path(line, grammar.DELETE), self.at)
        if line.startswith(grammar.UPDATE):
            return self._update(self._path(line, grammar.UPDATE))
        return self._refuse_header(line)

    def _refuse_header(self, line: str) -> NoReturn:
        if line == grammar.END:
            raise syntax_error(
                self.at, f"lines follow {grammar.END!r}", "Send one patch, with all files in it."
            )
        problem = f"{shown(line)} is no file header"
        if line[:1] in {"+", "-", "@"}:
            raise syntax_error(self.at, f"{problem}, and no file is being changed here")
        raise syntax_error(self.at, problem)

    def _path(self, line: str, marker: str) -> str:
        path = line[len(marker) :].strip()
        if not path:
            raise syntax_error(self.at, f"{line!r} names no file", f"Write `{marker} PATH`.")
        return path

    def _add(self, path: str) -> Add:
        header = start = self.at
        while self.at < self.end and self.lines[self.at].startswith("+"):
            self.at += 1
        if not self._is_at_header():
            raise syntax_error(
                self.at + 1,
                f"{shown(self.lines[self.at])} stands inside the new file {path!r} without a +",
                "Begin every line of a new file with +; an empty line is a + alone.",
            )
        content = [line[1:] for line in self.lines[start : self.at]]
        return Add(path, header, "\n".join([*content, ""]) if content else "")

    def _is_at_header(self) -> bool:
        """Whether only empty lines come before the next header or the end."""
        at = self.at
        while at < self.end and not self.lines[at].strip():
            at += 1
        return at >= self.end or self.lines[at].lstrip().startswith(grammar.BREAK)

    def _update(self, path: str) -> Update:
        header, target = self.at, None
        if self.at < self.end and self.lines[self.at].startswith(grammar.MOVE):
            self.at += 1
            target = self._path(self.lines[self.at - 1].strip(), grammar.MOVE)
        reader = HunkReader(
            self.lines, self.signs, range(self.at, self.end), self.warnings, returns=self.returns
        )
        hunks = reader.read()
        self.at = reader.at
        if not hunks and target is None:
            raise syntax_error(
                header, f"the section for {path!r} changes nothing", grammar.HOW_TO_CHANGE
            )
        return Update(path, header, target, hunks)
