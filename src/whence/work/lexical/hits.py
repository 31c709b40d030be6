"""What is asked of a search, and what comes of it; shared by both engines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whence.errors import InvalidArgs, TimedOut

AROUND = 2
"""How many lines of context there are on either side of a hit."""
SNIFFED = 65536
"""A NUL among so many first bytes makes a file binary."""
_SHOWN_CHARS = 500
_SHOWN_BYTES = 4 * (_SHOWN_CHARS + 1)
_WARNINGS = 5


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that matches."""

    path: str
    """Relative to the workspace, with `/`; bytes that are not UTF-8 are replaced."""
    line: int
    """Counted from 1."""
    content: str
    """The line, cut after 500 characters with `…`."""
    context: tuple[str, ...]
    """Up to two lines before it and up to two after it, in order, without the line itself."""


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of one search, in path order."""

    hits: tuple[Hit, ...]
    truncated: bool
    """There are more hits than were asked for."""
    warnings: tuple[str, ...]
    engine: str
    """`rg` or `python`."""


@dataclass(frozen=True, slots=True)
class Query:
    """One search whose arguments were checked."""

    pattern: str
    base: str
    """The absolute directory to which globs with a slash are anchored."""
    target: str
    """The absolute path of what to search."""
    glob: str | None
    is_file: bool
    unshown: bytes
    """The beginning of absolute paths that is not shown; empty outside of the workspace."""
    cap: int
    timeout_s: float
    closed: tuple[str, ...] = ()
    """Patterns of paths that are not looked into, as `.gitignore` has them."""

    def shown(self, path: bytes) -> str:
        """An absolute path as a reader sees it."""
        return path.removeprefix(self.unshown).decode("utf-8", "replace")


def readable(line: bytes) -> str:
    """A line as a reader sees it: without carriage returns at its end, cut where it is too long."""
    text = line[:_SHOWN_BYTES].decode("utf-8", "replace")
    if len(line) <= _SHOWN_BYTES:
        text = text.rstrip("\r")
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def found(query: Query, hits: list[Hit], warnings: list[str], engine: str) -> Found:
    """The answer, cut to what was asked for."""
    shown = warnings[:_WARNINGS]
    if len(warnings) > _WARNINGS:
        shown.append(f"… and {len(warnings) - _WARNINGS} more warnings")
    return Found(tuple(hits[: query.cap]), len(hits) > query.cap, tuple(shown), engine)


def literally(text: str) -> str:
    """A pattern that matches exactly this text."""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", text)


def bad_pattern(query: Query, reason: str, position: int | None) -> InvalidArgs:
    """The error for a pattern that no engine takes."""
    where = "" if position is None else f" at character {position + 1}"
    details: dict[str, object] = {"reason": reason}
    if position is not None:
        details["position"] = position
    return InvalidArgs(
        f"{query.pattern!r} is not a regular expression: {reason}{where}",
        f"Correct it, or look for the text itself with {literally(query.pattern)!r}.",
        details=details,
    )


def bad_glob(query: Query, reason: str) -> InvalidArgs:
    """The error for a glob that cannot be understood."""
    return InvalidArgs(
        f"{query.glob!r} is no pattern for the names of files: {reason}",
        "Use a pattern such as '*.md', 'src/**/*.ts', '*.{js,ts}' or '!*.lock'.",
        details={"reason": reason},
    )


def timed_out(query: Query, hits: int) -> TimedOut:
    """The error for a search that took too long."""
    return TimedOut(
        f"the search for {query.pattern!r} was given up after {query.timeout_s:g} s; hits: {hits}",
        "Narrow the scope or the glob.",
        details={"hits": hits, "timeout_s": query.timeout_s},
    )


NOTHING_SEARCHED = "no file was searched: the glob matches none that may be"


def binary(path: str) -> str:
    """The warning for a file that is not text."""
    return f"{path}: not searched, it is binary"


def partly_binary(path: str) -> str:
    """The warning for a file that is text only at its beginning."""
    return f"{path}: searched only up to its first NUL byte"


def unreadable(path: str, reason: str) -> str:
    """The warning for a file or directory that could not be read."""
    return f"{path}: not searched, {reason}"
