"""Files as text to be searched: in pieces that fit into memory and end where lines end."""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from whence.work.lexical.hits import AROUND, SNIFFED

_WHOLE = 512 << 10
"""A file of fewer bytes is read at once."""
_BLOCK = 8 << 20
_LONGEST_LINE = 64 << 20
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BOMS = (*_UTF16, codecs.BOM_UTF8)


class Piece(NamedTuple):
    """Whole lines of a file; those outside of `start` and `stop` are there as context only."""

    data: bytes
    start: int
    stop: int
    number: int
    """Of the first line of `data`."""


def read_head(fd: int) -> bytes:
    """The beginning of an open file; of most files that is all."""
    return _read(fd, _WHOLE)


def is_whole(head: bytes) -> bool:
    """Whether the beginning of a file is all of it, and text that needs no decoding."""
    return len(head) < _WHOLE and b"\0" not in head and not head.startswith(_BOMS)


def with_newlines(data: bytes, *, is_last: bool) -> bytes:
    """The data with newlines only; one of them for a carriage return that ends the file."""
    if b"\r" not in data:
        return data
    if is_last and data.endswith(b"\r"):
        data += b"\n"
    return data.replace(b"\r\n", b"\n")


class Text:
    """The lines of an open file of which the head is not the whole, in UTF-8 where it was UTF-16.

    They are ended by newlines only, unless it does not matter to the reader: it costs a pass.
    """

    __slots__ = ("_any_ends", "_fd", "_head", "is_binary", "is_cut")

    def __init__(self, fd: int, head: bytes, *, any_ends: bool) -> None:
        self._fd = fd
        self._head = head
        self._any_ends = any_ends
        self.is_binary = b"\0" in head[:SNIFFED] and not head.startswith(_UTF16)
        """A NUL near the beginning: there are no pieces."""
        self.is_cut = False
        """A NUL later on: what follows it is not in the pieces."""

    def pieces(self) -> Iterable[Piece]:
        """Every line between `start` and `stop` of exactly one piece, with its context.

        Raises:
            OSError: The file cannot be read, or only by holding too much of it at once.
        """
        if self.is_binary:
            return ()
        mark = len(codecs.BOM_UTF8) if self._head.startswith(codecs.BOM_UTF8) else 0
        os.lseek(self._fd, mark, os.SEEK_SET)
        return self._large_pieces(_decoder(self._head))

    def _large_pieces(self, decode: Callable[[bytes, bool], bytes]) -> Iterator[Piece]:
        data, start, number, is_last = b"", 0, 1, False
        while not is_last:
            block, is_last = self._block(decode)
            data += block
            if not self._any_ends:
                data = with_newlines(data, is_last=is_last)
            stop = len(data) if is_last else _up(data, data.rfind(b"\n") + 1)
            if stop > start:
                yield Piece(data, start, stop, number)
            elif len(data) > _LONGEST_LINE:
                raise OSError(errno.EFBIG, "a line is too long")
            if not is_last:
                kept = _up(data, max(start, stop))
                number += data.count(b"\n", 0, kept)
                data, start = data[kept:], max(start, stop) - kept

    def _block(self, decode: Callable[[bytes, bool], bytes]) -> tuple[bytes, bool]:
        """The next part of the file in UTF-8, and whether it is the last."""
        block = _read(self._fd, _BLOCK)
        is_last = len(block) < _BLOCK
        block = decode(block, is_last)
        if (nul := block.find(b"\0")) < 0:
            return block, is_last
        self.is_cut = True
        return block[: block.rfind(b"\n", 0, nul) + 1], True


def _read(fd: int, size: int) -> bytes:
    """So many bytes, or fewer where the file ends; one short read is no proof of that."""
    data = os.read(fd, size)
    while 0 < len(data) < size and (more := os.read(fd, 1)):
        data += more + os.read(fd, size - len(data) - 1)
    return data


def _decoder(head: bytes) -> Callable[[bytes, bool], bytes]:
    """What makes UTF-8 of the blocks of a file that begins like this."""
    if not head.startswith(_UTF16):
        return lambda block, _: block
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    return lambda block, is_last: decoder.decode(block, is_last).encode()


def _up(data: bytes, position: int) -> int:
    """Where the line begins that is as many lines up from a line's beginning as context has."""
    for _ in range(AROUND):
        position = data.rfind(b"\n", 0, max(position - 1, 0)) + 1
    return position
