"""Programs: our own helpers as streams of lines, those of a call in their sandbox, to the end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, cast

from whence.errors import InvalidArgs, NotFound, TimedOut, Unavailable
from whence.execute.child import Child
from whence.execute.sandbox.start import signal_group
from whence.shapes.process import Finished, Isolation, OnOutput, OnStart, Program

if TYPE_CHECKING:
    from whence.execute.sandbox.start import Sandbox

_CHUNK = 65536
_STDERR_KEPT = 65536


class Processes:
    """Runs programs without a shell, each in a session of its own that ends as a whole.

    Args:
        grace_s: how long a program may take to end when it is asked to.
        sandbox: what keeps programs apart; the best that this machine has where it is left out.
    """

    def __init__(self, *, grace_s: float = 2.0, sandbox: Sandbox | None = None) -> None:
        self._grace_s = grace_s
        self._sandbox = sandbox

    @asynccontextmanager
    async def stream(
        self, argv: Sequence[str], *, cwd: str, timeout_s: float, max_line: int = 65536
    ) -> AsyncIterator[RunningProcess]:
        """Start a program; leaving the context ends it and everything in its process group.

        It gets no standard input and an environment of PATH, LANG and HOME only.

        Raises:
            Unavailable: The program cannot be started here.
            NotFound: There is no such working directory.
            InvalidArgs: `argv` is not a list of strings that a program can be given.
        """
        running = RunningProcess(_spawn(argv, cwd), timeout_s, max_line, self._grace_s)
        try:
            yield running
        finally:
            await running.stop()

    async def run(
        self,
        program: Program,
        *,
        on_output: OnOutput | None = None,
        on_start: OnStart | None = None,
    ) -> Finished:
        """Run a program to its end in its sandbox; at its time limit the whole group is ended.

        Args:
            program: what to run.
            on_output: shown the output as it comes; it must not raise.
            on_start: told how far the program is kept apart, as soon as it runs.

        Raises:
            Unavailable: It cannot be started here.
            NotFound: There is no such working directory.
            InvalidArgs: `argv` is not a list of strings that a program can be given.
            PermissionDenied: It needs full isolation, and this machine cannot give it.
            ExecutionFailed: It was killed and does not go.
        """
        from whence.execute.sandbox.run import run

        return await run(program, self._best(), self._grace_s, on_output, on_start)

    def isolation(self) -> Isolation:
        """What this machine enforces, found out by trying, once."""
        from whence.execute.sandbox.choose import isolation_of

        return isolation_of(self._best())

    def python(self) -> tuple[str, tuple[str, ...]]:
        """A Python that can be run inside, and the directories that must be readable for it."""
        from whence.execute.sandbox.view import inner_python

        return inner_python()

    def _best(self) -> Sandbox:
        if self._sandbox is None:
            from whence.execute.sandbox.choose import best_sandbox

            self._sandbox = best_sandbox()
        return self._sandbox


class RunningProcess:
    """One program: iterate it for its lines; `returncode` and `stderr` are whole after the last."""

    def __init__(
        self, process: subprocess.Popen[bytes], timeout_s: float, max_line: int, grace_s: float
    ) -> None:
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._timeout_s = timeout_s
        self._deadline = self._loop.time() + timeout_s
        self._max_line = max_line
        self._waiter: asyncio.Future[None] | None = None
        self._lines: deque[bytes] = deque()
        self._tail = b""
        self._ended = False
        self._closed = False
        self._stderr = bytearray()
        self._stdout_fd, self._stderr_fd = _unblocked(process.stdout), _unblocked(process.stderr)
        self._loop.add_reader(self._stderr_fd, self._keep_stderr)
        self._child = Child(
            process,
            ask=partial(signal_group, process.pid, signal.SIGTERM),
            kill=partial(signal_group, process.pid, signal.SIGKILL),
            grace_s=grace_s,
            on_exit=self._on_exit,
        )

    @property
    def pid(self) -> int:
        """The number of its process, and of its group."""
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._child.returncode

    @property
    def stderr(self) -> bytes:
        """The first 64 KiB of what the program wrote to standard error so far."""
        return bytes(self._stderr)

    def __aiter__(self) -> RunningProcess:
        return self

    async def __anext__(self) -> bytes:
        while not self._lines:
            if self._ended:
                raise StopAsyncIteration
            try:
                async with asyncio.timeout_at(self._deadline):
                    await self._fill()
            except TimeoutError:
                await self.stop()
                raise self._timed_out() from None
        return self._lines.popleft()

    async def stop(self) -> None:
        """End the program and its group: asked first, killed after the grace; reaped either way."""
        try:
            await self._child.stop()
        finally:
            self._close()

    async def _fill(self) -> None:
        chunk = await self._read()
        if chunk:
            *lines, tail = (self._tail + chunk).split(b"\n")
            self._lines.extend(line[: self._max_line] for line in lines)
            self._tail = tail[: self._max_line]
            return
        await self._child.exited.wait()
        if self._tail:
            self._lines.append(self._tail)
        self._ended = True

    async def _read(self) -> bytes:
        """The next bytes of standard output; empty at its end.

        The end is also when the program has exited and nothing more is there to read: a process
        that left the group may hold the pipe open for ever.
        """
        while True:
            if self._child.exited.is_set():
                await asyncio.sleep(0)
            else:
                await self._readable()
            if self._closed:
                return b""
            try:
                return os.read(self._stdout_fd, _CHUNK)
            except BlockingIOError:
                if self._child.exited.is_set():
                    return b""

    async def _readable(self) -> None:
        self._waiter = self._loop.create_future()
        self._loop.add_reader(self._stdout_fd, self._wake)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if not self._closed:
                self._loop.remove_reader(self._stdout_fd)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _keep_stderr(self) -> None:
        # Read to the end even when enough is kept: a full pipe would stop the program.
        if self._closed:
            return
        try:
            chunk = os.read(self._stderr_fd, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._loop.remove_reader(self._stderr_fd)
        self._stderr += chunk[: _STDERR_KEPT - len(self._stderr)]

    def _on_exit(self) -> None:
        self._keep_stderr()
        self._wake()

    def _close(self) -> None:
        # Once only: the numbers of closed descriptors may belong to somebody else by now.
        self._ended = True
        if self._closed:
            return
        self._closed = True
        for pipe in (self._process.stdout, self._process.stderr):
            reading = cast("IO[bytes]", pipe)
            self._loop.remove_reader(reading.fileno())
            reading.close()

    def _timed_out(self) -> TimedOut:
        return TimedOut(
            f"{self._process.args!r} did not end within {self._timeout_s:g} s",
            "Ask for less at once, or allow more time.",
            details={"timeout_s": self._timeout_s},
        )


def _spawn(argv: Sequence[str], cwd: str) -> subprocess.Popen[bytes]:
    if isinstance(argv, str) or not argv:
        raise InvalidArgs(
            f"not a command: {argv!r}", "Give the program and its arguments as a list."
        )
    try:
        return subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    except ValueError as error:  # a NUL or a lone surrogate in an argument
        raise InvalidArgs(
            f"cannot run {argv!r}: {error}", "Remove the characters that no argument can contain."
        ) from error
    except OSError as error:
        raise _cannot_start(argv[0], cwd, error) from error


def _cannot_start(program: str, cwd: str, error: OSError) -> NotFound | Unavailable:
    if not os.path.isdir(cwd):
        return NotFound(f"no such directory: {cwd!r}", "Run it in a directory that exists.")
    return Unavailable(
        f"cannot run {program!r}: {error.strerror}",
        "Install the program, or name one that is on the PATH.",
    )


def _environment() -> dict[str, str]:
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "LANG": "C.UTF-8", "HOME": "/nonexistent"}


def _unblocked(pipe: IO[bytes] | None) -> int:
    fd = cast("IO[bytes]", pipe).fileno()
    os.set_blocking(fd, False)
    return fd
