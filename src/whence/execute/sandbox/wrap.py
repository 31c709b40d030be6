"""Starting bubblewrap: it waits for its options, then for its limits, and only then runs."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress

from whence.execute.child import PATIENCE_S, is_gone
from whence.execute.sandbox.identity import acting_as
from whence.execute.sandbox.kernel import call_kernel
from whence.execute.sandbox.layout import Layout
from whence.execute.sandbox.limits import limit_process
from whence.execute.sandbox.seccomp import Sockets, assemble
from whence.execute.sandbox.start import BASE_ENVIRONMENT, in_memory, wait_for
from whence.execute.sandbox.tools import system_tool
from whence.shapes.process import Program, Resources

_PIDFD_SEND_SIGNAL, _PIDFD_OPEN = 424, 434  # not every Python has functions for them
_CHILD = re.compile(rb'"child-pid": (\d+)\D').search


class Inside:
    """The first process inside: when it ends, all others in there do."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # Its number may be given to somebody else once it is gone; this cannot.
        self._handle: int | None = call_kernel(_PIDFD_OPEN, pid, 0)

    def ask(self) -> None:
        """Ask the program's group, which is another one than bubblewrap's, to end."""
        if self._sent(0):
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGTERM)
                os.killpg(self.pid, signal.SIGCONT)  # what stands still cannot end

    def kill(self) -> bool:
        """End all that is inside; False if there is nothing left to be ended."""
        return self._sent(signal.SIGKILL)

    def limit(self, resources: Resources) -> None:
        """Limit it, and with it all that it will start."""
        with suppress(ProcessLookupError):
            limit_process(self.pid, resources)

    def is_swept(self) -> bool:
        """Wait a little until all inside has ended; bubblewrap itself does not wait for orphans.

        They are children of the first process, which goes when they have gone.
        """
        if self._handle is None or not _children(self.pid):
            return True
        return bool(select.select([self._handle], [], [], PATIENCE_S)[0])

    def close(self) -> None:
        """Forget it."""
        if self._handle is not None:
            os.close(self._handle)
        self._handle = None  # the number may soon belong to somebody else

    def _sent(self, number: int) -> bool:
        if self._handle is None:
            return False
        try:
            call_kernel(_PIDFD_SEND_SIGNAL, self._handle, number, None, 0)
        except ProcessLookupError:
            return False
        return True


class Wrapping:
    """One start of bubblewrap, with the descriptors that it takes."""

    def __init__(self, program: Program, identity: tuple[int, int] | None, layout: Layout) -> None:
        self._program, self._layout = program, layout
        self._identity = identity
        self._taken: set[int] = set()

    def start(
        self, options: Iterable[str], command: list[str], listening: int | None
    ) -> tuple[subprocess.Popen[bytes], Inside | None]:
        """The process, and the first one inside; None if it did not get so far."""
        try:
            return self._start(options, command, listening)
        finally:
            self._close(*self._taken)

    def _start(
        self, options: Iterable[str], command: list[str], listening: int | None
    ) -> tuple[subprocess.Popen[bytes], Inside | None]:
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
        given = self._program.stdin
        stdin = self._take(in_memory(given)) if given else subprocess.DEVNULL
        with acting_as(self._identity):
            process = self._spawn([*argv, "--", *command], stdin, passed)
        inside = None
        try:
            _go_first(process.pid)
            _hand_over(write, options)
            self._close(write, info)
            inside = _first_inside(told)
            if inside is not None:
                with acting_as(self._identity):
                    inside.limit(self._program.confinement.resources)
                self._layout.check(inside.pid)
                os.write(go, b".")
        except BaseException:
            if inside is not None:
                inside.kill()
                inside.close()
            _end(process)
            raise
        return process, inside

    def _spawn(self, argv: list[str], stdin: int, passed: list[int]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            cwd="/",
            env=dict(BASE_ENVIRONMENT),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if self._program.merged else subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
            pass_fds=passed,
        )

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


def _children(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as listed:
            return bool(listed.read(1))
    except OSError:
        return os.path.exists(f"/proc/{pid}")  # not every kernel lists them


def _hand_over(write: int, options: Iterable[str]) -> None:
    """Tell it its options: not on the command line, where everybody could read them."""
    view = memoryview(b"".join(os.fsencode(option) + b"\0" for option in options))
    os.set_blocking(write, False)
    with suppress(BrokenPipeError):  # it ended, and says why itself
        while view:
            wait_for(write, "bubblewrap", writing=True)
            view = view[os.write(write, view) :]


def _go_first(pid: int) -> None:
    """Should memory run out, a sandbox goes before anything else."""
    with suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w", encoding="utf-8") as score:
        score.write("1000")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it before it has begun, while the first process inside is still of its group."""
    os.killpg(process.pid, signal.SIGKILL)
    is_gone(process)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _first_inside(told: int) -> Inside | None:
    """Wait for all that bubblewrap says, which comes in pieces; it waits for us afterwards."""
    said, chunk = b"", b"."
    while chunk:
        wait_for(told, "bubblewrap")
        chunk = os.read(told, 4096)
        said += chunk
    found = _CHILD(said)
    with suppress(ProcessLookupError):  # it has ended already, and bubblewrap says why
        return Inside(int(found.group(1))) if found else None
    return None
