"""The open files of one session: its lock, its current part and its head. Bytes only.

Inside an event loop the lock is kept until the loop gets control back, so that calls that follow
one another without waiting take it once, and move the head once. Nobody waits longer than that.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
from threading import Lock
from types import TracebackType
from weakref import WeakSet

from whence.errors import Unavailable
from whence.journal.lock import lasting, take_lock
from whence.journal.record import part_name
from whence.journal.sessions import HEAD

WRITERS = "writers.lock"
_open: WeakSet[Store] = WeakSet()


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
        self.mutex = Lock()
        """Keeps the other threads of this process out."""
        self.locked = False
        """Whether other processes are kept out: nobody else has written since."""
        self.lasting = False
        """Whether that lasts beyond the present append."""
        self.leaving: Callable[[], None] | None = None
        """What is done before others may write."""
        self._shut = False
        self._swap = Lock()
        _open.add(self)
        try:
            self._writers = self._open(WRITERS, os.O_RDWR)
        except OSError:
            self.close()
            raise

    def __enter__(self) -> None:
        """Keep every other writer out, of this process and of all others.

        Raises:
            Unavailable: It was closed, or another writer does not let go.
        """
        self.mutex.acquire()
        try:
            if not self.locked:
                self.lock()
        except BaseException:
            self.mutex.release()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if not self.lasting:
                self.unlock()
        finally:
            self.mutex.release()
        if isinstance(error, OSError):
            raise unavailable(self.path, error) from error

    def lock(self) -> None:
        """Keep other processes out, at least until `unlock`; call it with the mutex.

        Raises:
            Unavailable: It was closed, or another writer does not let go.
        """
        if self.directory < 0 or self._shut:
            raise Unavailable(
                f"the journal {self.path} is closed; nothing was recorded",
                "Open the session again; a forked process opens it for itself.",
            )
        take_lock(self.directory, LOCK_EX, self.path, "nothing was recorded")
        self.locked = True
        loop = asyncio._get_running_loop()
        if loop is not None:
            self.lasting = True
            lasting.add(self)
            loop.call_soon(_Leaving(self))

    def unlock(self) -> None:
        """Let other processes write; call it with the mutex."""
        if not self.locked:
            return
        try:
            if self.leaving is not None:
                self.leaving()
        finally:
            self.locked = self.lasting = False
            self.leaving = None
            lasting.discard(self)
            flock(self.directory, LOCK_UN)

    def let_go(self, *, patient: bool = True) -> None:
        """Let other processes write, unless a thread that is not waited for is writing."""
        if self.mutex.acquire(blocking=patient):
            try:
                self.unlock()
            finally:
                self.mutex.release()

    def shut(self) -> None:
        """Take no more appends; call it with the mutex."""
        self._shut = True
        self.unlock()

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
        with self.mutex:
            self.unlock()
            self._give_back()

    def abandon(self) -> None:
        """In a forked process: leave files and locks to the one that opened them."""
        self.mutex, self._swap = Lock(), Lock()
        self.locked = self.lasting = False
        self.leaving = None
        self._give_back()

    def _give_back(self) -> None:
        held = (*self._retired, self._log, self._head, self._writers, self.directory)
        self._retired = []
        self._log = self._head = self._writers = self.directory = -1
        for descriptor in held:
            if descriptor >= 0:
                os.close(descriptor)

    def _open(self, name: str, flags: int) -> int:
        wanted = flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, wanted, 0o600, dir_fd=self.directory)


class _Leaving:
    """Lets go when an event loop comes to it, or drops it: a closed loop runs nothing more."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self) -> None:
        self._store.let_go()

    def __del__(self) -> None:
        if self._store.lasting:
            self._store.let_go(patient=False)


def _forked() -> None:
    lasting.clear()
    for store in tuple(_open):
        store.abandon()


os.register_at_fork(after_in_child=_forked)


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
