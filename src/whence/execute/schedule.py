"""Several calls at once: those that touch the same paths in order, all others side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

from whence.shapes.tool import Effect

T = TypeVar("T")
Touched: TypeAlias = Sequence[tuple[Effect, str]]
"""What a call does to which real paths."""


def predecessors(calls: Sequence[Touched]) -> list[tuple[int, ...]]:
    """For each call the earlier ones that it must wait for, because one of the two writes."""
    return [
        tuple(earlier for earlier in range(index) if _clash(calls[earlier], touched))
        for index, touched in enumerate(calls)
    ]


def _clash(first: Touched, second: Touched) -> bool:
    return any(
        Effect.WRITE in (one, other) and _overlap(path, place)
        for one, path in first
        for other, place in second
    )


def _overlap(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")


async def run_all(
    jobs: Sequence[Callable[[], Awaitable[T]]], waits: Sequence[tuple[int, ...]], limit: int
) -> list[T | BaseException]:
    """The results in the order of the jobs; one that fails or is stopped gives its exception.

    When this is cancelled, the jobs are, and the cancellation goes on after all of them have ended;
    `results` of the exception holds what each came to.
    """
    slots = asyncio.Semaphore(limit)
    tasks: list[asyncio.Task[T]] = []

    async def one(job: Callable[[], Awaitable[T]], before: tuple[int, ...]) -> T:
        if before:
            await asyncio.wait([tasks[index] for index in before])
        async with slots:
            return await job()

    for job, before in zip(jobs, waits, strict=True):
        tasks.append(asyncio.create_task(one(job, before)))
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise Stopped([_end(task) for task in tasks]) from None
    return [_end(task) for task in tasks]


class Stopped(asyncio.CancelledError):
    """A cancellation that still knows what the jobs came to."""

    def __init__(self, results: list[object]) -> None:
        super().__init__()
        self.results = results


def _end(task: asyncio.Task[T]) -> T | BaseException:
    if task.cancelled():
        return asyncio.CancelledError()
    return task.exception() or task.result()
