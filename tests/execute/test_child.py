"""Children that go when they are told to, and one that does not."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from whence.errors import ExecutionFailed
from whence.execute import child as childhood
from whence.execute.child import Child
from whence.execute.noted import Noted, weaker
from whence.execute.process import Processes
from whence.execute.sandbox.launched import LimitsOnly
from whence.execute.sandbox.start import Started
from whence.shapes.process import Confinement, Isolation, Level, Program

pytestmark = pytest.mark.anyio


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def nothing() -> None:
    """As far as a process in uninterruptible sleep hears of signals."""


@pytest.mark.requirement("process:lingering")
async def test_a_child_that_does_not_go_is_not_waited_for_for_ever(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(childhood, "PATIENCE_S", 0.05)
    child = Child(sleeper, ask=nothing, kill=nothing, grace_s=0.05)

    await child.stop()

    assert not child.end_now()
    sleeper.kill()
    async with asyncio.timeout(10):
        await child.exited.wait()
    assert child.returncode == -signal.SIGKILL
    assert child.end_now()


@pytest.mark.requirement("process:lingering")
async def test_a_program_that_does_not_go_is_reported_with_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(childhood, "PATIENCE_S", 0.05)
    made: list[Started] = []

    class Deaf(LimitsOnly):
        """Starts programs that no signal reaches."""

        def start(self, program: Program, listening: int | None = None) -> Started:
            made.append(super().start(program, listening))
            return replace(made[-1], ask=nothing, kill=nothing)

    program = Program(("sleep", "600"), str(tmp_path), Confinement(), timeout_s=0.1)
    runner = Noted(Processes(grace_s=0.05, sandbox=Deaf()))

    with pytest.raises(ExecutionFailed, match="was killed and is still there") as caught:
        await runner.run(program)

    (left,) = made
    assert caught.value.details == {"process": left.process.pid}
    assert runner.reached == Isolation(processes=Level.PARTIAL)
    left.kill()
    async with asyncio.timeout(10):
        while os.path.exists(f"/proc/{left.process.pid}"):  # reaped by the loop when it goes
            await asyncio.sleep(0.01)


async def test_the_weakest_of_several_programs_is_what_a_call_is_said_to_be(
    tmp_path: Path,
) -> None:
    program = partial(Program, ("true",), str(tmp_path))
    runner = Noted(Processes(sandbox=LimitsOnly()))
    assert runner.reached is None
    told: list[Isolation] = []

    await runner.run(program(Confinement()), on_start=told.append)

    assert told == [runner.reached] == [Isolation(processes=Level.PARTIAL)]
    full = Isolation(Level.ENFORCED, Level.ENFORCED, Level.ENFORCED)
    mixed = Isolation(Level.PARTIAL, Level.NONE, Level.ENFORCED)
    assert weaker(full, mixed) == weaker(mixed, full) == mixed
