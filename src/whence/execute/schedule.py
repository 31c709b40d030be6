"""Several calls at once: those that touch the same paths in order, all others side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from whence.shapes.tool import Effect

Job: TypeAlias = Callable[[], Awaitable[None]]
Touched: TypeAlias = Sequence[tuple[Effect, str]]
"""What a call does to which real paths."""


def predecessors(calls: Sequence[Touched]) -> list[tuple[int, ...]]:
    """For each call the earlier ones that it must wait for, because one of the two writes."""
    if not any(effect is Effect.WRITE for touched in calls for effect, _ in touched):
        return [()] * len(calls)
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


async def run_all(jobs: Sequence[Job], waits: Sequence[tuple[int, ...]], limit: int) -> None:
    """Return when all jobs have ended; one that fails lets the others finish first.

    When this is cancelled, the jobs are, and it waits until they have ended; cancelled once more,
    it does not wait any longer.
    """
    if len(jobs) <= 1:
        for job in jobs:
            await job()
        return
    slots = asyncio.Semaphore(limit)
    tasks: list[asyncio.Task[None]] = []

    async def one(job: Job, before: tuple[int, ...]) -> None:
        if before:
            await asyncio.wait([tasks[index] for index in before])
        async with slots:
            await job()

    for job, before in zip(jobs, waits, strict=True):
        tasks.append(asyncio.create_task(one(job, before)))
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    failures = [task.exception() for task in tasks if not task.cancelled()]
    for failure in filter(None, failures):
        raise failure
