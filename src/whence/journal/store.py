"""The open files of one session: its lock, its current part and its head. Bytes only."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
from threading import Lock
from types import TracebackType

from whence.errors import Unavailable
from whence.journal.record import part_name
from whence.journal.sessions import HEAD

WRITERS = "writers.lock"


class Store:
    """What a writer holds open; inside a `with` block, alone. It does not know what bytes mean.

    What the disk refuses inside the block leaves it as `Unavailable`.
    """

    def __init__(self, root: str, session: str, *, durable: bool) -> None:
        self._durable = durable
        self.path = os.path.join(root, session)
        self.created = _make_directories(root, self.path)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self.directory = os.open(self.path, flags)
        self._log = self._head = self._writers = -1
        self._retired: list[int] = []
        self._new_names = True
        self._name = ""
        self._mutex = Lock()
        self._swap = Lock()
        try:
            self._writers = self._open(WRITERS, os.O_RDWR)
        except OSError:
            self.close()
            raise

    def __enter__(self) -> None:
        """Keep every other writer out, of this process and of all others.

        Raises:
            Unavailable: It was closed.
        """
        self._mutex.acquire()
        try:
            flock(self.directory, LOCK_EX)
        except (OSError, ValueError):
            self._mutex.release()
            if self.directory >= 0:
                raise
            raise Unavailable(
                f"the journal {self.path} is closed; nothing was recorded",
                "Open the session again.",
            ) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            flock(self.directory, LOCK_UN)
        finally:
            self._mutex.release()
        if error is not None and isinstance(error, OSError):
            raise unavailable(self.path, error) from error

    def claim_alone(self) -> bool:
        """Whether no other writer of this session is alive; ask under the lock."""
        try:
            flock(self._writers, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def join_writers(self) -> None:
        """Be seen as alive until `close`, also by other processes, also through a crash."""
        flock(self._writers, LOCK_SH)

    def attach(self, part: int) -> int:
        """Make a part the current one, creating it where needed; its inode."""
        self._name = part_name(part)
        fresh = self._open(self._name, os.O_RDWR | os.O_APPEND)
        with self._swap:
            old, self._log, self._new_names = self._log, fresh, True
            if old >= 0 and self._durable:
                self._retired.append(old)  # until it is synced
            elif old >= 0:
                os.close(old)
        return os.fstat(fresh).st_ino

    @property
    def log(self) -> int:
        """The descriptor of the current part."""
        return self._log

    def status(self) -> tuple[int, int]:
        """Size and inode of the current part as its name has them now; zeros where it is gone."""
        try:
            status = os.stat(self._name, dir_fd=self.directory)
        except FileNotFoundError:
            return 0, 0
        return status.st_size, status.st_ino

    def append(self, data: bytes, size: int) -> int:
        """Add bytes to the current part, all of them or none; how many."""
        try:
            written = os.write(self._log, data)
        except OSError:
            os.ftruncate(self._log, size)
            raise
        if written != len(data):
            os.ftruncate(self._log, size)
            raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes fitted")
        return written

    def put_head(self, head: bytes) -> None:
        """Remember the end of the log."""
        if self._head < 0:
            self._head = self._open(HEAD, os.O_RDWR)
        os.pwrite(self._head, head, 0)

    def sync(self) -> None:
        """Bring everything that was appended to the disk; may run in another thread."""
        with self._swap:
            log, retired, names = self._log, self._retired, self._new_names
            self._retired, self._new_names = [], False
        try:
            for descriptor in (*retired, log):
                os.fdatasync(descriptor)
            if names:
                self._sync_names()
        finally:
            for descriptor in retired:
                os.close(descriptor)

    def _sync_names(self) -> None:
        os.fsync(self.directory)
        if self.created:
            parent = os.open("..", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.directory)
            try:
                os.fsync(parent)
            finally:
                os.close(parent)

    def close(self) -> None:
        """Give everything back; safe to call twice."""
        held = (*self._retired, self._log, self._head, self._writers, self.directory)
        self._retired = []
        self._log = self._head = self._writers = self.directory = -1
        for descriptor in held:
            if descriptor >= 0:
                os.close(descriptor)

    def _open(self, name: str, flags: int) -> int:
        wanted = flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, wanted, 0o600, dir_fd=self.directory)


def unavailable(path: str, error: OSError, so: str = "nothing was recorded") -> Unavailable:
    """The error that a caller sees when the disk said no, and what follows from it."""
    return Unavailable(
        f"the journal {path} cannot be written ({error.strerror or error}); {so}",
        _ADVICE.get(error.errno or 0, "Make the directory writable, or choose another workspace."),
        details={"path": path, "errno": errno.errorcode.get(error.errno or 0, "")},
    )


_ADVICE = {
    errno.ENOSPC: "Free some disk space, then call again.",
    errno.EDQUOT: "Free some of the disk quota, then call again.",
    errno.EFBIG: "Raise the file size limit (ulimit -f), then call again.",
    errno.EIO: "Check the disk, then open the session again.",
    errno.ELOOP: "Remove the symbolic link that stands in its place.",
}


def _make_directories(root: str, path: str) -> bool:
    """Whether the session's directory is new."""
    os.makedirs(os.path.dirname(os.path.abspath(root)), exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(root, 0o700)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return False
    return True
