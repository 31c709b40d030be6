"""Files that are opened, read, locked and written whole; what goes wrong is said in words."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whence.errors import InvalidArgs, NotFound, Unavailable


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """Errors of the system as errors that say what to do."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"There is no file or folder for {path}.", "Check the name.") from error
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be used: {error.strerror or error}.",
            "Make the file and its folder writable, with room on the disk; `-o COPY` and"
            " `--ephemeral` leave it alone.",
        ) from error


def lock(path: Path, *, create: bool) -> int:
    """The open file, which nobody else appends to until it is closed or unlocked."""
    while True:
        file = os.open(
            path, os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0) | os.O_CLOEXEC, 0o600
        )
        try:
            _check_regular(path, file)
            fcntl.flock(file, fcntl.LOCK_EX)
            # An editor may have put another file in its place while we waited.
            if is_at(path, file):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def is_at(path: Path, file: int) -> bool:
    """Whether that path still leads to this file."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _check_regular(path: Path, file: int) -> None:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise InvalidArgs(f"{path} is not a regular file.", "Name a file.")


@contextmanager
def reading(path: Path) -> Iterator[int]:
    """The open file, to be read."""
    with telling(path):
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _check_regular(path, file)
            yield file
        finally:
            os.close(file)


def read(file: int, start: int, end: int) -> bytes:
    """The bytes from one offset to another, as far as there are any."""
    pieces = []
    while start < end:
        piece = os.pread(file, end - start, start)
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def write_all(file: int, data: bytes) -> None:
    """Put bytes at the end of a file."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def sync_folder(folder: Path) -> None:
    """Wait until the disk knows which files a folder has."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
