"""Which files a search in Python reads: the same ones as ripgrep, in the same order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import attrgetter

from whence.work.lexical.gitignore import Level, is_excluded, level_of, levels_above
from whence.work.lexical.globs import Rules, parse_rule
from whence.work.lexical.hits import Query, bad_glob, unreadable

_SESSIONS = b".agent/sessions"
OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""How to open a file that may have become a link or a FIFO since it was listed."""


class Walk:
    """The files below a query's target."""

    def __init__(self, query: Query) -> None:
        self.warnings: list[str] = []
        self._query = query
        self._skip = len(os.path.join(os.fsencode(query.base), b""))
        self._glob, self._glob_selects = _compiled(query)
        self._closed = Rules.of(query.closed) if query.closed else None

    def files(self) -> Iterator[bytes]:
        """Absolute paths, in the order of their names, directory by directory."""
        top = os.fsencode(self._query.target)
        if self._query.is_file:
            yield top
            return
        stack = [self._entries(top, levels_above(top))]
        while stack:
            for entry, is_directory, level in stack[-1]:
                if is_directory:
                    stack.append(self._entries(entry.path, level))
                    break
                yield entry.path
            else:
                stack.pop()

    def note_unreadable(self, path: bytes, error: OSError) -> None:
        """Warn of a file or directory that cannot be read; one that is gone is no news."""
        if not isinstance(error, FileNotFoundError):
            self.warnings.append(unreadable(self._query.shown(path), str(error.strerror)))

    def _entries(
        self, directory: bytes, above: Level | None
    ) -> Iterator[tuple[os.DirEntry[bytes], bool, Level | None]]:
        """What is wanted of a directory, each with whether it is one and who has a say in it."""
        try:
            with os.scandir(directory) as scan:
                entries = sorted(scan, key=attrgetter("name"))
        except OSError as error:
            self.note_unreadable(directory, error)
            return
        level = level_of(directory, {entry.name for entry in entries}, above)
        for entry in entries:
            is_directory = entry.is_dir(follow_symlinks=False)
            if not (is_directory or entry.is_file(follow_symlinks=False)):
                continue
            if self._is_wanted(entry, is_directory, level):
                yield entry, is_directory, level

    def _is_wanted(
        self, entry: os.DirEntry[bytes], is_directory: bool, level: Level | None
    ) -> bool:
        name = entry.name
        if name == b".git" or (name == b"sessions" and entry.path[self._skip :] == _SESSIONS):
            return False
        if self._closed is not None and self._is_closed(entry.path, is_directory):
            return False
        if self._glob is None and level is None:
            return True
        selected = self._selects(entry.path, is_directory)
        return not is_excluded(entry.path, is_directory, level) if selected is None else selected

    def _is_closed(self, path: bytes, is_directory: bool) -> bool:
        relative = path[self._skip :].decode("utf-8", "replace")
        return self._closed is not None and bool(
            self._closed.excludes(relative, is_directory=is_directory)
        )

    def _selects(self, path: bytes, is_directory: bool) -> bool | None:
        """Whether the glob takes a path in or leaves it out, whatever `.gitignore` says."""
        if self._glob is None:
            return None
        relative = path[self._skip :].decode("utf-8", "replace")
        if self._glob.excludes(relative, is_directory=is_directory) is not None:
            return self._glob_selects
        return False if self._glob_selects and not is_directory else None


def _compiled(query: Query) -> tuple[Rules | None, bool]:
    """The glob as rules, and whether it takes in or leaves out what matches."""
    if query.glob is None:
        return None, True
    try:
        rule = parse_rule(query.glob)
    except ValueError as error:
        raise bad_glob(query, str(error)) from error
    if rule is None:
        raise bad_glob(query, "it names nothing")
    return Rules([rule]), not rule.negated
