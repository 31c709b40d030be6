"""Finding lines in files of any size, without reading what was read before."""

from __future__ import annotations

import errno
import os
import time
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import BinaryIO, TypeAlias

from whence.work.pause import pause

_CHUNK = 1 << 20
_BLOCK = 1 << 16
_KEPT_FILES = 16
_WORTH_KEEPING = 8 * _CHUNK
_SETTLED_NS = 2_000_000_000
"""A file that was written this lately may be written again without its times changing."""
_Key: TypeAlias = tuple[int, int, int, int, int]


@dataclass(slots=True)
class _Marks:
    """What is known of one file: some places with the number of newlines before them."""

    newlines: list[int] = field(default_factory=lambda: [0])
    places: list[int] = field(default_factory=lambda: [0])
    total: int | None = None

    def add(self, newlines: int, place: int) -> None:
        if place > self.places[-1]:
            self.newlines.append(newlines)
            self.places.append(place)


_known: OrderedDict[_Key, _Marks] = OrderedDict()


class Lines:
    """The lines of an open file, counted from 0; its position is not moved."""

    def __init__(self, file: BinaryIO) -> None:
        self._descriptor = file.fileno()
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        """In bytes."""
        self._sparse = status.st_blocks * 512 < status.st_size
        self._marks = _marks_of(status)

    @property
    def known_total(self) -> int | None:
        """How many lines there are, where that has been counted."""
        return self._marks.total

    async def total(self) -> int:
        """How many lines there are."""
        if self._marks.total is None:
            await self.start(self.size + 1)
        return self._marks.total or 0

    async def start(self, line: int) -> tuple[int, int]:
        """Where a line begins, and how many lines are before it.

        Past the last line that is the end of the file, and how many lines there are in all.
        """
        marks = self._marks
        if line <= 0:
            return 0, 0
        if marks.total is not None and line >= marks.total:
            return self.size, marks.total
        nearest = bisect_left(marks.newlines, line) - 1
        newlines, place, last = marks.newlines[nearest], marks.places[nearest], b""
        while chunk := self.read(place := self._data(place), _CHUNK):
            found = chunk.count(b"\n")
            if newlines + found >= line:
                return place + _after_newlines(chunk, line - newlines), line
            newlines, place, last = newlines + found, place + len(chunk), chunk[-1:]
            marks.add(newlines, place)
            if len(chunk) == _CHUNK:
                await pause()
        if place and (self._sparse or not last):
            last = self.read(place - 1, 1)
        marks.total = newlines + (last not in (b"", b"\n"))
        return place, marks.total

    def tail(self, count: int, most: int) -> int:
        """Where the last lines begin: at most so many, with at most so many bytes."""
        if count <= 0 or not self.size:
            return self.size
        place = self.size - (self.read(self.size - 1, 1) == b"\n")
        while place > 0 and self.size - place <= most:
            begin = max(place - _BLOCK, 0)
            block = self.read(begin, place - begin)
            found = block.count(b"\n")
            if found >= count:
                start = begin + _before_newlines(block, count)
                return start if self.size - start <= most else self._whole(most)
            count, place = count - found, begin
        return self._whole(most)

    def read(self, place: int, count: int) -> bytes:
        """Bytes from a place."""
        return os.pread(self._descriptor, count, place)

    def _whole(self, most: int) -> int:
        """The first beginning of a line that is no more than so many bytes before the end."""
        place = self.size - most
        if place <= 0:
            return 0
        newline = self.read(place - 1, most + 1).find(b"\n")
        return place + newline if 0 <= newline < most else place

    def _data(self, place: int) -> int:
        """The same place, or, in a hole without any lines, the end of the hole."""
        if not self._sparse:
            return place
        try:
            return os.lseek(self._descriptor, place, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                return place
            return self.size


def _marks_of(status: os.stat_result) -> _Marks:
    settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS
    if status.st_size < _WORTH_KEEPING or not settled:
        return _Marks()
    key = (
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
    )  # fmt: skip
    marks = _known.setdefault(key, _Marks())
    _known.move_to_end(key)
    while len(_known) > _KEPT_FILES:
        _known.popitem(last=False)
    return marks


def _after_newlines(chunk: bytes, count: int) -> int:
    at = -1
    for _ in range(count):
        at = chunk.index(b"\n", at + 1)
    return at + 1


def _before_newlines(block: bytes, count: int) -> int:
    at = len(block)
    for _ in range(count):
        at = block.rindex(b"\n", 0, at)
    return at + 1
