"""Work done in a process of its own, which may be killed."""

from __future__ import annotations

import errno
import os
import signal
import traceback
from collections.abc import Callable

CALLS = (
    "close", "fchmod", "fdatasync", "fsync", "link", "listdir", "mkdir", "open", "rename",
    "replace", "rmdir", "stat", "unlink", "write",
)  # fmt: skip
"""The functions of `os` between which a process can die."""


def forked(work: Callable[[], object]) -> int:
    """What became of the work: 0, 1 after an exception, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - the parent must get an exit code, whatever happens
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def die_at(count: int, *, after: bool = False) -> None:
    """Let this process be killed at its call number `count` of the system, before or after it."""
    made = 0

    def wrapped(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            nonlocal made
            made += 1
            due = made == count
            if due and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return real(*args, **options)
            finally:
                if due:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call

    for name in CALLS:
        setattr(os, name, wrapped(getattr(os, name)))


def refuse_links() -> None:
    """Let this process see a filesystem without hard links."""

    def refused(*args: object, **options: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    os.link = refused


def fail_at(count: int, error: OSError, *, always: bool = False) -> None:
    """Let call number `count` of the system fail in this process, or all calls from there on."""
    made = 0

    def wrapped(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            nonlocal made
            made += 1
            if made == count or (always and made > count):
                raise error
            return real(*args, **options)

        return call

    for name in set(CALLS) - {"close"}:
        setattr(os, name, wrapped(getattr(os, name)))
