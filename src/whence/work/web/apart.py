"""Long work beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from whence.errors import TimedOut

_T = TypeVar("_T")


async def apart(
    work: Callable[[], _T],
    *,
    seconds: float,
    what: str,
    hint: str = "Fetch a smaller part of it, or another page.",
) -> _T:
    """The result of a function that runs in a thread of its own while others go on.

    A thread cannot be stopped: when the time is over its result is dropped, and as a daemon it does
    not keep the program from ending.

    Raises:
        TimedOut: It took longer than `seconds`.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[_T] = loop.create_future()

    def run() -> None:
        settle: Callable[[], None]
        try:
            settle = partial(result.set_result, work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            settle = partial(result.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(lambda: None if result.done() else settle())

    threading.Thread(target=run, daemon=True).start()
    try:
        async with asyncio.timeout(seconds) as limit:
            return await result
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimedOut(f"{what} took longer than {seconds:g} s to convert", hint) from None
