"""Long work beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from whence.errors import TimedOut

_T = TypeVar("_T")


async def apart(work: Callable[[], _T], *, seconds: float, what: str) -> _T:
    """The result of a function that runs in a thread of its own while others go on.

    A thread cannot be stopped: when the time is over its result is dropped, and as a daemon it does
    not keep the program from ending.

    Raises:
        TimedOut: It took longer than `seconds`.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[_T] = loop.create_future()

    def settle(value: _T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as caught:  # noqa: BLE001 - raised again where it is awaited
            error = caught
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            return await result
    except TimeoutError:
        if not result.cancelled():
            raise
        raise TimedOut(
            f"{what} took longer than {seconds:g} s to convert",
            "Fetch a smaller part of it, or another page.",
        ) from None
