"""A child process: noticed when it exits, ended when it must, reaped when it goes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress

PATIENCE_S = 2.0
"""How long a killed process may take to go. One that waits inside the kernel goes when it can."""


class Child:
    """One child, watched by the running loop.

    Args:
        process: the child; nobody else waits for it.
        ask: asks it and all of its own to end.
        kill: ends it and all of its own.
        grace_s: how long it may take to end when it was asked.
        on_exit: called once, when it is reaped.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        *,
        ask: Callable[[], None],
        kill: Callable[[], None],
        grace_s: float,
        on_exit: Callable[[], None] | None = None,
    ) -> None:
        self.pid = process.pid
        self.exited = asyncio.Event()
        self.returncode: int | None = None
        self._process = process
        self._ask, self._kill, self._grace_s = ask, kill, grace_s
        self._tell = on_exit
        self._loop = asyncio.get_running_loop()
        self._pidfd = self._watch()

    async def stop(self) -> None:
        """End it: asked first, killed after the grace; `exited` is set if it went."""
        try:
            for end in (self._ask, self._kill):
                if self.exited.is_set():
                    return
                end()
                await self._exits_within(self._grace_s)
        except asyncio.CancelledError:
            # A second cancellation must not leave a zombie, and a killed process goes at once.
            self.end_now()
            raise

    def end_now(self) -> bool:
        """Kill it and wait a little; whether it is gone. If not, it is reaped when it goes."""
        if not self.exited.is_set():
            self._kill()
            if not is_gone(self._process):
                return False
            self._on_exit()
        return True

    async def _exits_within(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()

    def _watch(self) -> int | None:
        """Arrange for `_on_exit`; a thread waits where the system has no process descriptors."""
        try:
            pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            threading.Thread(target=self._await_exit, daemon=True).start()
            return None
        self._loop.add_reader(pidfd, self._on_exit)
        return pidfd

    def _await_exit(self) -> None:
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with suppress(RuntimeError):  # the loop is closed: nobody asks any more
            self._loop.call_soon_threadsafe(self._on_exit)

    def _on_exit(self) -> None:
        if self.exited.is_set():
            return
        # Until it is reaped its id cannot be given to another group, so this kills only its own.
        self._kill()
        self.returncode = self._process.wait()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        self.exited.set()
        if self._tell is not None:
            self._tell()


def is_gone(process: subprocess.Popen[bytes]) -> bool:
    """Wait a little for a process that was killed; whether it has gone."""
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        return False
    return True
