"""Names in a directory and the bytes behind them: staged, doubled, exchanged, removed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import suppress

from whence.execute.containment import open_beneath

_CHUNK = 1 << 20
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
NO_LINKS = (errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV)
"""What filesystems without hard links say, and those that are apart."""


def write_beside(
    directory: int, name: str, content: bytes, mode: int | None, old: os.stat_result | None
) -> None:
    """A new file with this content and mode, durable; no mode means what the umask leaves.

    It gets the owner of the old file that it will replace.
    """
    descriptor = os.open(name, _NEW_FILE, 0o666 if mode is None else mode & 0o777, dir_fd=directory)
    try:
        fill(descriptor, content, mode, old)
    finally:
        os.close(descriptor)


def fill(descriptor: int, content: bytes, mode: int | None, old: os.stat_result | None) -> None:
    """Give a new file its content, mode and owner, and make it durable."""
    write_whole(descriptor, content)
    dress(descriptor, mode, old)
    os.fdatasync(descriptor)


def dress(descriptor: int, mode: int | None, old: os.stat_result | None) -> None:
    """Give a new file a mode, and the owner of the old one as far as the system lets us."""
    if old is not None:
        new = os.fstat(descriptor)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            with suppress(PermissionError):
                os.fchown(descriptor, old.st_uid, old.st_gid)
    if mode is not None:
        os.fchmod(descriptor, mode)


def write_whole(descriptor: int, data: bytes) -> None:
    """All bytes, in as many writes as the system wants."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def keep(directory: int, name: str, new: str) -> None:
    """Let the content of a file be found under another path, whatever becomes of the file.

    One that has several names may be written through another of them, so that it is copied.
    """
    found = status(directory, name)
    if found is not None and found.st_nlink > 1:
        _copy(directory, name, None, new)
    else:
        second_name(directory, name, None, new)


def second_name(directory: int, name: str, other: int | None, new: str) -> None:
    """Let a file be found under a second name; a copy where there can be no hard link."""
    try:
        os.link(name, new, src_dir_fd=directory, dst_dir_fd=other, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _copy(directory, name, other, new)


def _copy(directory: int, name: str, other: int | None, new: str) -> None:
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory), "rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        with os.fdopen(os.open(new, _NEW_FILE, mode & 0o777, dir_fd=other), "wb") as out:
            while chunk := file.read(_CHUNK):
                out.write(chunk)
            out.flush()
            os.fchmod(out.fileno(), mode)
            os.fdatasync(out.fileno())


def move_to_free_name(directory: int, old: str, new: str) -> None:
    """Rename without ever replacing a file.

    Raises:
        FileExistsError: The name is taken.
    """
    try:
        os.link(old, new, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if inode(directory, new) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from None
        os.rename(old, new, src_dir_fd=directory, dst_dir_fd=directory)
    else:
        os.unlink(old, dir_fd=directory)


def unlink_if_there(directory: int | None, name: str) -> None:
    """Remove a file that may be gone already."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)


def remove_if_empty(directory: int, name: str) -> None:
    """Remove a directory that may be gone already, or in use."""
    try:
        os.rmdir(name, dir_fd=directory)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
            raise


def may_write(directory: int, name: str) -> bool:
    """Whether the system would let us write into a file, which replacing it does not ask."""
    return os.access(name, os.W_OK, dir_fd=directory, effective_ids=True)


def status(directory: int, name: str) -> os.stat_result | None:
    """What is there, links not followed; None: nothing."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def inode(directory: int, name: str) -> int | None:
    """Which file a name means; None: none."""
    found = status(directory, name)
    return None if found is None else found.st_ino


def signature(found: os.stat_result) -> tuple[int, int, int]:
    """What differs as soon as a file was replaced or written."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def is_same(directory: int, name: str, found: os.stat_result | None) -> bool:
    """Whether a name still means what was found, with the same content."""
    now = status(directory, name)
    if now is None or found is None:
        return now is found
    return signature(now) == signature(found)


def digest_of(directory: int, name: str) -> str:
    """The sha256 of a file; of a link, that of the path it holds."""
    try:
        descriptor = open_beneath(directory, name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return hashlib.sha256(os.fsencode(os.readlink(name, dir_fd=directory))).hexdigest()
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
