"""On disk, together."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from tests.journal.samples import call, note, open_journal, pairs, result
from whence.errors import Unavailable
from whence.journal.commit import GroupSync
from whence.journal.verify import verify
from whence.journal.write import Journal

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("journal:group-commit")
async def test_calls_in_flight_together_share_their_syncs(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, durable=True)

    async def one() -> None:
        call_id = journal.append_call(call())
        await journal.commit()
        journal.append(result(call_id))

    await asyncio.gather(*(one() for _ in range(50)))

    assert 1 <= journal.syncs <= 3
    journal.close("done")
    assert verify(journal.directory).ok


@pytest.mark.requirement("journal:group-commit")
async def test_whoever_comes_while_a_sync_runs_waits_for_the_next_one() -> None:
    order: list[str] = []
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow_sync() -> None:
        number = group.syncs
        order.append(f"start {number}")
        if number == 1:
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
        order.append(f"end {number}")

    group = GroupSync(slow_sync)

    async def committer(name: str) -> None:
        group.written()
        await group.wait()
        order.append(name)

    first = asyncio.create_task(committer("first"))
    while not order:
        await asyncio.sleep(0)
    late = [asyncio.create_task(committer(f"late {number}")) for number in range(5)]
    for _ in range(3):
        await asyncio.sleep(0)
    release.set()
    await asyncio.gather(first, *late)
    group.finish()

    assert order.index("end 1") < order.index("first") < order.index("late 0")
    assert order.index("start 2") < order.index("end 2") < order.index("late 0")
    assert order.count("start 2") == 1
    assert "late 4" in order
    assert group.syncs == 3


async def test_nothing_new_needs_no_sync(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, durable=True)
    await journal.commit()
    await journal.commit()

    assert journal.syncs == 1
    journal.close()


async def test_a_cancelled_waiter_does_not_disturb_the_others(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, durable=True)
    journal.append(note("x"))
    waiting = [asyncio.create_task(journal.commit()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()

    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [
        asyncio.CancelledError,
        type(None),
        type(None),
    ]
    journal.close()


async def test_a_journal_that_need_not_be_durable_never_asks_the_disk(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, durable=False)
    pairs(journal, 3)
    await journal.commit()
    journal.close("done")

    assert journal.syncs == 0


async def test_a_commit_covers_the_part_that_was_closed_meanwhile(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, durable=True, rotate_events=3)
    for _ in range(5):
        pairs(journal, 4)
        await journal.commit()
    before = len(os.listdir("/proc/self/fd"))
    pairs(journal, 20)
    await journal.commit()

    assert len(os.listdir("/proc/self/fd")) == before
    journal.close("done")
    assert verify(journal.directory).ok


async def test_a_disk_that_failed_once_is_not_trusted_again() -> None:
    def failing_sync() -> None:
        raise OSError(errno.EIO, "Input/output error")

    group = GroupSync(failing_sync)
    group.written()
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            await group.wait()
    assert group.syncs == 1


async def test_a_sync_that_fails_is_told(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path, "s")
    journal.append(note("x"))
    reader, writer = os.pipe()
    os.dup2(writer, journal._store.log)  # a pipe cannot be synced

    with pytest.raises(Unavailable, match="may not outlive a power cut"):
        await journal.commit()
    with pytest.raises(Unavailable):
        journal.close()
    os.close(reader)
    os.close(writer)


def test_a_journal_works_in_one_event_loop_after_another(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, durable=True)
    for _ in range(2):
        journal.append(note("x"))
        asyncio.run(journal.commit())
    journal.close("done")

    assert journal.syncs == 3


async def test_a_quick_disk_is_asked_without_a_thread_and_still_once_for_all() -> None:
    group = GroupSync(lambda: None)

    async def committer() -> None:
        group.written()
        await group.wait()

    await committer()  # the first one finds out how quick the disk is
    await asyncio.gather(*(committer() for _ in range(20)))

    assert group.syncs == 2
    group.finish()


async def test_a_quick_disk_that_fails_is_not_trusted_again() -> None:
    fails = False

    def sync() -> None:
        if fails:
            raise OSError(errno.EIO, "broken")

    group = GroupSync(sync)
    group.written()
    await group.wait()
    fails = True
    for _ in range(2):
        group.written()
        with pytest.raises(OSError, match="broken"):
            await group.wait()


async def test_whoever_comes_between_the_end_of_a_sync_and_the_news_of_it_is_served() -> None:
    group = GroupSync(lambda: None)

    async def first() -> None:
        group.written()
        await group.wait()

    async def late() -> None:
        while group._running is None:
            await asyncio.sleep(0)
        running = group._running
        while not running.done():
            await asyncio.sleep(0)
        group.written()
        await group.wait()

    await asyncio.gather(first(), late())
    group.finish()
    assert group.syncs >= 2
