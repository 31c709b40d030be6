"""A program and its arguments, run in the workspace."""

from __future__ import annotations

from collections.abc import Sequence

from whence.errors import TimedOut
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.process import Confinement, Finished, Program
from whence.work.commands import warnings_of
from whence.work.exec.bounds import tail, time_allowed, within
from whence.work.exec.results import Ran


async def run_terminal(ports: Ports, cmd: Sequence[str], cwd: str, timeout_ms: int) -> Reply:
    """What a program wrote, and how it ended.

    Raises:
        TimedOut: it took too long; what it had written comes along.
        Unavailable, NotFound, InvalidArgs, PermissionDenied: it cannot be started.
    """
    seconds, warnings = time_allowed(timeout_ms, ports)
    program = Program(
        tuple(cmd),
        ports.files.real(cwd),
        Confinement(writable=(ports.files.real("."),), resources=within(seconds)),
        timeout_s=seconds,
    )
    done = await ports.processes.run(program, on_output=ports.on_output)
    if done.timed_out:
        raise _too_long(cmd[0], seconds, done)
    ran = Ran(_text(done.stdout), _text(done.stderr), done.exit_code, _ms(done))
    isolation = done.isolation.as_json()
    return Reply(ran, warnings=(*warnings, *warnings_of(done)), isolation=isolation)


def _too_long(name: str, seconds: float, done: Finished) -> TimedOut:
    return TimedOut(
        f"{name} did not end within {seconds:g} s and was stopped with all that it started",
        "Ask for less at once, or give a larger timeout_ms.",
        details={
            "stdout": tail(done.stdout),
            "stderr": tail(done.stderr),
            "duration_ms": _ms(done),
        },
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _ms(done: Finished) -> int:
    return round(done.duration_s * 1000)
