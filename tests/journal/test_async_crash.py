"""A process with an event loop, whose lock outlasts an append, may die at any moment, too."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journal.samples import call, note, open_journal, pairs, result
from tests.journal.test_crash import KILLED, in_child, reaped
from whence.journal.read import read_entries
from whence.journal.verify import verify
from whence.journal.write import Journal


async def _writes(journal: Journal, name: str, acknowledge: int) -> None:
    """Calls that wait now and then, as real tools do, and say what came of them."""
    for count in range(1_000_000):
        tag = f"{name}-{count}"
        call_id = journal.append_call(call(tag=tag, content="z" * (count * 37 % 50 * 40)))
        await journal.commit()
        os.write(acknowledge, f"call {call_id} {tag}\n".encode())
        if count % 3 == 0:
            await asyncio.sleep(0)
        journal.append(result(call_id), note(f"done {tag}"))
        os.write(acknowledge, f"done {call_id} {tag}\n".encode())
        if count % 5 == 0:
            await asyncio.sleep(0.002)  # the other one has work to do, too


def _async_writer(root: Path, name: str, *, durable: bool) -> Callable[[int], None]:
    async def main(acknowledge: int) -> None:
        journal = open_journal(root, rotate_bytes=20_000, rotate_events=25, durable=durable)
        await asyncio.gather(*(_writes(journal, f"{name}-{n}", acknowledge) for n in range(3)))

    return lambda acknowledge: asyncio.run(main(acknowledge))


@pytest.mark.requirement("journal:crash")
def test_async_writers_killed_at_random_lose_nothing_and_repeat_no_id(tmp_path: Path) -> None:
    """Two processes at once: one is killed while the other has the lock, or waits for it."""
    chance = random.Random(7)
    said: list[str] = []
    for round_ in range(150):
        writers = [
            in_child(_async_writer(tmp_path, f"{round_}-{n}", durable=round_ % 4 == 0))
            for n in range(2)
        ]
        for _, ours in writers:
            fcntl.fcntl(
                ours, fcntl.F_SETPIPE_SZ, 1 << 20
            )  # a full one would block who is locked in
        chance.shuffle(writers)
        heard = b"".join(os.read(writers[0][1], 60) for _ in range(chance.randrange(1, 12)))
        for child, _ in writers:
            os.kill(child, KILLED)
        said += reaped(*writers[0], heard) + reaped(*writers[1])

    journal = open_journal(tmp_path)
    report = verify(journal.directory)
    assert report.problems == ()
    assert report.recoveries == 0
    assert report.open_calls == ()
    entries = list(read_entries(journal.directory))
    called = [
        (e.fields["call_id"], e.fields["args"]["tag"]) for e in entries if e.type == "tool_call"
    ]
    assert len({call_id for call_id, _ in called}) == len(called)
    whole = {tuple(line.split()) for line in said if len(line.split()) == 3}
    texts = {e.fields["text"] for e in entries if e.type == "user_message"}
    assert len(whole) > 1000
    assert {(i, tag) for kind, i, tag in whole if kind == "call"} <= set(called)
    assert {f"done {tag}" for kind, _, tag in whole if kind == "done"} <= texts
    outcomes = [e.fields["call_id"] for e in entries if e.type in ("tool_result", "tool_error")]
    assert sorted(outcomes) == sorted(call_id for call_id, _ in called)
    assert any(e.fields.get("error", {}).get("code") == "INTERRUPTED" for e in entries)
    pairs(journal, 1)
    journal.close("done")
