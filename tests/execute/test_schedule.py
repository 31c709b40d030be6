"""Several jobs at once: in order where they must be, and none left behind."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.execute.schedule import Job, predecessors, run_all
from whence.shapes.tool import Effect

pytestmark = pytest.mark.anyio
READ, WRITE = Effect.READ, Effect.WRITE


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ((WRITE, "/a"), (WRITE, "/a"), True),
        ((READ, "/a"), (WRITE, "/a"), True),
        ((READ, "/a"), (READ, "/a"), False),
        ((WRITE, "/a"), (READ, "/a/b"), True),
        ((WRITE, "/a/b"), (READ, "/a"), True),
        ((WRITE, "/a"), (WRITE, "/ab"), False),
    ],
)
def test_calls_wait_where_one_of_them_writes_what_the_other_touches(
    first: tuple[Effect, str], second: tuple[Effect, str], waits: bool
) -> None:
    assert predecessors([[first], [second]]) == [(), (0,) if waits else ()]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=12), st.integers(1, 4))
def test_writers_of_one_path_keep_their_order_and_no_more_run_than_may(
    paths: list[str], limit: int
) -> None:
    ended: list[int] = []
    running = most = 0

    def job(index: int) -> Job:
        async def work() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            for _ in range(len(paths) - index):
                await asyncio.sleep(0)
            running -= 1
            ended.append(index)

        return work

    touched = [[(WRITE, f"/{path}")] if path else [] for path in paths]
    asyncio.run(run_all([job(at) for at in range(len(paths))], predecessors(touched), limit))
    assert sorted(ended) == list(range(len(paths)))
    assert most <= limit
    for path in ("a", "b"):
        order = [at for at in ended if paths[at] == path]
        assert order == sorted(order)


async def test_one_that_fails_lets_the_others_finish_first() -> None:
    done: list[str] = []

    async def fail() -> None:
        raise ValueError("mine")

    async def slow() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        done.append("slow")

    with pytest.raises(ValueError, match="mine"):
        await run_all([fail, slow], [(), ()], 2)
    assert done == ["slow"]


async def test_cancelled_once_it_waits_for_its_jobs_and_twice_it_does_not() -> None:
    asked = asyncio.Event()
    release = asyncio.Event()
    ended: list[str] = []

    async def careful() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            asked.set()
            await release.wait()
            ended.append("careful")

    async def quick() -> None:
        await asyncio.Event().wait()

    for twice in (False, True):
        asked.clear()
        release.clear()
        ended.clear()
        task = asyncio.create_task(run_all([careful, quick], [(), ()], 2))
        await asyncio.sleep(0)
        task.cancel()
        await asked.wait()
        assert not task.done()
        if twice:
            task.cancel()
        else:
            release.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ([] if twice else ["careful"])
        release.set()
        for _ in range(5):
            await asyncio.sleep(0)
