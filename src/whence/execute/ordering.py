"""Calls that write the same file run one after another, in this process and across processes.

A path stands for one of a few lock files, so that they do not pile up; two paths that share one
merely wait for each other. Locks are always taken in the same order, which rules out deadlock, and
the system drops them when a process dies.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from zlib import crc32

from whence.execute.containment import Root

LOCKS = os.path.join(".agent", "locks")
"""Where the lock files are, below the workspace."""
_SLOTS = 256
_FIRST_WAIT_S = 0.0005
_LONGEST_WAIT_S = 0.02


@asynccontextmanager
async def alone_with(root: Root, paths: Iterable[str]) -> AsyncIterator[None]:
    """Keep every other writer away from these real paths."""
    held: list[int] = []
    try:
        for slot in sorted({crc32(os.fsencode(path)) % _SLOTS for path in paths}):
            held.append(_opened(root, f"{slot:03}"))
            await _taken(held[-1])
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)


async def _taken(descriptor: int) -> None:
    """Wait for a lock without holding up anybody; a thread could not be cancelled."""
    wait = _FIRST_WAIT_S
    while True:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT_S)
        else:
            return


def _opened(root: Root, name: str) -> int:
    path = os.path.join(root.path, LOCKS, name)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, flags, 0o600)
