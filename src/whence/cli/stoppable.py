"""Running until the end, or until a person or the system says stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_STOPS = (signal.SIGTERM, signal.SIGHUP)


def run_stoppable(work: Coroutine[Any, Any, T]) -> T:
    """The result; Ctrl-C, SIGTERM and SIGHUP cancel the work, which may still put its things away.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        SystemExit: another signal, with the code that shells give it.
    """
    return asyncio.run(_stopped_by_signals(work))


async def _stopped_by_signals(work: Coroutine[Any, Any, T]) -> T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        if task is not None:
            task.cancel()

    for number in _STOPS:
        loop.add_signal_handler(number, stop, number)
    try:
        return await work
    except asyncio.CancelledError:
        if caught:
            raise SystemExit(128 + caught[0]) from None
        raise
