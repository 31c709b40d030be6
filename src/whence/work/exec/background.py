"""Command lines that may go on after their call, until they end or the session does.

What a command writes is kept in memory while it runs, and beside the journal from then on.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from whence.errors import QuotaExceeded, Unavailable
from whence.execute.ports import Ports, Shelf
from whence.shapes.process import Confinement, Finished, OnOutput, Program
from whence.work.exec.bounds import GRACE_MS, within

TOOL = "execute_command"
MOST_KEPT = 64_000_000
MOST_RUNNING = 16
_DAY_S = 86_400.0


class Command:
    """One command line: what it has written so far, and how it ended."""

    def __init__(self, id: str, shelf: Shelf) -> None:
        self.id = id
        self.total = 0
        """Bytes written, kept or not."""
        self.finished: Finished | None = None
        self._shelf = shelf
        self._kept = bytearray()
        self._task: asyncio.Task[Finished] | None = None
        self._show: OnOutput | None = None

    @property
    def output(self) -> bytes:
        """What was kept of its output."""
        return bytes(self._kept)

    async def run(self, ports: Ports, program: Program, seconds: float) -> bool:
        """Wait for the command, but no longer than that; whether it has ended.

        Raises:
            Unavailable, NotFound, InvalidArgs, PermissionDenied: it cannot be started.
        """
        self._show = ports.on_output
        self._task = asyncio.create_task(ports.processes.run(program, on_output=self._take))
        try:
            await asyncio.wait({self._task}, timeout=seconds)
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise
        finally:
            self._show = None  # the call is over, and what comes now is asked for
            if self._task.done():
                self._shelf.jobs.pop(self.id, None)
        if self._task.done():
            self.finished = self._task.result()
            return True
        self._task.add_done_callback(self._ended)
        return False

    def end(self) -> None:
        """Stop it; what it has written by now is kept."""
        self._store("stopped with the session")
        if self._task is not None:
            with suppress(RuntimeError):  # the event loop is gone, and the command with it
                self._task.cancel()

    async def stop(self) -> None:
        """Stop it and wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def ended(self) -> Finished:
        """How it ended; asked once it has."""
        assert self.finished is not None  # noqa: S101 - see above
        return replace(self.finished, dropped=self.total - len(self._kept))

    def keep(self) -> str | None:
        """Put the output beside the journal; where that is."""
        return self._shelf.keep(TOOL, self.id, self.output)

    def _take(self, data: bytes) -> None:
        self.total += len(data)
        self._kept += data[: max(MOST_KEPT - len(self._kept), 0)]
        if self._show is not None:
            self._show(data)

    def _ended(self, task: asyncio.Task[Finished]) -> None:
        """Called when it ends after its call: nobody waits for it, so that nothing is raised."""
        if not task.cancelled() and task.exception() is None:
            self.finished = task.result()
        if self.id in self._shelf.jobs:  # else it was stored when the session ended
            self._store("stopped" if self.finished is None else told_end(self.finished))
            del self._shelf.jobs[self.id]

    def _store(self, how: str) -> None:
        gap = b"" if not self._kept or self._kept.endswith(b"\n") else b"\n"
        self._shelf.keep(TOOL, self.id, self.output + gap + f"[{how}]\n".encode())


def start(ports: Ports, line: str, cwd: str, hidden: Sequence[str]) -> tuple[Command, Program]:
    """A command that is ready to run, by a shell inside the sandbox.

    Raises:
        Unavailable: there is no session that it could belong to.
        QuotaExceeded: too many are running.
        PermissionDenied, NotFound: it may not be run there.
    """
    shelf = ports.shelf
    if shelf is None:
        raise Unavailable("a command line needs a session", "Call the tool through a session.")
    if len(shelf.jobs) >= MOST_RUNNING:
        raise QuotaExceeded(
            f"{len(shelf.jobs)} commands are running in the background: {', '.join(shelf.jobs)}",
            "Wait for one of them to end, or end it by read_command_output with end.",
        )
    confinement = Confinement(
        writable=(ports.files.real("."),), hidden=tuple(hidden), resources=within(_DAY_S)
    )
    program = Program(
        (_shell(), "-c", line),
        ports.files.real(cwd),
        confinement,
        timeout_s=_DAY_S,
        merged=True,
        keep_bytes=0,  # the command keeps it itself, so that it can be read meanwhile
    )
    command = Command(_new_id(shelf), shelf)
    shelf.jobs[command.id] = command
    return command, program


def patience(asked_s: float | None, ports: Ports) -> float:
    """How long a call waits for its command; as long as it may, where nothing is asked."""
    most = max(ports.timeout_ms - GRACE_MS, 1) / 1000
    return min(asked_s, most) if asked_s else most


def output_of(ports: Ports, id: str) -> tuple[bytes, bool] | None:
    """What a command has written and whether it still runs; None: there is no such command."""
    if ports.shelf is None:
        return None
    running = ports.shelf.jobs.get(id)
    if isinstance(running, Command):
        return running.output, True
    kept = ports.shelf.kept(TOOL, id)
    return None if kept is None else (kept, False)


async def end_command(ports: Ports, id: str) -> None:
    """End a command, if it still runs."""
    running = ports.shelf.jobs.get(id) if ports.shelf is not None else None
    if isinstance(running, Command):
        await running.stop()


def told_end(finished: Finished) -> str:
    """How a program ended, in two words."""
    code = finished.exit_code
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _shell() -> str:
    bash = "/bin/bash"
    return bash if os.access(bash, os.X_OK) else "/bin/sh"


def _new_id(shelf: Shelf) -> str:
    number = time.time_ns() // 1_000_000
    while f"cmd-{number}.txt" in shelf.jobs or shelf.kept(TOOL, f"cmd-{number}.txt") is not None:
        number += 1
    return f"cmd-{number}.txt"
