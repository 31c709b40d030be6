"""What every driver of row 7 and 8 shares: amounts come in, costs go out.

A positive amount is a number of turns with one call each: CPU seconds per request. A negative one
is a number of calls of 100 ms in one turn: seconds on the wall.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable

URL = f"http://127.0.0.1:{os.environ.get('BENCH_PORT', '0')}/v1"
RESULT = "x" * 200


def drive(run: Callable[[str, bool], Awaitable[str]]) -> None:
    """Measure a function that takes the model's name and whether its tool is slow."""
    loop = asyncio.new_event_loop()
    for line in sys.stdin:
        amount = int(line)
        name = f"t{amount}" if amount > 0 else f"p{-amount}"
        wall, cpu = time.perf_counter(), time.process_time()
        said = loop.run_until_complete(run(name, amount < 0))
        if "word9" not in said:
            raise SystemExit(f"not the answer: {said!r}")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(cpu / (amount + 1) if amount > 0 else wall, flush=True)


async def work(slow: bool) -> str:
    """What the tool of every driver does."""
    if slow:
        await asyncio.sleep(0.1)
    return RESULT
