"""Where a path really leads, and opening it without leaving the root.

On Linux the kernel resolves the path in one step below the root's descriptor (openat2), so that a
link swapped between check and use changes nothing. Elsewhere it is walked name by name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
from contextlib import suppress
from functools import lru_cache

from whence.errors import Conflict, InvalidArgs
from whence.shapes.place import Place

_OPENAT2 = 437
_NO_SYMLINKS = 0x04
_BENEATH = 0x08
_LONGEST = 4096
_TRIES = 100
_ENCODING = sys.getfilesystemencoding()
_O_PATH = getattr(os, "O_PATH", 0)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@lru_cache(maxsize=64)
def _how(flags: int, resolve: int) -> _How:
    return _How(flags | os.O_CLOEXEC, 0, resolve)


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


_syscall = _libc.syscall if _libc is not None else (lambda *_: -1)
_is_odd = re.compile(r"\A[/.]|[/.]\Z|/[/.]").search
"""Whether a path may be spelt in a way that is not the shortest."""
_LOOK = ctypes.byref(_How(_O_PATH | os.O_CLOEXEC, 0, _BENEATH | _NO_SYMLINKS))


def _openat2(directory: int, path: bytes, flags: int, resolve: int) -> int:
    """A descriptor; raises OSError, ENOSYS where the kernel has no such call."""
    if _libc is None:
        raise OSError(errno.ENOSYS, "no openat2")
    how = _how(flags, resolve)
    descriptor: int = _libc.syscall(_OPENAT2, directory, path, ctypes.byref(how), 24)
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return descriptor


def _has_openat2() -> bool:
    try:
        os.close(_openat2(-100, b".", _O_PATH, 0))
    except OSError:
        return False
    return True


HAS_OPENAT2 = _has_openat2()


def open_beneath(directory: int, path: str, flags: int) -> int:
    """Open a path without links, relative to a directory and below it."""
    if HAS_OPENAT2:
        return _openat2(directory, os.fsencode(path or "."), flags, _BENEATH | _NO_SYMLINKS)
    here = os.dup(directory)
    try:
        *parents, last = [part for part in path.split("/") if part not in ("", ".")] or ["."]
        for part in parents:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)


class Root:
    """A directory that paths are held to."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.realpath(path)
        self.prefix = self.path if self.path.endswith("/") else self.path + "/"
        self.descriptor = os.open(self.path, (_O_PATH or os.O_RDONLY) | os.O_DIRECTORY)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)

    def locate(self, given: str) -> Place:
        """Where a path leads once every link is followed; the file need not exist."""
        raw = _as_bytes(given)
        if HAS_OPENAT2 and not _is_odd(given):
            # Whether it exists below, spelt as it is and without a link: one system call.
            found = _syscall(_OPENAT2, self.descriptor, raw, _LOOK, 24)
            if found >= 0:
                os.close(found)
                return Place(given, self.prefix + given, given, True)
        return self._place(given, self._followed(given))

    def _followed(self, given: str) -> str:
        for _ in range(_TRIES):
            # Between finding a link and following it somebody may put something else there.
            with suppress(OSError):
                return os.path.realpath(os.path.join(self.path, given))
        raise Conflict(
            f"{given!r} is being changed by somebody else", "Call again when it stays as it is."
        )

    def _place(self, given: str, real: str) -> Place:
        if real.startswith(self.prefix):
            return Place(given, real, real[len(self.prefix) :], inside=True)
        if real == self.path:
            return Place(given, real, ".", inside=True)
        return Place(given, real, real, inside=False)


def _as_bytes(given: str) -> bytes:
    if not given:
        raise InvalidArgs(
            "the path is empty", "Give a path relative to the workspace; . is its root."
        )
    try:
        raw = given.encode(_ENCODING, "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidArgs(
            f"the path {given!r} is not valid Unicode", "Give the path as ordinary text."
        ) from None
    if b"\0" in raw:
        raise InvalidArgs(f"the path {given!r} contains a NUL byte", "Remove it; no file has one.")
    if len(raw) >= _LONGEST:
        raise InvalidArgs(
            f"the path {given[:80]!r}… has {len(raw)} bytes", f"Paths end at {_LONGEST - 1} bytes."
        )
    return raw
