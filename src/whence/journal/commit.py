"""Group commit: everybody who waits at the same moment shares one sync.

A disk that answers within a few milliseconds is asked from the event loop itself, since handing
over to a thread would take as long; a slower one, or one that was never asked, from a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from math import inf
from time import monotonic
from types import coroutine

_QUICK_S = 0.005
_took_s: dict[int, float] = {}
"""How long each disk took for its last sync, by its device number."""


class GroupSync:
    """Runs a blocking sync once for all who came before it started."""

    def __init__(
        self,
        sync: Callable[[], None],
        disk: int | None = None,
        own_callbacks: Callable[[], int] = lambda: 0,
    ) -> None:
        """Take what brings everything to the disk.

        Args:
            sync: Blocks until the disk has it.
            disk: The number of its device: what is known of its speed is shared.
            own_callbacks: How many callbacks the caller itself has pending in the event loop.
        """
        self.syncs = 0
        """How often the disk was asked."""
        self._sync = sync
        self._own_callbacks = own_callbacks
        self._written = 0
        self._synced = 0
        self._running: asyncio.Future[None] | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._failure: BaseException | None = None
        self._disk = disk
        self._took_s = inf if disk is None else _took_s.get(disk, inf)
        """How long the last sync took."""

    def written(self) -> None:
        """Something new is there to be synced."""
        self._written += 1

    async def wait(self) -> None:
        """Return when all that was written so far is on disk.

        Raises:
            OSError: The disk refused once; it is not trusted again, since what it had not written
                by then may be lost without a further error.
        """
        wanted = self._written
        others_wrote = False
        while self._synced < wanted:
            if self._failure is not None:
                raise self._failure
            if self._just_ended():
                await _one_round()  # waiting for it would not let anybody take note of its end
            elif self._running is not None or self._took_s >= _QUICK_S:
                await self._in_thread()
            elif not others_wrote and self._others_wait():
                await _one_round()  # whoever is about to append does so first
                others_wrote = True
            else:
                self._call()

    def _others_wait(self) -> bool:
        """Whether anybody else could run now; yes, where the event loop does not tell."""
        ready = getattr(asyncio.get_running_loop(), "_ready", None)
        return ready is None or len(ready) > self._own_callbacks()

    def finish(self) -> None:
        """Sync now, here, if anything is left to sync; afterwards there is no thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None
        self._call()

    def _just_ended(self) -> bool:
        running = self._running
        return (
            running is not None
            and running.done()
            and running.get_loop() is asyncio.get_running_loop()
        )

    def _in_thread(self) -> Awaitable[None]:
        loop = asyncio.get_running_loop()
        if self._running is None or self._running.get_loop() is not loop:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "whence-journal")
            self._running = loop.run_in_executor(self._thread, self._call)
            self._running.add_done_callback(self._done)
        return asyncio.shield(self._running)

    def _call(self) -> None:
        self.syncs += 1
        covered, started = self._written, monotonic()
        try:
            self._sync()
        except OSError as error:
            self._failure = error
            raise
        self._synced = max(self._synced, covered)
        self._took_s = monotonic() - started
        if self._disk is not None:
            _took_s[self._disk] = self._took_s

    def _done(self, ended: asyncio.Future[None]) -> None:
        if self._running is ended:
            self._running = None


@coroutine
def _one_round() -> Generator[None, None, None]:
    """One round of the event loop, without a future to wait for."""
    yield
