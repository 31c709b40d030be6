"""Files below `.agent` that the program itself keeps: written whole, by one process at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from whence.errors import Unavailable

DIRECTORY = ".agent"


def rewrite(workspace: str, name: str, change: Callable[[str], str]) -> None:
    """Replace a file by what a function makes of its text; an absent one has none.

    Raises:
        Unavailable: it cannot be read or written.
        WhenceError: whatever `change` raises; the file stays as it is.
    """
    try:
        with _locked(workspace) as directory:
            before = _read(name, directory)
            after = change(before)
            if after != before:
                _write(name, after, directory)
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(
            f"{DIRECTORY}/{name} cannot be written: {error}", "Check the file and its directory."
        ) from error


@contextmanager
def _locked(workspace: str) -> Iterator[int]:
    path = os.path.join(workspace, DIRECTORY)
    os.makedirs(path, exist_ok=True)
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield directory
    finally:
        os.close(directory)


def _read(name: str, directory: int) -> str:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except FileNotFoundError:
        return ""
    with os.fdopen(descriptor, encoding="utf-8", newline="") as file:
        return file.read()


def _write(name: str, text: str, directory: int) -> None:
    temporary = f"{name}.{os.getpid()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, 0o644, dir_fd=directory), "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        _remove(temporary, directory)
        raise


def _remove(name: str, directory: int) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return
