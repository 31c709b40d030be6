"""The head: a small file beside the log that remembers how far the log went.

The log alone decides what happened; the head only tells whether its end is still there.
"""

from __future__ import annotations

import os
import re

from whence.journal.record import NO_HASH
from whence.journal.sessions import HEAD
from whence.shapes.dataclass import dataclass

_WIDTH = 160
_HEAD = b"whence-head/1 seq=%d call=%d part=%d size=%d hash=%b"
_WHOLE = b"%%-%db\n" % (_WIDTH - 1)
_FORM = re.compile(
    rb"whence-head/1 seq=(\d{1,15}) call=(\d{1,15}) part=(\d{1,9}) size=(\d{1,15}) "
    rb"hash=([0-9a-f]{64}) *\n"
).fullmatch


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the log when it was last written."""

    seq: int = 0
    last_call: int = 0
    part: int = 1
    size: int = 0
    hash: str = NO_HASH

    @classmethod
    def read(cls, directory: int) -> Head | None:
        """The head of a session, given a descriptor of its directory; None if it cannot be read."""
        try:
            descriptor = os.open(HEAD, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
        except OSError:
            return None
        try:
            data = os.read(descriptor, 1024)
        finally:
            os.close(descriptor)
        match = _FORM(data)
        if match is None or len(data) != _WIDTH:
            return None
        seq, call, part, size = (int(match[group]) for group in range(1, 5))
        return cls(seq, call, part, size, match[5].decode())


def pack_head(seq: int, last_call: int, part: int, size: int, digest: str) -> bytes:
    """A head's bytes: of one width whatever the numbers, so that one write replaces it whole."""
    return _WHOLE % (_HEAD % (seq, last_call, part, size, digest.encode()))
