"""Running one program in a sandbox, from its start to the last byte of its output."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from functools import partial

from whence.errors import InvalidArgs, NotFound, Unavailable
from whence.execute.capture import Capture
from whence.execute.child import Child
from whence.execute.sandbox.disk import DiskGuard
from whence.execute.sandbox.spawner import started, submit
from whence.execute.sandbox.start import Sandbox, Started
from whence.shapes.process import Finished, OnOutput, Program


async def run(
    program: Program, sandbox: Sandbox, grace_s: float, on_output: OnOutput | None
) -> Finished:
    """What came of a program."""
    _check(program)
    if not program.confinement.hosts or not sandbox.has_own_network:
        return await _run(program, sandbox, grace_s, on_output)
    from whence.execute.sandbox.proxy import Proxy

    async with Proxy(program.confinement) as proxy:
        ended = await _run(proxy.use(program), sandbox, grace_s, on_output, proxy.channel)
        return replace(ended, refused=tuple(dict.fromkeys(proxy.refused)))


async def _run(
    program: Program,
    sandbox: Sandbox,
    grace_s: float,
    on_output: OnOutput | None,
    channel: int | None = None,
) -> Finished:
    begun = time.perf_counter()
    start = partial(sandbox.start, program, channel)
    running = await started(start, undo=_abandon)
    capture = Capture(running.process, program.keep_bytes, on_output)
    child = Child(running.process, ask=running.ask, kill=running.kill, grace_s=grace_s)
    timed_out, guard = False, DiskGuard(program)
    try:
        async with asyncio.timeout(program.timeout_s):
            await guard.until(child.exited)
    except TimeoutError:
        timed_out = True
    finally:
        try:
            await child.stop()
        finally:
            child.end_now()
            capture.finish()
            submit(running.release)
    stdout, stderr = capture.of_stream(0), capture.of_stream(1)
    status = child.returncode or 0
    if problem := sandbox.complaint(status, stderr or stdout):
        raise Unavailable(
            f"{program.argv[0]!r} could not be run: {problem}",
            "Check that the program and its directories can be used; `whence doctor` says more.",
        )
    return Finished(
        exit_code=sandbox.exit_code(status),
        stdout=stdout,
        stderr=stderr,
        output=capture.both() if stdout and stderr else stdout or stderr,
        isolation=running.isolation,
        duration_s=time.perf_counter() - begun,
        timed_out=timed_out,
        dropped=capture.dropped,
        exceeded="disk" if guard.exceeded else "",
    )


def _abandon(running: Started) -> None:
    """End what was started although nobody waits for it."""
    running.kill()
    running.process.wait()
    for pipe in (running.process.stdout, running.process.stderr):
        if pipe is not None:
            pipe.close()
    running.release()


def _check(program: Program) -> None:
    if not program.argv or not program.argv[0]:
        raise InvalidArgs(
            f"not a command: {program.argv!r}", "Give the program and its arguments as a list."
        )
    for text in (*program.argv, *program.env, *program.env.values()):
        _check_text(text)
    if not os.path.isdir(program.cwd):
        raise NotFound(f"no such directory: {program.cwd!r}", "Run it in a directory that exists.")


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
