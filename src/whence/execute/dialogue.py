"""A program that is talked to, line by line, for as long as somebody needs it.

It runs outside the sandbox, under the launcher: in a session of its own, without new privileges,
and ended with everything that it started, also when this process is killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

from whence.errors import NotFound, ParseError, Unavailable
from whence.execute.child import Child

LONGEST_LINE = 32 * 1024 * 1024
_STDERR_KEPT = 8192
_FAREWELL_S = 0.5
"""How long a program may take to notice that nobody will say anything more."""


class Dialogue:
    """One running program; iterate it for its lines. Make it with `Dialogue.start`."""

    def __init__(self, process: subprocess.Popen[bytes], grace_s: float) -> None:
        from whence.execute.sandbox.launched import endings

        ask, kill = endings(process)
        self._child = Child(process, ask=ask, kill=kill, grace_s=grace_s)
        self._process = process
        self._said = asyncio.StreamReader(limit=LONGEST_LINE)
        self._stderr = _Tail()
        self._readers: list[asyncio.BaseTransport] = []
        self._writer: asyncio.StreamWriter | None = None

    @classmethod
    async def start(
        cls, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], grace_s: float = 2.0
    ) -> Dialogue:
        """A program that runs; `argv[0]` is a path, and `env` all that it sees of an environment.

        Raises:
            NotFound: There is no such working directory.
            Unavailable: This machine cannot start it.
        """
        from whence.execute.sandbox.launched import launch
        from whence.execute.sandbox.spawner import started

        _check_directory(cwd)
        orders = {
            "argv": list(argv), "cwd": cwd, "env": dict(env), "limits": {"core": 0},
            "parent": os.getpid(), "landlock": None, "seccomp": None,
        }  # fmt: skip
        try:
            process = await started(
                partial(launch, orders, subprocess.PIPE, subprocess.PIPE), undo=_abandon
            )
        except OSError as error:
            raise Unavailable(
                f"cannot run {argv[0]!r}: {error.strerror}", "Check the program and its limits."
            ) from error
        dialogue = cls(process, grace_s)
        try:
            await dialogue._attach()
        except BaseException:
            dialogue._child.end_now()
            raise
        return dialogue

    @property
    def pid(self) -> int:
        """The number of the launcher's process."""
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._child.returncode

    @property
    def stderr(self) -> bytes:
        """The end of what it wrote to standard error so far."""
        return bytes(self._stderr.kept)

    async def send(self, line: bytes) -> None:
        """Say something; a newline is added.

        Raises:
            Unavailable: It does not listen any more.
        """
        writer = cast("asyncio.StreamWriter", self._writer)
        try:
            writer.write(line + b"\n")
            await writer.drain()
        except OSError as error:
            raise Unavailable(
                f"the program does not listen any more: {error}", "Start it again."
            ) from error

    def __aiter__(self) -> Dialogue:
        return self

    async def __anext__(self) -> bytes:
        """The next line, without its newline.

        Raises:
            ParseError: It is longer than any message.
        """
        try:
            line = await self._said.readline()
        except ValueError:
            raise ParseError(
                f"the program wrote a line of more than {LONGEST_LINE} bytes",
                "Ask it for less at once.",
            ) from None
        if not line:
            raise StopAsyncIteration
        return line.rstrip(b"\n")

    async def ended(self) -> int:
        """Its exit status, once it has ended."""
        await self._child.exited.wait()
        return cast("int", self.returncode)

    async def stop(self) -> None:
        """End it: its input is closed, then it is asked, then killed, with all that it started."""
        try:
            if self._writer is not None:
                self._writer.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL_S):
                    await self._child.exited.wait()
            await self._child.stop()
        finally:
            self._child.end_now()
            for reader in self._readers:
                reader.close()

    async def _attach(self) -> None:
        loop = asyncio.get_running_loop()
        process = self._process
        heard: tuple[tuple[asyncio.Protocol, object], ...] = (
            (asyncio.StreamReaderProtocol(self._said), process.stdout),
            (self._stderr, process.stderr),
        )
        for protocol, pipe in heard:
            transport, _ = await loop.connect_read_pipe(partial(_same, protocol), pipe)
            self._readers.append(transport)
        flow = asyncio.streams.FlowControlMixin()
        out, _ = await loop.connect_write_pipe(lambda: flow, process.stdin)
        self._writer = asyncio.StreamWriter(out, flow, None, loop)


class _Tail(asyncio.Protocol):
    """Keeps the end of a stream, and reads all of it: a full pipe would stop the program."""

    def __init__(self) -> None:
        self.kept = bytearray()

    def data_received(self, data: bytes) -> None:
        self.kept += data
        del self.kept[:-_STDERR_KEPT]


def _check_directory(cwd: str) -> None:
    if not os.path.isdir(cwd):
        raise NotFound(f"no such directory: {cwd!r}", "Run it in a directory that exists.")


def _same(protocol: asyncio.Protocol) -> asyncio.Protocol:
    return protocol


def _abandon(process: subprocess.Popen[bytes]) -> None:
    """End what was started although nobody waits for it."""
    process.send_signal(signal.SIGQUIT)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
