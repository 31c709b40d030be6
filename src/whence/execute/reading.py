"""The confined filesystem, for reading: paths resolve below their root, links never twice."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import BinaryIO

from whence.errors import ExecutionFailed, InvalidArgs, NotFound, PermissionDenied, WhenceError
from whence.execute import names
from whence.execute.containment import Root, open_beneath
from whence.execute.edits import Edits
from whence.execute.ports import Info, Kind
from whence.shapes.pattern import matches_any
from whence.shapes.place import Place

_ENTIRE_DISK = Root("/")


def os_error(error: OSError, path: str) -> WhenceError:
    """What an operating system error means to a caller."""
    number = error.errno or 0
    text = os.strerror(number)
    if number == errno.ENOENT:
        return NotFound(
            f"no such file or directory: {path!r}", "Check the path, or list its directory."
        )
    if number == errno.EISDIR:
        return InvalidArgs(f"{path!r} is a directory", "Name a file in it, or list it.")
    if number == errno.ENOTDIR:
        return InvalidArgs(f"{path!r}: a part of the path is not a directory", "Check the path.")
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return PermissionDenied(
            f"{path!r}: {text}", "The system refuses this; choose another path or ask for access."
        )
    if number == errno.ENXIO:
        return InvalidArgs(f"{path!r} is a FIFO or a device", "Choose a regular file.")
    if number in (errno.ELOOP, errno.EXDEV, errno.ENAMETOOLONG):
        through = "Name the file directly, not through a link."
        hint = "Choose a shorter name." if number == errno.ENAMETOOLONG else through
        return InvalidArgs(f"{path!r}: {text}", hint)
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ExecutionFailed(
            f"{path!r}: {text}; nothing was changed", "Free some space, then call again."
        )
    return ExecutionFailed(f"{path!r}: {text}", "The system could not do it; try another way.")


class ConfinedFiles:
    """What one call may see: places that the gate located, and what lies below them."""

    def __init__(
        self,
        root: Root,
        places: Mapping[str, Place],
        closed: tuple[str, ...] = (),
        edits: Edits | None = None,
    ) -> None:
        self._root = root
        self._places = places
        self._closed = closed
        self._edits = Edits() if edits is None else edits

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
            raise InvalidArgs(f"{path!r} is not a directory", "Read it as a file.") from None
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
        found = os.fstat(descriptor)
        try:
            require_regular(path, found)
        except WhenceError:
            os.close(descriptor)
            raise
        label = relative if root is self._root else f"/{relative}"
        self._edits.opened[label] = names.signature(found)
        return os.fdopen(descriptor, "rb", buffering=1 << 16)

    def read_link(self, path: str) -> str:
        """Where a symbolic link points."""
        with self._parent(path, follow=False) as (directory, name), translated(path):
            return os.readlink(name, dir_fd=directory)

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

    def _label(self, path: str, *, follow: bool = True) -> str:
        """What the journal calls a path: relative to the workspace, absolute outside."""
        if not self._edits.directory:
            return ""
        root, above, name = self._split(path, follow=follow)
        return os.path.join("" if root is self._root else "/", above, name)

    @contextmanager
    def _opened(self, directory: str) -> Iterator[int]:
        """A directory of the workspace."""
        flags = os.O_RDONLY | os.O_DIRECTORY
        descriptor = open_beneath(self._root.descriptor, directory, flags)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

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
        root, above, name = self._split(path, follow=follow)
        try:
            directory = open_beneath(root.descriptor, above, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise os_error(error, path) from None
        try:
            yield directory, name
        finally:
            os.close(directory)

    def _split(self, path: str, *, follow: bool) -> tuple[Root, str, str]:
        """Root, directory and name; `follow` says whether a link means its target."""
        if follow:
            root, relative = self._below(path)
            above, _, name = relative.rpartition("/")
        else:
            directory, name = os.path.split(path.rstrip("/"))
            root, above = self._directory_of(path, directory or ".", name)
        if not name or name in (".", ".."):
            raise InvalidArgs(f"{path!r} is the root of the workspace", "Name something below it.")
        return root, above, name

    def _directory_of(self, path: str, directory: str, name: str) -> tuple[Root, str]:
        """Where a name stands; outside, only for a path that the call was admitted for itself."""
        place = self._places.get(path)
        if place is not None and not place.inside:
            above = self._root.locate(directory).real
            if os.path.join(above, name) == place.real:  # otherwise it is a link to that place
                return _ENTIRE_DISK, above[len(_ENTIRE_DISK.prefix) :]
        return self._below(directory)

    def _mode_of(self, path: str) -> int:
        root, relative = self._below(path)
        found = open_beneath(root.descriptor, relative, os.O_PATH)
        try:
            return stat.S_IMODE(os.fstat(found).st_mode)
        finally:
            os.close(found)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn an error of the system into what it means for a path."""
    try:
        yield
    except OSError as error:
        raise os_error(error, path) from None


def require_regular(path: str, found: os.stat_result) -> None:
    """Refuse what cannot be read or replaced as a file."""
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        raise InvalidArgs(f"{path!r} is a directory", "Name a file in it, or list it.")
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
