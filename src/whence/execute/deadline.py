"""Waiting no longer than a deadline, at no cost where there is nothing to wait for.

A timeout can only act where code suspends. So a coroutine is run up to its first suspension, and
only if it has one is the clock started; most file tools have none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from functools import partial
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Overdue(Exception):
    """The deadline passed first; a TimeoutError would be the handler's own."""


async def within(seconds: float, running: Awaitable[T]) -> T:
    """The result of an awaitable, if it comes in time.

    Raises:
        Overdue: it did not, and was cancelled.
    """
    steps = running.__await__()
    try:
        waiting_for = next(steps)
    except StopIteration as done:
        result: T = done.value
        return result
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await _resumed(steps, waiting_for)
    except TimeoutError:
        if limit.expired():
            raise Overdue from None
        raise


@coroutine
def _resumed(steps: Generator[Any, Any, T], waiting_for: Any) -> Generator[Any, Any, T]:
    """The rest of a coroutine that already waits for something: `yield from`, from the middle."""
    while True:
        try:
            sent = yield waiting_for
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as error:  # noqa: BLE001 - cancellation too must reach the coroutine
            resume = partial(steps.throw, error)
        else:
            resume = partial(steps.send, sent)
        try:
            waiting_for = resume()
        except StopIteration as done:
            result: T = done.value
            return result
