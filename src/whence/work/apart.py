"""Long work beside the event loop, but not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from whence.errors import TimedOut
from whence.shapes.threads import in_thread

T = TypeVar("T")


async def apart(
    work: Callable[[], T],
    *,
    seconds: float,
    what: str,
    hint: str = "Fetch a smaller part of it, or another page.",
) -> T:
    """The result of a function that runs in a thread of its own while others go on.

    Raises:
        TimedOut: It took longer than `seconds`; what it goes on with is dropped.
    """
    try:
        async with asyncio.timeout(seconds) as limit:
            return await in_thread(work)
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimedOut(f"{what} took longer than {seconds:g} s to convert", hint) from None
