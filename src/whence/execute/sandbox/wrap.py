"""Starting bubblewrap: it waits for its options, then for its limits, and only then runs."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Iterable
from contextlib import suppress

from whence.execute.sandbox.identity import acting_as
from whence.execute.sandbox.limits import limit_process
from whence.execute.sandbox.seccomp import Sockets, assemble
from whence.execute.sandbox.start import BASE_ENVIRONMENT, in_memory
from whence.execute.sandbox.tools import system_tool
from whence.shapes.process import Program

_PATIENCE_S = 20.0


class Wrapping:
    """One start of bubblewrap, with the descriptors that it takes."""

    def __init__(self, program: Program, identity: tuple[int, int] | None) -> None:
        self._program = program
        self._identity = identity
        self._taken: set[int] = set()

    def start(
        self, options: Iterable[str], command: list[str], listening: int | None
    ) -> tuple[subprocess.Popen[bytes], int | None]:
        """The process, and the number of the first one inside; None if it did not get so far."""
        try:
            return self._start(options, command, listening)
        finally:
            self._close(*self._taken)

    def _start(
        self, options: Iterable[str], command: list[str], listening: int | None
    ) -> tuple[subprocess.Popen[bytes], int | None]:
        (read, write), (told, info), (held, go) = self._pipe(), self._pipe(), self._pipe()
        passed = [read, info, held]
        argv = [system_tool("bwrap"), "--args", str(read), "--info-fd", str(info)]
        argv += ["--block-fd", str(held)]
        calls = assemble(Sockets.OWN_NAMESPACE, os.uname().machine)
        if calls is not None:
            passed.append(self._take(in_memory(calls)))
            argv += ["--seccomp", str(passed[-1])]
        if listening is not None:
            passed.append(listening)
        with acting_as(self._identity):
            process = self._spawn([*argv, "--", *command], passed)
        try:
            _go_first(process.pid)
            _hand_over(write, options)
            self._close(write, info)
            first = _first_inside(told)
            if first is not None:
                self._limit(first)
                os.write(go, b".")
        except BaseException:
            process.kill()
            process.communicate()
            raise
        return process, first

    def _spawn(self, argv: list[str], passed: list[int]) -> subprocess.Popen[bytes]:
        given = self._program.stdin
        return subprocess.Popen(
            argv,
            cwd="/",
            env=dict(BASE_ENVIRONMENT),
            stdin=self._take(in_memory(given)) if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if self._program.merged else subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
            pass_fds=passed,
        )

    def _limit(self, first: int) -> None:
        with acting_as(self._identity), suppress(ProcessLookupError):
            limit_process(first, self._program.confinement.resources)

    def _pipe(self) -> tuple[int, int]:
        read, write = os.pipe()
        return self._take(read), self._take(write)

    def _take(self, descriptor: int) -> int:
        self._taken.add(descriptor)
        return descriptor

    def _close(self, *descriptors: int) -> None:
        for descriptor in descriptors:
            os.close(descriptor)
        self._taken.difference_update(descriptors)


def _hand_over(write: int, options: Iterable[str]) -> None:
    """Tell it its options: not on the command line, where everybody could read them."""
    view = memoryview(b"".join(os.fsencode(option) + b"\0" for option in options))
    with suppress(BrokenPipeError):  # it ended, and says why itself
        while view:
            view = view[os.write(write, view) :]


def _go_first(pid: int) -> None:
    """Should memory run out, a sandbox goes before anything else."""
    with suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w", encoding="utf-8") as score:
        score.write("1000")


def _first_inside(told: int) -> int | None:
    if not select.select([told], [], [], _PATIENCE_S)[0]:
        return None
    said = os.read(told, 4096)
    return int(json.loads(said)["child-pid"]) if said else None
