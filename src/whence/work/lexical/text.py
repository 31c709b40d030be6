"""Files as text to be searched: in pieces that fit into memory and end where lines end."""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from whence.work.lexical.hits import AROUND, SNIFFED

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


class Text:
    """The lines of one open file, in UTF-8 where it was UTF-16.

    They are ended by newlines only, unless it does not matter to the reader: it costs a pass.
    """

    __slots__ = ("_any_ends", "_fd", "is_binary", "is_cut")

    def __init__(self, fd: int, *, any_ends: bool) -> None:
        self._fd = fd
        self._any_ends = any_ends
        self.is_binary = False
        """A NUL near the beginning: there are no pieces."""
        self.is_cut = False
        """A NUL later on: what follows it is not in the pieces."""

    def pieces(self) -> Iterable[Piece]:
        """Every line between `start` and `stop` of exactly one piece, with its context.

        Raises:
            OSError: The file cannot be read, or only by holding too much of it at once.
        """
        head = self._read(SNIFFED)
        if b"\0" in head and not head.startswith(_UTF16):
            self.is_binary = True
            return ()
        if len(head) < SNIFFED and not head.startswith(_BOMS):
            data = self._with_newlines(head, is_last=True)
            return (Piece(data, 0, len(data), 1),)
        mark = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
        os.lseek(self._fd, mark, os.SEEK_SET)
        return self._large_pieces(_decoder(head))

    def _large_pieces(self, decode: Callable[[bytes, bool], bytes]) -> Iterator[Piece]:
        data, start, number, is_last = b"", 0, 1, False
        while not is_last:
            block, is_last = self._block(decode)
            data = self._with_newlines(data + block, is_last=is_last)
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
        block = self._read(_BLOCK)
        is_last = len(block) < _BLOCK
        block = decode(block, is_last)
        if (nul := block.find(b"\0")) < 0:
            return block, is_last
        self.is_cut = True
        return block[: block.rfind(b"\n", 0, nul) + 1], True

    def _with_newlines(self, data: bytes, *, is_last: bool) -> bytes:
        """The data with newlines only; one of them for a carriage return that ends the file."""
        if self._any_ends or b"\r" not in data:
            return data
        if is_last and data.endswith(b"\r"):
            data += b"\n"
        return data.replace(b"\r\n", b"\n")

    def _read(self, size: int) -> bytes:
        """So many bytes, or fewer where the file ends; one short read is no proof of that."""
        data = os.read(self._fd, size)
        while 0 < len(data) < size and (more := os.read(self._fd, size - len(data))):
            data += more
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
