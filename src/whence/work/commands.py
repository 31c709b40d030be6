"""Commands that a file declares: run as words, never through a shell."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from whence.errors import TimedOut
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.declaration import ShellCommand
from whence.shapes.process import Confinement, Finished, Program, Resources
from whence.work.exec.bounds import tail

EMPTY = "(no output)"


async def run_command(
    ports: Ports,
    argv: tuple[str, ...],
    command: ShellCommand,
    *,
    environ: Mapping[str, str] = os.environ,
) -> Reply:
    """What a command wrote, in order, and its exit status where it is not 0.

    Raises:
        TimedOut: it took too long; what it had written comes along.
        Unavailable, NotFound, InvalidArgs, PermissionDenied: it cannot be started.
    """
    workspace = ports.files.real(".")
    program = Program(
        argv,
        ports.files.real(command.cwd) if command.cwd else workspace,
        Confinement(
            writable=(workspace,),
            hosts=command.hosts,
            required=command.isolated,
            resources=Resources(cpu_s=_processor_seconds(command.timeout_ms / 1000)),
        ),
        env={name: environ[name] for name in command.env if name in environ},
        timeout_s=command.timeout_ms / 1000,
        merged=True,
    )
    done = await ports.processes.run(program, on_output=ports.on_output)
    if done.timed_out:
        raise _too_long(argv, command, done)
    isolation = done.isolation.as_json()
    return Reply(told(done), warnings=warnings_of(done), isolation=isolation)


def told(done: Finished) -> str:
    """The output as text, and how it ended where that is not plain success."""
    text = done.output.decode("utf-8", "replace")
    if done.exit_code == 0:
        return text or EMPTY
    how = f"signal {-done.exit_code}" if done.exit_code < 0 else f"exit status {done.exit_code}"
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}[{how}]"


def warnings_of(done: Finished) -> tuple[str, ...]:
    """What a program's end has to say besides its output."""
    found = []
    if done.dropped:
        found.append(f"{done.dropped} bytes of output were not kept")
    if done.exceeded:
        found.append(f"it was ended at its limit of {done.exceeded}")
    if done.refused:
        found.append(f"it may not reach {', '.join(done.refused)}")
    return tuple(found)


def _processor_seconds(timeout_s: float) -> int:
    """As much as a program could use in its time on all processors, for the time is the limit."""
    return max(Resources().cpu_s, math.ceil(timeout_s) * (os.cpu_count() or 1))


def _too_long(argv: tuple[str, ...], command: ShellCommand, done: Finished) -> TimedOut:
    seconds = command.timeout_ms / 1000
    return TimedOut(
        f"{argv[0]} did not end within {seconds:g} s and was stopped with all that it started",
        'Ask for less at once, or declare a longer timeout="…".',
        details={"output": tail(done.output)},
    )
