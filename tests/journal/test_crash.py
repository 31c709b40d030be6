"""A process may die at any moment: nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.journal.samples import call, note, open_journal, pairs, result
from whence.journal.read import read_entries
from whence.journal.verify import verify

KILLED = signal.SIGKILL


def in_child(work: Callable[[int], None]) -> tuple[int, int]:
    """Run something in a child that can write to us; its id and our end of the pipe."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            work(theirs)
        finally:
            os._exit(0)
    os.close(theirs)
    return child, ours


def reaped(child: int, ours: int, said: bytes = b"") -> list[str]:
    """What a child that has ended acknowledged."""
    os.waitpid(child, 0)
    while piece := os.read(ours, 65536):
        said += piece
    os.close(ours)
    return said.decode().splitlines()


def writes_until_killed(root: Path, round_: int) -> Callable[[int], None]:
    def work(acknowledge: int) -> None:
        journal = open_journal(root, rotate_bytes=12_000, rotate_events=15)
        for count in range(1_000_000):
            name = f"{round_}-{count}"
            size = (count * 37 % 50) * 200
            call_id = journal.append_call(call(tag=name, content="z" * size))
            os.write(acknowledge, f"{name}\n".encode())
            journal.append(result(call_id), note(f"done {name}"))
            os.write(acknowledge, f"done {name}\n".encode())

    return work


@pytest.mark.requirement("journal:crash")
def test_killed_at_random_no_acknowledged_event_is_ever_lost(tmp_path: Path) -> None:
    chance = random.Random(20)
    acknowledged: set[str] = set()
    for round_ in range(200):
        child, ours = in_child(writes_until_killed(tmp_path, round_))
        said = b"".join(os.read(ours, 40) for _ in range(chance.randrange(1, 20)))
        os.kill(child, KILLED)
        acknowledged.update(reaped(child, ours, said))

    journal = open_journal(tmp_path)
    report = verify(journal.directory)
    assert report.problems == ()
    assert report.open_calls == ()
    names: set[Any] = set()
    for entry in read_entries(journal.directory):
        names.add(entry.fields.get("text") or entry.fields.get("args", {}).get("tag"))
    assert len(acknowledged) > 1000
    assert acknowledged <= names


REAL_WRITE = os.write
STEPS = ("write", "pwrite", "open", "link", "replace", "ftruncate")


def dies_at(step: int) -> Callable[[], None]:
    """Make this process kill itself at its n-th change of the disk: in the middle of a write."""
    left = [step]

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                if real is REAL_WRITE:
                    real(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), KILLED)
            return real(*args, **kwargs)

        return change

    def arm() -> None:
        for name in STEPS:
            setattr(os, name, guarded(getattr(os, name)))

    return arm


def exercise(root: Path, arm: Callable[[], None], acknowledge: int) -> None:
    """Open, write across two rotations, end."""
    arm()
    journal = open_journal(root, rotate_events=3)
    for count in range(4):
        call_id = journal.append_call(call(tag=str(count)))
        REAL_WRITE(acknowledge, f"{count}\n".encode())
        journal.append(result(call_id))
    journal.close("done")


@pytest.mark.requirement("journal:crash")
@pytest.mark.parametrize("damage", [False, True], ids=["sound", "damaged"])
def test_killed_at_any_single_change_of_the_disk_the_session_can_go_on(
    tmp_path: Path, damage: bool
) -> None:
    """Every step in turn; with damage, the steps of a recovery are among them."""
    step = 0
    while True:
        root = tmp_path / str(step)
        journal = open_journal(root, rotate_events=1000)
        before = pairs(journal, 2, tag="before")
        journal.close()
        if damage:
            log = Path(journal.directory) / "session-log.md"
            log.write_bytes(log.read_bytes()[:-5])

        said = reaped(*in_child(partial(exercise, root, dies_at(step))))
        journal = open_journal(root, rotate_events=3)
        pairs(journal, 1, tag="after")
        journal.close("done")

        report = verify(journal.directory)
        assert report.problems == (), step
        entries = list(read_entries(journal.directory))
        tags = [e.fields["args"]["tag"] for e in entries if e.type == "tool_call"]
        assert tags[:2] == ["before", "before"], step
        assert set(said) <= set(tags), step
        assert len(tags) == len(set(tags) - {"before"}) + len(before), step
        assert len({entry.seq for entry in entries}) == len(entries)
        backups = [path.stat().st_ino for path in Path(journal.directory).glob("*.corrupted*")]
        assert len(set(backups)) == len(backups), step
        if sum(entry.type == "session_end" for entry in entries) == 2:
            break  # the child came to its own end
        step += 1
    assert step > 15
