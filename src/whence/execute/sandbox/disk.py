"""A program that fills the disk is ended before it is full."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from whence.shapes.process import Program

_LOOKS_EVERY_S = 0.2


class DiskGuard:
    """Looks at the free space while a program runs; the kernel limits single files only."""

    def __init__(self, program: Program) -> None:
        self.exceeded = False
        self._paths = program.confinement.writable
        self._most = program.confinement.resources.disk_bytes

    async def until(self, exited: asyncio.Event) -> None:
        """Return when the program has exited, or has used up more than it may."""
        at_first = [_free(path) for path in self._paths]
        while not self.exceeded:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOKS_EVERY_S):
                    await exited.wait()
                    return
            before_now = zip(self._paths, at_first, strict=True)
            self.exceeded = any(free - _free(path) > self._most for path, free in before_now)


def _free(path: str) -> int:
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize
