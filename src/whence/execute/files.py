"""The confined filesystem: paths are resolved below their root, links never followed twice."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import BinaryIO

from whence.errors import (
    Conflict,
    ExecutionFailed,
    InvalidArgs,
    NotFound,
    PermissionDenied,
    WhenceError,
)
from whence.execute.containment import Root, open_beneath
from whence.execute.ports import Info, Kind, Writer
from whence.shapes.pattern import matches_any
from whence.shapes.place import Place

_ENTIRE_DISK = Root("/")


def os_error(error: OSError, path: str) -> WhenceError:
    """What an operating system error means to a caller."""
    number = error.errno or 0
    text = os.strerror(number)
    if number == errno.ENOENT:
        return NotFound(
            f"no such file or directory: {path!r}", "Check the path; fs.ls lists what is there."
        )
    if number == errno.EISDIR:
        return InvalidArgs(f"{path!r} is a directory", "Name a file in it; fs.ls lists them.")
    if number == errno.ENOTDIR:
        return InvalidArgs(f"{path!r}: a part of the path is not a directory", "Check the path.")
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return PermissionDenied(
            f"{path!r}: {text}", "The system refuses this; choose another path or ask for access."
        )
    if number == errno.ENXIO:
        return InvalidArgs(f"{path!r} is a FIFO or a device", "Choose a regular file.")
    if number in (errno.ELOOP, errno.EXDEV, errno.ENAMETOOLONG):
        return InvalidArgs(f"{path!r}: {text}", "Name the file directly, not through a link.")
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ExecutionFailed(
            f"{path!r}: {text}; nothing was changed", "Free some space, then call again."
        )
    return ExecutionFailed(f"{path!r}: {text}", "The system could not do it; try another way.")


class WorkspaceFiles:
    """Implements `Files` for one call: places that the gate located, and what lies below them."""

    def __init__(
        self, root: Root, places: Mapping[str, Place], closed: tuple[str, ...] = ()
    ) -> None:
        self._root = root
        self._places = places
        self._closed = closed

    def real(self, path: str) -> str:
        """The absolute path, for programs that are started on it."""
        return self._place(path).real

    def shown(self, path: str) -> str:
        """The path relative to the workspace."""
        return self._place(path).path

    def info(self, path: str, *, follow: bool = True) -> Info | None:
        """What is there, or None."""
        try:
            if follow:
                root, relative = self._below(path)
                found = open_beneath(root.descriptor, relative, os.O_PATH)
                try:
                    return _info(os.path.basename(path), os.fstat(found))
                finally:
                    os.close(found)
            with self._parent(path, follow=False) as (directory, name):
                return _info(name, os.stat(name, dir_fd=directory, follow_symlinks=False))
        except (FileNotFoundError, NotFound):
            return None
        except OSError as error:
            raise os_error(error, path) from None

    def entries(self, path: str) -> Iterator[Info]:
        """The entries of a directory, links not followed."""
        root, relative = self._below(path)
        try:
            descriptor = open_beneath(root.descriptor, relative, os.O_RDONLY | os.O_DIRECTORY)
        except NotADirectoryError:
            raise InvalidArgs(f"{path!r} is not a directory", "Read it with fs.read.") from None
        except OSError as error:
            raise os_error(error, path) from None
        try:
            with os.scandir(descriptor) as found:
                for entry in found:
                    with suppress(FileNotFoundError):
                        yield _info(entry.name, entry.stat(follow_symlinks=False))
        finally:
            os.close(descriptor)

    def open(self, path: str) -> BinaryIO:
        """A regular file, for reading."""
        root, relative = self._below(path)
        try:
            # Without O_NONBLOCK a FIFO would hold the whole program up.
            descriptor = open_beneath(
                root.descriptor, relative, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
            )
        except OSError as error:
            raise os_error(error, path) from None
        try:
            _require_regular(path, os.fstat(descriptor))
        except WhenceError:
            os.close(descriptor)
            raise
        return os.fdopen(descriptor, "rb", buffering=1 << 16)

    @contextmanager
    def replacing(self, path: str, *, like: str | None = None) -> Iterator[Writer]:
        """Writes a file whole or not at all; keeps its mode, or takes that of `like`."""
        with self._parent(path) as (directory, name), _translated(path):
            mode = self._mode(path, directory, name, like)
            temporary = f".whence-{os.getpid()}-{secrets.token_hex(4)}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, mode or 0o666, dir_fd=directory)
            try:
                with os.fdopen(descriptor, "wb") as out:
                    yield out
                    out.flush()
                    if mode is not None:
                        os.fchmod(out.fileno(), mode)
                    os.fdatasync(out.fileno())
                os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=directory)
                raise

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file in one write, making it where it is absent."""
        with self._parent(path) as (directory, name), _translated(path):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(name, flags | os.O_CLOEXEC, 0o666, dir_fd=directory)
            try:
                before = os.fstat(descriptor)
                _require_regular(path, before)
                _append_whole(descriptor, data, before.st_size)
            finally:
                os.close(descriptor)

    def make_directories(self, path: str) -> bool:
        """Make a directory and its parents; False if it was there."""
        root, relative = self._below(path)
        made = False
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=root.descriptor)
        try:
            for part in [part for part in relative.split("/") if part not in ("", ".")]:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
                    made = True
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
                os.close(here)
                here = below
        except NotADirectoryError:
            raise Conflict(f"{path!r}: a file is in the way", "Choose another name.") from None
        except OSError as error:
            raise os_error(error, path) from None
        finally:
            os.close(here)
        return made

    def make_link(self, path: str, target: str) -> None:
        """Make a symbolic link that stays inside."""
        below = os.path.join(os.path.dirname(self.real(path)), target)
        if not self._root.locate(below).inside:
            raise PermissionDenied(
                f"{path!r} would link to {target!r}, outside the workspace", "Leave the link out."
            )
        with self._parent(path, follow=False) as (directory, name), _translated(path):
            os.symlink(target, name, dir_fd=directory)

    def read_link(self, path: str) -> str:
        """Where a symbolic link points."""
        with self._parent(path, follow=False) as (directory, name), _translated(path):
            return os.readlink(name, dir_fd=directory)

    def rename(self, old: str, new: str) -> None:
        """Move within the workspace, replacing a file."""
        with (
            self._parent(old, follow=False) as (source, old_name),
            self._parent(new, follow=False) as (target, new_name),
            _translated(new),
        ):
            os.replace(old_name, new_name, src_dir_fd=source, dst_dir_fd=target)

    def remove(self, path: str) -> None:
        """Remove a file or a whole directory."""
        with self._parent(path, follow=False) as (directory, name), _translated(path):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode):
                os.unlink(name, dir_fd=directory)
                return
        for entry in list(self.entries(path)):
            self.remove(f"{path}/{entry.name}")
        with self._parent(path, follow=False) as (directory, name), _translated(path):
            os.rmdir(name, dir_fd=directory)

    def _place(self, path: str) -> Place:
        place = self._places.get(path)
        if place is not None:
            return place
        place = self._root.locate(path)
        if not place.inside and not self._granted(place):
            raise PermissionDenied(
                f"{path!r} leads outside the workspace", "Use a path inside the workspace."
            )
        if matches_any(self._closed, place.path):
            raise PermissionDenied(
                f"{path!r} is closed to this call", "Leave it out, or name it in a call of its own."
            )
        return place

    def _granted(self, place: Place) -> bool:
        """Whether it lies below a directory outside that this call was admitted for."""
        return any(
            not above.inside and place.real.startswith(above.real + "/")
            for above in self._places.values()
        )

    def _below(self, path: str) -> tuple[Root, str]:
        place = self._place(path)
        root = self._root if place.inside else _ENTIRE_DISK
        return root, place.real[len(root.prefix) :]

    @contextmanager
    def _parent(self, path: str, *, follow: bool = True) -> Iterator[tuple[int, str]]:
        """The directory that holds a name; `follow` says whether a link means its target."""
        if follow:
            root, relative = self._below(path)
            above, _, name = relative.rpartition("/")
        else:
            directory_path, _, name = path.rstrip("/").rpartition("/")
            root, above = self._below(directory_path or ".")
        if not name or name in (".", ".."):
            raise InvalidArgs(f"{path!r} is the root of the workspace", "Name something below it.")
        try:
            directory = open_beneath(root.descriptor, above, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise os_error(error, path) from None
        try:
            yield directory, name
        finally:
            os.close(directory)

    def _mode(self, path: str, directory: int, name: str, like: str | None) -> int | None:
        """The mode to keep; None: a new file, which gets what the umask leaves."""
        try:
            present = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            if like is None:
                return None
            root, relative = self._below(like)
            found = open_beneath(root.descriptor, relative, os.O_PATH)
            try:
                return stat.S_IMODE(os.fstat(found).st_mode)
            finally:
                os.close(found)
        _require_regular(path, present)
        return stat.S_IMODE(present.st_mode)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise os_error(error, path) from None


def _append_whole(descriptor: int, data: bytes, size_before: int) -> None:
    """One write; a write cut short by a full disk is taken back."""
    written = os.write(descriptor, data)
    if written < len(data):
        os.ftruncate(descriptor, size_before)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _require_regular(path: str, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        raise InvalidArgs(f"{path!r} is a directory", "Name a file in it; fs.ls lists them.")
    kind = "link" if stat.S_ISLNK(found.st_mode) else "device, socket or FIFO"
    raise InvalidArgs(f"{path!r} is a {kind}, not a regular file", "Choose a regular file.")


def _info(name: str, found: os.stat_result) -> Info:
    mode = found.st_mode
    kind = (
        Kind.DIRECTORY
        if stat.S_ISDIR(mode)
        else Kind.FILE
        if stat.S_ISREG(mode)
        else Kind.LINK
        if stat.S_ISLNK(mode)
        else Kind.OTHER
    )
    return Info(name, kind, 0 if kind is Kind.DIRECTORY else found.st_size, found.st_mtime)
