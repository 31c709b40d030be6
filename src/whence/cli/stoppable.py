"""Running until the end, or until a person or the system says stop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_STOPS = (signal.SIGTERM, signal.SIGHUP)


def run_stoppable(work: Coroutine[Any, Any, T]) -> T:
    """The result; Ctrl-C, SIGTERM and SIGHUP cancel the work, which may still put its things away.

    A second Ctrl-C does not wait for that. A thread that is still busy afterwards cannot be
    stopped, and does not keep the program from ending.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        SystemExit: another signal, with the code that shells give it.
    """
    runner = asyncio.Runner()
    try:
        return runner.run(_stopped_by_signals(work))
    except (KeyboardInterrupt, SystemExit) as stop:
        if any(thread.is_alive() for thread in _threads()):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130 if isinstance(stop, KeyboardInterrupt) else int(stop.code or 1))
        raise
    finally:
        runner.close()


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


def _threads() -> list[threading.Thread]:
    main = threading.main_thread()
    return [one for one in threading.enumerate() if one is not main and not one.daemon]
