"""Telling a host what happens, without letting the host's own failure break a run in two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from whence.loop.news import News

T = TypeVar("T")


async def observed(
    run: Callable[[Callable[[News], None]], Coroutine[Any, Any, T]],
    on: Callable[[News], None] | None,
) -> T:
    """The result of a run whose news a host is told.

    A host that raises is told nothing more, and the run is cancelled: calls that are being made
    get their outcomes, the transcript stays whole. Then the host's exception is raised.
    """
    if on is None:
        return await run(_ignore)
    failures: list[BaseException] = []

    def tell(news: News) -> None:
        if failures:
            return
        try:
            on(news)
        except BaseException as error:  # noqa: BLE001 - raised again when the run has ended
            failures.append(error)
            task.cancel()

    task = asyncio.create_task(run(tell))
    try:
        result = await task
    except asyncio.CancelledError:
        if not failures:
            raise
    if failures:
        raise failures[0]
    return result


def _ignore(news: News) -> None:
    """Nobody listens."""
