"""The standard input and output of this process, for the protocol and nobody else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """Descriptors of both; what others read is empty, and what they print goes to stderr."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()  # what was printed must not come out where the protocol was
        os.dup2(source, 0)
        os.dup2(sink, 1)
        for descriptor in (nothing, source, sink):
            os.close(descriptor)
