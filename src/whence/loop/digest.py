"""Hashes of files, by what is really opened; what did not change is not read again."""

from __future__ import annotations

import hashlib
import os
import time

from whence.errors import Unavailable

_SETTLED_NS = 50_000_000
"""A file that changed later than this before it was read may have changed since, unseen."""
_known: dict[tuple[int, ...], str] = {}


def digest(path: str) -> str:
    """The hash of the file that is opened there; one that did not change is not read again.

    Raises:
        Unavailable: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            identity = _identity(found)
            if identity not in _known:
                made = hashlib.file_digest(file, "sha256").hexdigest()
                newest = max(found.st_mtime_ns, found.st_ctime_ns)
                settled = newest < time.time_ns() - _SETTLED_NS
                if not settled or _identity(os.fstat(file.fileno())) != identity:
                    return made
                _known[identity] = made
            return _known[identity]
    except OSError as error:
        raise Unavailable(
            f"{path!r} cannot be read: {error.strerror}", "Make it readable, or name another."
        ) from error


def _identity(found: os.stat_result) -> tuple[int, ...]:
    """What changes whenever a file's content does."""
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, found.st_ctime_ns)


def inside(path: str, workspace: str) -> str:
    """A path as files of settings name it: relative to the workspace where it is inside."""
    for root in (os.path.abspath(workspace), os.path.realpath(workspace)):
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return path
