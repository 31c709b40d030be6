"""Deadlines: they act, they cost nothing where they cannot, and cancellation passes through."""

from __future__ import annotations

import asyncio

import pytest

from whence.execute.deadline import Overdue, within

pytestmark = pytest.mark.anyio


async def quick() -> str:
    return "done"


async def patient(log: list[str]) -> str:
    log.append("started")
    try:
        await asyncio.sleep(0)
        await asyncio.Event().wait()
    finally:
        log.append("cleaned up")
    return "never"


async def test_what_never_waits_is_returned_without_a_clock() -> None:
    assert await within(0, quick()) == "done"


async def test_what_waits_in_time_is_returned() -> None:
    async def several() -> int:
        total = 0
        for number in range(5):
            await asyncio.sleep(0)
            total += number
        return total

    assert await within(60, several()) == 10


async def test_what_takes_too_long_is_stopped_and_cleans_up() -> None:
    log: list[str] = []
    with pytest.raises(Overdue):
        await within(0.01, patient(log))

    assert log == ["started", "cleaned up"]


async def test_cancellation_from_outside_is_no_timeout() -> None:
    log: list[str] = []
    task = asyncio.create_task(within(60, patient(log)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["started", "cleaned up"]


async def test_errors_before_and_after_waiting_pass_through() -> None:
    async def early() -> None:
        raise KeyError("early")

    async def late() -> None:
        await asyncio.sleep(0)
        raise TimeoutError("the tool's own")

    with pytest.raises(KeyError):
        await within(60, early())
    with pytest.raises(TimeoutError, match="own"):
        await within(60, late())


async def test_a_result_that_arrives_through_a_future_is_passed_on() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> int:
        return await future + 1

    task = asyncio.create_task(within(60, wait()))
    await asyncio.sleep(0)
    future.set_result(41)

    assert await task == 42


async def test_things_that_are_no_coroutines_can_be_awaited_too() -> None:
    assert await within(60, asyncio.ensure_future(quick())) == "done"
