"""Programs behind walls of their own making, where there are no namespaces to put them in."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache, partial
from inspect import getsource
from typing import Any

from whence.errors import Unavailable
from whence.execute.sandbox import landlock, launcher
from whence.execute.sandbox.hidden import Veil
from whence.execute.sandbox.limits import limits_of, tasks_of_ours, within_ours
from whence.execute.sandbox.seccomp import Sockets, assemble
from whence.execute.sandbox.start import BASE_ENVIRONMENT, Started, check_demand, in_memory
from whence.execute.sandbox.view import (
    directories,
    find_program,
    inner_python,
    settings,
    system_trees,
)
from whence.shapes.process import Isolation, Level, Program


class LimitsOnly:
    """Limits of resources and a clean end; files and network stay as open as they are to us."""

    name = "limits only"
    has_own_network = False

    def start(self, program: Program, listening: int | None = None) -> Started:
        """Start a program under a launcher that ends all that it leaves behind."""
        given = directories(program)
        scratch = tempfile.mkdtemp(prefix="whence-")
        try:
            environment = {**BASE_ENVIRONMENT, "HOME": scratch, "TMPDIR": scratch, **program.env}
            walls, isolation = self._walls(program, given, scratch)
            check_demand(program, self.name, isolation)
            limited = limits_of(program.confinement.resources)
            limited["nproc"] += tasks_of_ours()  # here the kernel counts all that a user runs
            orders = {
                "argv": [self._find(program, environment["PATH"], given), *program.argv[1:]],
                "cwd": os.path.realpath(program.cwd),
                "env": environment,
                "limits": {name: within_ours(name, limit) for name, limit in limited.items()},
                "parent": os.getpid(),
                **walls,
            }
            process = _spawn(orders, program)
        except BaseException:
            shutil.rmtree(scratch)
            raise
        ask, kill = endings(process)
        release = partial(shutil.rmtree, scratch, True)
        return Started(process, isolation, ask, kill, release=release)

    def exit_code(self, status: int) -> int:
        """The launcher ends as its program ended."""
        return status

    def complaint(self, status: int, output: bytes) -> str:
        """What the launcher said when it could not start the program."""
        failed = status == launcher.FAILED and output.startswith(launcher.COMPLAINT.encode())
        return output.decode(errors="replace").strip() if failed else ""

    def _find(self, program: Program, search: str, given: dict[str, bool]) -> str:
        return find_program(program, search, ("",))

    def _walls(
        self, program: Program, given: dict[str, bool], scratch: str
    ) -> tuple[dict[str, Any], Isolation]:
        filtered = assemble(Sockets.OWN_NAMESPACE, os.uname().machine, shared=True)
        walls = {"landlock": None, "seccomp": filtered.hex() if filtered else None}
        return walls, Isolation(processes=Level.PARTIAL)


class Landlock(LimitsOnly):
    """Only declared paths, no sockets, and signals to nobody outside."""

    name = "landlock"

    def start(self, program: Program, listening: int | None = None) -> Started:
        """Start a program that has given up the rest of the machine."""
        if not landlock.version():
            raise Unavailable("this kernel has no Landlock", "Use Linux 5.13 or later.")
        return super().start(program, listening)

    def _find(self, program: Program, search: str, given: dict[str, bool]) -> str:
        return find_program(program, search, (*system_trees(), *given))

    def _walls(
        self, program: Program, given: dict[str, bool], scratch: str
    ) -> tuple[dict[str, Any], Isolation]:
        confinement = program.confinement
        bare = confinement.bare
        shown = (*system_trees(), *settings(bare=bare), *(() if bare else ("/proc",)))
        readable = dict.fromkeys(map(os.path.realpath, shown))
        rules = [landlock.opened(path, landlock.READ) for path in readable]
        if not bare:
            own = landlock.opened(os.path.realpath(scratch), landlock.WRITE)
            rules += [*landlock.devices(), own]
        for path, writable in given.items():
            veiled = Veil(path, confinement.hidden, confinement.shown).look()
            rights = landlock.WRITE if writable else landlock.READ
            rules += landlock.below(path, rights, veiled)
        handled, fields = landlock.handled()
        sockets = Sockets.OWN_NAMESPACE if confinement.hosts else Sockets.NONE
        filtered = assemble(sockets, os.uname().machine, shared=True)
        if confinement.hosts:
            handled, network = (handled[0], 0, handled[2]), Level.NONE
        else:
            network = Level.ENFORCED if filtered else Level.PARTIAL
        walls = {
            "landlock": {"handled": handled, "fields": fields, "rules": rules},
            "seccomp": filtered.hex() if filtered else None,
        }
        return walls, Isolation(Level.PARTIAL, network, Level.PARTIAL)


def _spawn(orders: dict[str, Any], program: Program) -> subprocess.Popen[bytes]:
    stdin = in_memory(program.stdin) if program.stdin else subprocess.DEVNULL
    try:
        return launch(orders, stdin, subprocess.STDOUT if program.merged else subprocess.PIPE)
    finally:
        if stdin != subprocess.DEVNULL:
            os.close(stdin)


def launch(orders: dict[str, Any], stdin: int, stderr: int) -> subprocess.Popen[bytes]:
    """The launcher, at work on its orders; always called in the thread that lives on."""
    given = in_memory(json.dumps(orders).encode())
    # It starts with its signals held back: one that comes before it can listen is not lost, also
    # where we were started in the background and ignore some of them.
    ours = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGQUIT))
    try:
        return subprocess.Popen(
            [_python(), "-I", "-S", "-c", _script(), str(given)],
            cwd="/",
            env=dict(BASE_ENVIRONMENT),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            bufsize=0,
            pass_fds=[given],
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, ours)
        os.close(given)


@lru_cache(maxsize=1)
def _script() -> str:
    return getsource(launcher)


def _python() -> str:
    return sys.executable if os.access(sys.executable, os.X_OK) else inner_python()[0]


def endings(process: subprocess.Popen[bytes]) -> tuple[Callable[[], None], Callable[[], None]]:
    """How a launched program is asked to end, and how it is ended.

    The launcher is asked even for the hard end: only it knows what is left to be ended.
    """

    def send(number: signal.Signals) -> None:
        if process.returncode is None:
            process.send_signal(number)

    return partial(send, signal.SIGTERM), partial(send, signal.SIGQUIT)
