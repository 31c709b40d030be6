"""Transcripts on disk: a turn is added to the end of a file.

It goes there in one write under a lock, after its payloads. A write that was cut off leaves an
element without its end; the next one to open the file moves those bytes to `.chatmd/torn-…` and
says so.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from whence.chatmd.ending import Ending, Torn
from whence.chatmd.opened import is_at, lock, sync_folder, telling, write_all
from whence.chatmd.payloads import Folder
from whence.chatmd.render import Rendered
from whence.shapes.dataclass import dataclass
from whence.shapes.document import Span


@dataclass(frozen=True, slots=True)
class Appended:
    """A turn that is in the file."""

    span: Span
    repaired: Torn | None = None
    """What had to be repaired before."""
    others_wrote: bool = False
    """Whether somebody else has changed the file since the same writer's turn before."""


def append(path: Path, turn: Rendered, *, durable: bool = True) -> Appended:
    """Add a turn to the end of a transcript, or start one; if durable, wait for the disk.

    Raises:
        Conflict: The file ends inside an element that a person has not finished.
        Unavailable: The file cannot be written; it is as it was before.
    """
    appender = Appender(path)
    try:
        return appender.append(turn, durable=durable)
    finally:
        appender.close()


def repair(path: Path) -> Torn | None:
    """Move what a broken write left at the end of a transcript out of it; None: it was whole."""
    with telling(path):
        file = lock(path, create=False)
        try:
            return Ending.of(file).repair(path, file)[1]
        finally:
            os.close(file)


class Appender:
    """Adds turn after turn to one transcript; `finish` waits for the disk, `close` lets go.

    The file stays open, and is locked only while a turn is written. An editor may put another one
    in its place at any time: then that one is gone on with.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = -1
        self._end = -1
        """Where this writer's last turn ends."""
        self._payloads = Folder(path.parent)
        self._unsynced: list[str] = []
        self._is_new = False
        """Whether the folder does not know for certain yet that there is such a file."""

    def append(self, turn: Rendered, *, durable: bool = False) -> Appended:
        """Add a turn; it outlives this process.

        An empty `<user>` block at the end, where a person would have typed, gives way to a turn
        that begins with a user's message.

        Raises:
            Conflict: The file ends inside an element that a person has not finished.
            Unavailable: The file cannot be written; it is as it was before.
        """
        with telling(self.path):
            known = self._lock()
            try:
                return self._append(turn, known=known, durable=durable)
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def finish(self) -> None:
        """Wait until the disk has everything that was added."""
        if self._end < 0:
            return
        with telling(self.path):
            self._payloads.sync(self._unsynced)
            self._unsynced.clear()
            os.fdatasync(self._file)
            if self._is_new:
                sync_folder(self.path.parent)

    def close(self) -> None:
        """Give the descriptors back."""
        self._payloads.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _lock(self) -> bool:
        """Lock the file that is there now; whether it is the one that was written to before."""
        if self._file >= 0:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            if is_at(self.path, self._file):
                return self._end >= 0
            os.close(self._file)
            self._file = -1
        self._file = lock(self.path, create=True)
        self._is_new = self._is_new or os.fstat(self._file).st_size == 0
        return False

    def _append(self, turn: Rendered, *, known: bool, durable: bool) -> Appended:
        size, repaired = os.fstat(self._file).st_size, None
        others_wrote = self._end >= 0 and (not known or size != self._end)
        place = size
        if self._end < 0 or others_wrote:
            ending, repaired = Ending.of(self._file).repair(self.path, self._file)
            place = ending.place(self.path, turn)
            size = os.fstat(self._file).st_size
        gap = b"" if place in (0, self._end) or self._ends_line(place) else b"\n"
        self._payloads.store(turn.payloads, durable=durable)
        _write(self._file, size, place, gap + turn.text, durable=durable)
        if durable and self._is_new:
            sync_folder(self.path.parent)
            self._is_new = False
        self._unsynced += [payload.path for payload in turn.payloads if not durable]
        start = place + len(gap)
        self._end = start + len(turn.text)
        return Appended(Span(start, self._end), repaired, others_wrote)

    def _ends_line(self, place: int) -> bool:
        return os.pread(self._file, 1, place - 1) == b"\n"


def _write(file: int, size: int, place: int, data: bytes, *, durable: bool) -> None:
    """Put bytes in the place of what stands there until the end, or leave the file as it was."""
    before = os.pread(file, size - place, place) if place < size else b""
    try:
        if before:
            os.ftruncate(file, place)
        write_all(file, data)
        if durable:
            os.fsync(file)
    except BaseException:
        os.ftruncate(file, place)
        write_all(file, before)
        raise
