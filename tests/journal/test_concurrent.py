"""Several processes write one session at the same time."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import threading
from collections import Counter
from pathlib import Path

import pytest

from tests.journal.samples import call, open_journal, pairs, result
from whence.errors import Unavailable
from whence.journal.read import read_entries
from whence.journal.verify import verify


@pytest.mark.requirement("journal:concurrent")
def test_processes_share_a_session_without_losing_or_repeating_anything(tmp_path: Path) -> None:
    go, start = os.pipe()
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(start)
                os.read(go, 1)
                journal = open_journal(tmp_path, rotate_events=40)
                for _ in range(60):
                    call_id = journal.append_call(call(writer=number))
                    journal.append(result(call_id, writer=number))
                journal.close("done")
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    os.close(go)
    os.close(start)

    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
    report = verify(tmp_path / "sess-001")
    assert report.problems == ()
    assert report.ended
    assert len(report.parts) > 5
    entries = list(read_entries(tmp_path / "sess-001"))
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    calls = {
        e.fields["call_id"]: e.fields["args"]["writer"] for e in entries if e.type == "tool_call"
    }
    results = {e.fields["call_id"]: e.fields["writer"] for e in entries if e.type == "tool_result"}
    assert calls == results
    assert Counter(calls.values()) == {0: 60, 1: 60, 2: 60, 3: 60}
    assert sorted(calls) == [f"call-{number:03d}" for number in range(1, 241)]


def test_two_writers_of_one_process_take_turns(tmp_path: Path) -> None:
    first, second = open_journal(tmp_path), open_journal(tmp_path)

    ids = [pairs(journal, 1)[0] for journal in (first, second, second, first)]

    assert ids == ["call-001", "call-002", "call-003", "call-004"]
    first.close("done")
    assert not verify(second.directory).ended
    second.close("done")
    assert verify(second.directory).ended


@pytest.mark.requirement("journal:concurrent")
def test_threads_share_one_journal(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=50)
    threads = [threading.Thread(target=pairs, args=(journal, 40)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close("done")

    report = verify(journal.directory)
    assert report.problems == ()
    ids = [e.fields["call_id"] for e in read_entries(journal.directory) if e.type == "tool_call"]
    assert len(ids) == len(set(ids)) == 200


def test_a_log_can_be_verified_while_it_is_being_written(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=30)
    thread = threading.Thread(target=pairs, args=(journal, 300))
    thread.start()
    rounds = 0
    while thread.is_alive():
        assert verify(journal.directory).problems == ()
        rounds += 1
    thread.join()

    assert rounds > 0


def _append_in_another_process(root: Path) -> None:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            pairs(open_journal(root), 1)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.anyio
async def test_the_lock_is_free_as_soon_as_the_event_loop_has_control_again(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 3)

    await asyncio.sleep(0)
    _append_in_another_process(tmp_path)

    assert pairs(journal, 1) == ["call-005"]
    journal.close("done")
    assert verify(journal.directory).problems == ()


@pytest.mark.anyio
async def test_two_writers_of_one_event_loop_take_turns_without_waiting(tmp_path: Path) -> None:
    first, second = open_journal(tmp_path), open_journal(tmp_path)

    ids = [pairs(journal, 1)[0] for journal in (first, second, second, first)]

    assert ids == ["call-001", "call-002", "call-003", "call-004"]
    first.close("done")
    second.close("done")
    assert verify(second.directory).problems == ()


def test_a_writer_that_does_not_let_go_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = open_journal(tmp_path)
    monkeypatch.setattr("whence.journal.lock._PATIENCE_S", 0.05)
    holder = os.open(journal.directory, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)

    with pytest.raises(Unavailable, match="locked"):
        journal.append_call(call())

    os.close(holder)
    assert pairs(journal, 1) == ["call-001"]
    journal.close("done")


@pytest.mark.anyio
async def test_what_was_written_under_a_lasting_lock_outlives_a_kill(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    ids = pairs(journal, 3)

    shutil.copytree(tmp_path, tmp_path / "as-a-kill-leaves-it")  # no system call has yet followed
    left = tmp_path / "as-a-kill-leaves-it"

    assert verify(left / "sess-001").problems == ()
    again = open_journal(left)
    found = [e.fields["call_id"] for e in read_entries(again.directory) if e.type == "tool_result"]
    assert found == ids
    again.close("done")
    journal.close("done")
