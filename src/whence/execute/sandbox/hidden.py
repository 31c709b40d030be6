"""What of a workspace a program must not see or change: secrets, the journal, git's own data.

Secrets are told by their names, as where the gate asks before a tool touches them. Code and the
packages that were installed into the workspace are left alone.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from whence.errors import Unavailable
from whence.gate.permission import SENSITIVE
from whence.shapes.pattern import constant_matcher, matches_any

_MOST_DIRECTORIES = 100_000
_MOST_CLOSED = 1_000
"""How many directories beyond those are closed one by one, since nobody looked into them."""
_SETTLED_NS = 50_000_000
"""A directory that changed later than this before it was read may have changed since."""
_OWN_STATE = ".agent"
_GIT = ".git"
_PACKAGES = frozenset({"node_modules", "site-packages", "dist-packages"})
"""Where published packages are installed: without their certificates they would not work."""
_CODE = frozenset(
    ".c .cc .cpp .cs .go .h .html .java .js .jsx .kt .md .mjs .php .py .pyc .pyi .rb .rs .rst "
    ".scala .swift .ts .tsx".split()
)
"""A program about credentials is no credential."""
_may_be_secret = re.compile(r"^\.|\.(?:pem|key|p12|pfx)|id_|credentials").search
"""Cheaper than all the patterns, and true wherever one of them matches."""
_is_secret = constant_matcher(*SENSITIVE)


@dataclass(frozen=True, slots=True)
class Veiled:
    """Absolute paths that exist, none below another."""

    files: tuple[str, ...] = ()
    """Not to be read."""
    directories: tuple[str, ...] = ()
    """Not to be read."""
    locked: tuple[str, ...] = ()
    """Read, not written."""
    complete: bool = True
    """Whether the whole tree was looked at."""


@dataclass(slots=True)
class _Seen:
    """One directory, as it was when its time stamp was this one."""

    stamp: int
    below: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    locked: list[str] = field(default_factory=list)


class Veil:
    """Finds what is to be hidden below a directory; what did not change is not read again."""

    def __init__(self, root: str, hidden: Iterable[str] = (), shown: Iterable[str] = ()) -> None:
        self._root = root
        self._hidden, self._shown = tuple(hidden), tuple(shown)
        self._seen: dict[str, _Seen] = {}

    def seen_from(self, root: str) -> Veil:
        """The same directory, reached through another root."""
        return Veil(root + self._root, self._hidden, self._shown)

    def look(self) -> Veiled:
        """The tree as it is now; what there is too much of to be looked at is closed.

        Raises:
            Unavailable: There is even more.
        """
        found, waiting, fresh = _Seen(0), [self._root], dict[str, _Seen]()
        while waiting and len(fresh) < _MOST_DIRECTORIES:
            path = waiting.pop()
            seen = self._directory(path)
            if seen is None:
                continue
            fresh[path] = seen
            waiting += seen.below
            found.files += seen.files
            found.directories += seen.directories
            found.locked += seen.locked
        self._seen = fresh
        if len(waiting) > _MOST_CLOSED:
            raise Unavailable(
                f"{self._root!r} has more than {_MOST_DIRECTORIES} directories, and not all of "
                "them can be searched for secrets",
                "Work in one of them, or remove what a program has left there.",
            )
        found.directories += waiting
        kinds = (tuple(found.files), tuple(found.directories), tuple(found.locked))
        return Veiled(*kinds, complete=not waiting)

    def _directory(self, path: str) -> _Seen | None:
        try:
            # Anybody may set the time of a change of content, nobody this one.
            stamp = os.stat(path, follow_symlinks=False).st_ctime_ns
            known = self._seen.get(path)
            if known is not None and known.stamp == stamp:
                return known
            settled = stamp < time.time_ns() - _SETTLED_NS
            seen = _Seen(stamp if settled else -1)
            with os.scandir(path) as entries:
                for entry in entries:
                    self._sort(entry, seen)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None  # gone meanwhile, or closed to us and therefore to the program
        return seen

    def _sort(self, entry: os.DirEntry[str], seen: _Seen) -> None:
        if entry.is_symlink():
            return  # where it leads is hidden or not by its own name
        if entry.name == _GIT:
            seen.locked.append(entry.path)
        elif self._is_hidden(entry):
            kind = seen.directories if entry.is_dir() else seen.files
            kind.append(entry.path)
        elif entry.is_dir() and entry.name not in _PACKAGES:
            seen.below.append(entry.path)

    def _is_hidden(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_file() and not entry.is_dir():
            return _is_socket(entry)
        below = entry.path[len(self._root) :].lstrip("/")
        if below == _OWN_STATE:
            return True
        if self._shown and matches_any(self._shown, below):
            return False
        if _may_be_secret(entry.name) and _is_secret(entry.name):
            return os.path.splitext(entry.name)[1] not in _CODE
        return bool(self._hidden) and matches_any(self._hidden, below)


def _is_socket(entry: os.DirEntry[str]) -> bool:
    """Whether somebody outside may be listening."""
    return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
