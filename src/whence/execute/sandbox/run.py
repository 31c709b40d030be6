"""Running one program in a sandbox, from its start to the last byte of its output."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from whence.errors import ExecutionFailed, InvalidArgs, NotFound, Unavailable
from whence.execute.capture import Capture
from whence.execute.child import Child, is_gone
from whence.execute.sandbox.disk import DiskGuard
from whence.execute.sandbox.spawner import started, submit
from whence.execute.sandbox.start import Sandbox, Started
from whence.shapes.process import Finished, OnOutput, OnStart, Program

_LONGEST_WORD = 131_000
_MOST_WORDS = 1_500_000
"""Bytes, pointers included; a little less than the kernel takes."""


async def run(
    program: Program,
    sandbox: Sandbox,
    grace_s: float,
    on_output: OnOutput | None = None,
    on_start: OnStart | None = None,
) -> Finished:
    """What came of a program."""
    _check(program)
    told = (on_output, on_start)
    if not program.confinement.hosts or not sandbox.has_own_network:
        return await _run(program, sandbox, grace_s, told)
    from whence.execute.sandbox.proxy import Proxy

    async with Proxy(program.confinement) as proxy:
        ended = await _run(proxy.use(program), sandbox, grace_s, told, proxy.channel)
        return replace(ended, refused=tuple(dict.fromkeys(proxy.refused)))


async def _run(
    program: Program,
    sandbox: Sandbox,
    grace_s: float,
    told: tuple[OnOutput | None, OnStart | None],
    channel: int | None = None,
) -> Finished:
    begun = time.perf_counter()
    on_output, on_start = told
    start = partial(sandbox.start, program, channel)
    running = await started(start, undo=_abandon)
    shows = (1,) if program.reports else (0, 1)
    capture = Capture(running.process, program.keep_bytes, on_output, shows)
    child = Child(running.process, ask=running.ask, kill=running.kill, grace_s=grace_s)
    gone, guard = False, DiskGuard(program)
    if on_start is not None:
        on_start(running.isolation)
    try:
        in_time = await _ends_within(program.timeout_s, guard, child)
    finally:
        try:
            await child.stop()
        finally:
            gone = child.end_now() and running.swept()
            capture.finish()
            submit(running.release)
    if not gone:
        raise _lingering(program, child.pid)
    stdout, stderr = capture.of_stream(0), capture.of_stream(1)
    status = child.returncode or 0
    if problem := sandbox.complaint(status, stderr or stdout):
        raise _unavailable(program, problem)
    return Finished(
        exit_code=sandbox.exit_code(status),
        stdout=stdout,
        stderr=stderr,
        output=capture.both() if stdout and stderr else stdout or stderr,
        isolation=running.isolation,
        duration_s=time.perf_counter() - begun,
        timed_out=not in_time,
        dropped=capture.dropped,
        exceeded="disk" if guard.exceeded else "",
    )


def _abandon(running: Started) -> None:
    """End what was started although nobody waits for it."""
    running.kill()
    is_gone(running.process)
    for pipe in (running.process.stdout, running.process.stderr):
        if pipe is not None:
            pipe.close()
    running.release()


async def _ends_within(seconds: float, guard: DiskGuard, child: Child) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await guard.until(child.exited)
    except TimeoutError:
        return False
    return True


def _unavailable(program: Program, problem: str) -> Unavailable:
    return Unavailable(
        f"{program.argv[0]!r} could not be run: {problem}",
        "Check that the program and its directories can be used; `whence doctor` says more.",
    )


def _lingering(program: Program, pid: int) -> ExecutionFailed:
    return ExecutionFailed(
        f"{program.argv[0]!r} was killed and is still there, process {pid}: it waits in the kernel",
        f"It goes when a device or a file server answers it; see `ps -o stat,wchan {pid}`.",
        details={"process": pid},
    )


def _check(program: Program) -> None:
    if not program.argv or not program.argv[0]:
        raise InvalidArgs(
            f"not a command: {program.argv!r}", "Give the program and its arguments as a list."
        )
    words = (*program.argv, *program.env, *program.env.values())
    for text in words:
        _check_text(text)
    _check_sizes(program.argv[0], [len(os.fsencode(word)) + 9 for word in words])
    if not os.path.isdir(program.cwd):
        raise NotFound(f"no such directory: {program.cwd!r}", "Run it in a directory that exists.")


def _check_sizes(name: str, sizes: Sequence[int]) -> None:
    if sum(sizes) > _MOST_WORDS or max(sizes) > _LONGEST_WORD:
        raise InvalidArgs(
            f"{name[:100]!r} cannot be given words of {sum(sizes)} bytes, {max(sizes)} in one",
            f"Give at most {_MOST_WORDS}, and {_LONGEST_WORD} in one; the rest fits into a file.",
        )


def _check_text(text: str) -> None:
    try:
        broken = "\0" in text or b"\0" in os.fsencode(text)
    except UnicodeEncodeError:
        broken = True
    if broken:
        raise InvalidArgs(
            f"a program cannot be given {text!r}",
            "Remove the characters that no argument can contain.",
        )
