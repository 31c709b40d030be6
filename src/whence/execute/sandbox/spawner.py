"""The one thread that starts sandboxes: it has a mount namespace, and they end when it ends.

The kernel ends a sandbox when the thread that started it is gone, not only when the process is, so
that this thread lives for as long as the process does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "whence-sandbox")


def submit(work: Callable[[], T]) -> Future[T]:
    """Do something in that thread, some time."""
    return _thread().submit(work)


async def started(work: Callable[[], T], undo: Callable[[T], None]) -> T:
    """What the thread made; undone if nobody waits for it any more."""
    made = submit(work)
    try:
        return await asyncio.wrap_future(_uncancelled(made))
    except asyncio.CancelledError:
        # In that thread, after the work: what it made, only it can take away.
        submit(lambda: undo(made.result()) if not made.exception() else None)
        raise


def _uncancelled(made: Future[T]) -> Future[T]:
    """The same result, in a future that may be cancelled without the work being forgotten."""
    seen: Future[T] = Future()

    def pass_on(done: Future[T]) -> None:
        if not seen.set_running_or_notify_cancel():
            return
        error = done.exception()
        seen.set_exception(error) if error else seen.set_result(done.result())

    made.add_done_callback(pass_on)
    return seen
