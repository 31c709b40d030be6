"""What every sandbox is to the one who runs programs in it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from whence.errors import PermissionDenied, Unavailable
from whence.shapes.process import Isolation, Program

BASE_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}
"""What a program sees of an environment, besides a home and what its call declares."""

PATIENCE_S = 20.0


def _nothing() -> None:
    return


def _at_once() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Started:
    """A program that was started, and the ways to end it."""

    process: subprocess.Popen[bytes]
    isolation: Isolation
    ask: Callable[[], None]
    """Asks the program and its children to end."""
    kill: Callable[[], None]
    """Ends the program and everything that it started, at once."""
    swept: Callable[[], bool] = _at_once
    """Once it has ended: waits a little until all that it started has; whether it has."""
    release: Callable[[], None] = _nothing
    """Takes away what was made for it; called once, when it has ended."""


class Sandbox(Protocol):
    """One way to keep programs apart."""

    def __hash__(self) -> int:
        """It is tried out once."""
        ...

    @property
    def name(self) -> str:
        """As a person knows it."""
        ...

    @property
    def has_own_network(self) -> bool:
        """Whether the program's only way out is a proxy that we serve."""
        ...

    def start(self, program: Program, listening: int | None = None) -> Started:
        """Start a program; blocks for some milliseconds, always called in the same thread.

        Args:
            program: what to run; its paths are absolute and exist.
            listening: a socket over which the program's side of a proxy is to be handed out.

        Raises:
            Unavailable: There is no such program inside.
        """
        ...

    def exit_code(self, status: int) -> int:
        """The program's own exit code; negative for a signal."""
        ...

    def complaint(self, status: int, output: bytes) -> str:
        """Why the sandbox itself failed; empty if it is the program that ended so."""
        ...


def check_demand(program: Program, name: str, isolation: Isolation) -> None:
    """Called before anything of the program runs.

    Raises:
        PermissionDenied: It must be isolated fully, and would not be.
    """
    if program.confinement.required and not isolation.full:
        raise PermissionDenied(
            f"{program.argv[0]!r} must be isolated, and this machine cannot do it fully ({name})",
            "`whence doctor` says what is missing.",
            details={"isolation": isolation.as_json()},
        )


def signal_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to a process group, if it is still there and ours."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def wait_for(descriptor: int, what: str, *, writing: bool = False) -> None:
    """Wait until a helper can be read from or written to, but not for ever.

    Raises:
        Unavailable: It does nothing.
    """
    asked = ([], [descriptor]) if writing else ([descriptor], [])
    if not any(select.select(*asked, [], PATIENCE_S)):
        raise Unavailable(f"{what} does not answer", "Try again when the machine is idle.")


def in_memory(data: bytes) -> int:
    """A descriptor from which the data can be read; it is in no directory."""
    made = _nameless()
    view = memoryview(data)
    while view:
        view = view[os.write(made, view) :]
    os.lseek(made, 0, os.SEEK_SET)
    return made


def _nameless() -> int:
    try:
        return os.memfd_create("whence")
    except (AttributeError, OSError):  # not every Python and not every kernel has it
        import tempfile

        with tempfile.TemporaryFile() as made:
            return os.dup(made.fileno())
