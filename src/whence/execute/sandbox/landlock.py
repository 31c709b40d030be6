"""Which paths Landlock opens to a program: it can only open, never close again below."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

from whence.execute.sandbox.hidden import Veiled
from whence.execute.sandbox.kernel import call_kernel
from whence.execute.sandbox.view import is_below

_CREATE_RULESET, _ASK_VERSION = 444, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1, 2, 4, 8
_REFER, _TRUNCATE, _DEVICE_IOCTL = 1 << 13, 1 << 14, 1 << 15
_TCP, _SCOPES = 3, 3
_SINCE = {_REFER: 2, _TRUNCATE: 3, _DEVICE_IOCTL: 5}

READ = _EXECUTE | _READ_FILE | _READ_DIRECTORY
WRITE = (1 << 15) - 1
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_DEVICES = ("null", "zero", "full", "random", "urandom")


@lru_cache(maxsize=1)
def version() -> int:
    """How much of Landlock this kernel has; 0 for none."""
    try:
        return call_kernel(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def handled() -> tuple[tuple[int, int, int], int]:
    """What the rules are about: files, ports, scopes; and how many of these the kernel knows."""
    known = version()
    files = (1 << 16) - 1
    for right, since in _SINCE.items():
        if known < since:
            files &= ~right
    return (files, _TCP, _SCOPES), 1 if known < 4 else 2 if known < 6 else 3


def opened(path: str, rights: int) -> tuple[str, int]:
    """A rule; a file cannot be given the rights of a directory."""
    known = rights & handled()[0][0]
    return path, known if os.path.isdir(path) else known & _OF_FILES


def devices() -> Iterator[tuple[str, int]]:
    """Rules for the devices that any program may use."""
    for name in _DEVICES:
        yield opened(f"/dev/{name}", _READ_FILE | _WRITE_FILE)


def below(directory: str, rights: int, veiled: Veiled) -> Iterator[tuple[str, int]]:
    """Rules for a directory in which something stays closed.

    A right that a directory is given holds for all that is below it. So one that holds something
    closed gets none but to be listed, and its other entries get theirs one by one.
    """
    if directory in veiled.locked:
        yield opened(directory, READ)
        return
    closed = (*veiled.files, *veiled.directories)
    if directory in closed:
        return
    if not any(is_below(path, (directory,)) for path in (*closed, *veiled.locked)):
        yield opened(directory, rights)
        return
    yield opened(directory, _READ_DIRECTORY)
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) or entry.path in veiled.locked:
                yield from below(entry.path, rights, veiled)
            elif not entry.is_symlink() and entry.path not in closed:
                yield opened(entry.path, rights)
