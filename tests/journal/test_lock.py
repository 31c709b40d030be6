"""Inside an event loop the lock outlasts an append; whatever goes wrong then, none is stuck."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journal.samples import call, note, open_journal, pairs, result
from whence.errors import Unavailable
from whence.journal.commit import GroupSync
from whence.journal.lock import lasting
from whence.journal.read import read_entries
from whence.journal.standing import Standing
from whence.journal.verify import verify


def in_another_process(work: Callable[[], object]) -> int:
    """The exit status of a child that did something; 1 where that raised."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.anyio
async def test_a_log_can_be_verified_in_the_event_loop_of_its_writer(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 2)

    assert verify(journal.directory).events == 5
    journal.close("done")


def test_a_loop_that_is_closed_before_it_got_to_it_leaves_no_lock(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    loop = asyncio.new_event_loop()

    def last() -> None:
        loop.stop()
        pairs(journal, 1)

    loop.call_soon(last)
    loop.run_forever()
    assert lasting
    loop.close()

    assert not lasting
    assert in_another_process(lambda: pairs(open_journal(tmp_path), 1)) == 0
    assert pairs(journal, 1) == ["call-003"]
    journal.close("done")


@pytest.mark.anyio
async def test_an_append_that_could_not_find_the_end_does_not_let_the_next_one_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 1)
    await asyncio.sleep(0)
    assert in_another_process(lambda: pairs(open_journal(tmp_path), 1)) == 0
    with monkeypatch.context() as patched:
        patched.setattr(journal._store, "_name", "x" * 5000)  # no such name can be looked up
        with pytest.raises(Unavailable):
            journal.append(note("x"))

    assert pairs(journal, 1) == ["call-003"]
    journal.close("done")
    report = verify(journal.directory)
    assert (report.problems, report.recoveries) == ((), 0)


@pytest.mark.anyio
async def test_an_append_that_is_interrupted_half_way_does_not_break_the_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Standing, event: object) -> None:
        raise KeyboardInterrupt

    journal = open_journal(tmp_path)
    pairs(journal, 1)
    with monkeypatch.context() as patched:
        patched.setattr(Standing, "take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            journal.append(note("x"))
    pairs(journal, 1)
    journal.close("done")

    report = verify(journal.directory)
    assert (report.problems, report.recoveries) == ((), 0)


@pytest.mark.anyio
@pytest.mark.requirement("journal:concurrent")
async def test_a_forked_process_does_not_write_under_the_lock_of_its_parent(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 1)

    def child() -> None:
        with pytest.raises(Unavailable, match="closed"):
            pairs(journal, 1)
        journal.close("done")

    assert in_another_process(child) == 0
    assert pairs(journal, 1) == ["call-002"]
    await asyncio.sleep(0)
    assert in_another_process(lambda: pairs(open_journal(tmp_path), 1)) == 0
    journal.close("done")
    report = verify(journal.directory)
    assert (report.problems, report.recoveries, report.ended) == ((), 0, True)


def test_nothing_follows_the_end_that_another_thread_recorded(tmp_path: Path) -> None:
    for _ in range(10):
        journal = open_journal(tmp_path)
        begun = threading.Event()

        async def writes(journal: object = journal, begun: threading.Event = begun) -> None:
            while True:
                pairs(journal, 1)  # type: ignore[arg-type]
                begun.set()
                await asyncio.sleep(0)

        def run(work: Callable[[], object] = writes) -> None:
            with pytest.raises(Unavailable, match="closed"):
                asyncio.run(work())  # type: ignore[arg-type]

        thread = threading.Thread(target=run)
        thread.start()
        begun.wait()
        journal.close("done")
        thread.join()

    assert verify(tmp_path / "sess-001").problems == ()


@pytest.mark.anyio
async def test_whoever_steps_aside_lets_another_process_write_at_once(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    call_id = journal.append_call(call())
    journal.step_aside()

    assert in_another_process(lambda: pairs(open_journal(tmp_path), 1)) == 0
    journal.append(result(call_id))
    journal.close("done")
    ids = [e.fields["call_id"] for e in read_entries(journal.directory) if e.type == "tool_call"]
    assert ids == ["call-001", "call-002"]


@pytest.mark.anyio
async def test_what_is_written_while_the_disk_works_waits_for_the_next_sync() -> None:
    group = GroupSync(lambda: group.written() if group.syncs == 2 else None)
    for _ in range(2):
        group.written()
        await group.wait()
    assert group.syncs == 2

    await group.wait()

    assert group.syncs == 3
    group.finish()
