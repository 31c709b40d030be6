"""A new file that gets its name when it is whole, so that a crash leaves nothing half written.

Where the filesystem cannot do that, it has a name of its own until then, which a crash leaves.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from typing import Self

from whence.execute import names

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_NAMELESS = os.O_WRONLY | os.O_CLOEXEC | getattr(os, "O_TMPFILE", 0)
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
"""What filesystems and kernels say to whom a file needs a name."""
_BY_DESCRIPTOR = "/proc/self/fd"
"""Where a file without a name can be found, to be given one."""


class Draft:
    """A file in a directory, to be written through its descriptor.

    Args:
        directory: where it will be; the descriptor stays the caller's.
        mode: its permissions; None: what the umask leaves.
    """

    def __init__(self, directory: int, mode: int | None) -> None:
        self._directory = directory
        self._name = ""
        """Its name for now; empty while it has none."""
        self.descriptor = self._opened(0o666 if mode is None else mode & 0o777)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)
        if self._name:
            names.unlink_if_there(self._directory, self._name)

    def take(self, name: str) -> None:
        """Get a name that must be free.

        Raises:
            FileExistsError: The name is taken.
        """
        if self._name or not self._linked(name):
            names.move_to_free_name(self._directory, self._named(), name)

    def replace(self, name: str) -> None:
        """Get a name, in one step, from whatever has it."""
        here = self._directory
        os.replace(self._named(), name, src_dir_fd=here, dst_dir_fd=here)

    def _opened(self, permissions: int) -> int:
        if hasattr(os, "O_TMPFILE") and os.path.isdir(_BY_DESCRIPTOR):
            try:
                return os.open(".", _NAMELESS, permissions, dir_fd=self._directory)
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    raise
        self._name = _temporary()
        return os.open(self._name, _NEW_FILE, permissions, dir_fd=self._directory)

    def _named(self) -> str:
        """Its name for now; it gets one if it has none."""
        if not self._name:
            self._name = _temporary()
            if not self._linked(self._name):
                self._copy_to(self._name)
        return self._name

    def _linked(self, name: str) -> bool:
        """Whether it got a name; False: there are no hard links here."""
        try:
            os.link(self._path, name, dst_dir_fd=self._directory, follow_symlinks=True)
        except OSError as error:
            if error.errno not in names.NO_LINKS:
                raise
            return False
        return True

    def _copy_to(self, name: str) -> None:
        own = os.fstat(self.descriptor)
        with open(self._path, "rb") as whole:
            content = whole.read()
        names.write_beside(self._directory, name, content, stat.S_IMODE(own.st_mode), own)

    @property
    def _path(self) -> str:
        return f"{_BY_DESCRIPTOR}/{self.descriptor}"


def _temporary() -> str:
    return f".whence-{os.getpid()}-{secrets.token_hex(4)}.tmp"
