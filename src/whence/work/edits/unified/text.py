"""The lines of a diff, what they can be told to be, and complaints that name them."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NoReturn

from whence.errors import InvalidArgs
from whence.work.edits.words import cut

RANGES = re.compile(r"@@\s*-([0-9]{1,9})(?:,([0-9]{1,9}))?\s+\+([0-9]{1,9})(?:,([0-9]{1,9}))?\s*@@")
"""`@@ -12,7 +12,8 @@`, whatever follows."""

FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})[^`]*")
"""A line that opens a Markdown code block."""

HOW_TO = (
    "Send one unified diff: `--- a/path`, `+++ b/path`, then hunks. A hunk begins with an @@ line, "
    "and each of its lines with a space (context), - or +."
)

_VERSION = re.compile(r"[0-9]+(\.[0-9]+)+\S*\s*")


class DiffText:
    """A diff as lines, looked at by number, counted from 0."""

    __slots__ = ("_hunks_at", "diff", "fence", "has_cr", "ink", "lines", "signs")

    def __init__(self, diff: str) -> None:
        self.diff = diff
        self.lines = diff.split("\n")
        if not self.lines[-1]:
            self.lines.pop()
        self.ink = len(self.lines)
        while self.ink and not self.lines[self.ink - 1].strip():
            self.ink -= 1
        self.fence: str | None = None
        self.has_cr = "\r" in diff
        self.signs = [line[:1] if line != "\r" else "" for line in self.lines]
        """The first character of each line; nothing for an empty one."""
        hunks_at = [at for at, sign in enumerate(self.signs) if sign == "@"]
        self._hunks_at = [*filter(self._is_hunk, hunks_at), len(self.lines)]

    def next_hunk(self, at: int) -> int:
        """The next @@ line, or the end."""
        return self._hunks_at[bisect_left(self._hunks_at, at)]

    def is_file_header(self, at: int) -> bool:
        """Whether `---` and `+++` lines stand here."""
        return self.lines[at].startswith("--- ") and self._starts(at + 1, "+++ ")

    def is_boundary(self, at: int) -> bool:
        """Whether a hunk that is complete by its counts is followed by no further body line."""
        return (
            at >= self.ink or self.signs[at] not in {" ", "+", "-", "\\"} or self.is_file_header(at)
        )

    def is_end(self, at: int) -> bool:
        """Whether a hunk ends here, whatever its counts say."""
        if at >= len(self.lines) or self.lines[at].startswith(("@@", "diff --git ")):
            return True
        if self.is_file_header(at) and self._starts(at + 2, "@@"):
            return True
        return self.closes_fence(at) or self.is_signature(at)

    def closes_fence(self, at: int) -> bool:
        """Whether the code block around the diff ends here."""
        line = self.lines[at].strip()
        return self.fence is not None and line.startswith(self.fence) and not line.strip(line[0])

    def is_signature(self, at: int) -> bool:
        """Whether the mail signature that git writes below a patch begins here."""
        return (
            self.lines[at].rstrip() == "--"
            and at + 2 == self.ink
            and _VERSION.fullmatch(self.lines[at + 1]) is not None
        )

    def after_blank(self, at: int) -> int:
        """The next line that is not empty."""
        while at < len(self.lines) and self.lines[at] in {"", "\r"}:
            at += 1
        return at

    def refuse(self, at: int, problem: str, suggestion: str = HOW_TO) -> NoReturn:
        """Say what is wrong with one line."""
        shown = cut(self.lines[at].rstrip("\r"), 120)
        raise InvalidArgs(
            f"line {at + 1} of the diff, {shown!r}, {problem}",
            suggestion,
            details={"line": at + 1, "text": shown},
        )

    def refuse_second_file(self, at: int) -> NoReturn:
        """Say that the diff is about more than one file."""
        self.refuse(
            at,
            "begins a second file header",
            "Send one diff per file, with all hunks of that file under one header.",
        )

    def _is_hunk(self, at: int) -> bool:
        return self.lines[at].startswith("@@")

    def _starts(self, at: int, prefix: str) -> bool:
        return at < len(self.lines) and self.lines[at].startswith(prefix)
