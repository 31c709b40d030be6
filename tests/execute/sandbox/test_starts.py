"""Starts that come to nothing: they end in time, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.execute.sandbox.leftovers import all_gone
from whence.errors import Unavailable
from whence.execute.process import Processes
from whence.execute.sandbox import ground, start, wrap
from whence.execute.sandbox.bubblewrap import Bubblewrap
from whence.execute.sandbox.choose import trial_of
from whence.execute.sandbox.spawner import started, submit
from whence.shapes.process import Confinement, Program

pytestmark = pytest.mark.anyio


@pytest.fixture
def stuck(token: str) -> Iterator[str]:
    """A helper that does nothing, for ever; it lies where nobody, too, may run it."""
    with tempfile.TemporaryDirectory(prefix="whence-stuck-") as place:
        Path(place).chmod(0o755)
        path = Path(place, token)
        path.write_text("#!/usr/bin/python3 -IS\nimport signal\nsignal.pause()\n", "utf-8")
        path.chmod(0o755)
        yield str(path)


def staged() -> list[str]:
    """What was mounted for sandboxes and not taken away."""
    if os.geteuid() != 0:
        return []
    return submit(lambda: [name for name in os.listdir("/sys") if name.isdecimal()]).result()


@pytest.mark.requirement("process:start-deadline")
@pytest.mark.parametrize("hidden", [0, 2000], ids=["few options", "more options than a pipe holds"])
async def test_a_sandbox_that_does_not_start_is_given_up(
    stuck: str, token: str, hidden: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(hidden):
        (tmp_path / f".env.{number}").touch()
    monkeypatch.setattr(start, "PATIENCE_S", 0.2)
    monkeypatch.setattr(wrap, "system_tool", lambda name: stuck)
    program = Program(("true",), str(tmp_path), Confinement((str(tmp_path),)))

    with pytest.raises(Unavailable, match="bubblewrap does not answer"):
        await Processes(sandbox=Bubblewrap()).run(program)

    assert all_gone(token)
    assert staged() == []


@pytest.mark.requirement("process:start-deadline")
async def test_a_namespace_that_is_not_made_is_given_up(
    stuck: str, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root has directories mounted with another owner")
    monkeypatch.setattr(start, "PATIENCE_S", 0.2)
    monkeypatch.setattr(ground, "system_tool", lambda name: stuck)
    ground._users.cache_clear()
    program = Program(("true",), str(tmp_path), Confinement((str(tmp_path),)))

    with pytest.raises(Unavailable, match="unshare does not answer"):
        await Processes(sandbox=Bubblewrap()).run(program)

    assert all_gone(token)
    assert staged() == []


def test_a_machine_without_user_namespaces_is_no_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root has directories mounted with another owner")
    monkeypatch.setattr(ground, "system_tool", lambda name: "/bin/false")

    with pytest.raises(OSError, match=r"user namespaces|Broken pipe"):
        ground._users(12345, 12345)


@pytest.mark.requirement("process:cancelled-start")
async def test_what_was_started_for_nobody_is_undone_by_the_thread_that_made_it() -> None:
    undone: list[tuple[int, int]] = []
    starting = asyncio.create_task(
        started(threading.get_ident, undo=lambda made: undone.append((made, threading.get_ident())))
    )
    await asyncio.sleep(0)
    submit(lambda: None).result()  # it is made by now, and this loop has not heard of it

    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    submit(lambda: None).result()

    assert [made == where for made, where in undone] == [True]


@pytest.mark.requirement("process:cancelled-start")
async def test_cancelling_at_any_moment_leaves_nothing_mounted(tmp_path: Path, token: str) -> None:
    sandbox = Bubblewrap()
    problem = trial_of(sandbox).problem
    if problem:
        pytest.skip(f"bubblewrap cannot be used here: {problem}")
    program = Program(
        ("sh", "-c", f": {token}; sleep 1000"), str(tmp_path), Confinement((str(tmp_path),))
    )
    for moment in range(12):
        running = asyncio.create_task(Processes(grace_s=0.2, sandbox=sandbox).run(program))
        await asyncio.wait({running}, timeout=moment * 0.002)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    submit(lambda: None).result()

    assert all_gone(token)
    assert staged() == []
