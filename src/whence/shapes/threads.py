"""Functions that block, beside the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """The result of a function that runs in a thread of its own while others go on.

    A thread cannot be stopped: when nobody waits any more its result is dropped, and as a daemon
    it does not keep the program from ending.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    result: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        settle: Callable[[], None]
        try:
            settle = partial(result.set_result, context.run(work))
        except StopIteration as error:  # which no future takes
            settle = partial(result.set_exception, RuntimeError(f"StopIteration: {error}"))
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            settle = partial(result.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(lambda: None if result.done() else settle())

    threading.Thread(target=run, daemon=True, name="whence-tool").start()
    return await result
