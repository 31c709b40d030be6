"""Being somebody else for a moment, in one thread only.

The C library changes the user of all threads at once; the kernel itself knows each thread's own.
What is started in between is somebody else for good: the way back ends where a program begins.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from whence.execute.sandbox.kernel import call_kernel

_SETTERS = {"x86_64": (116, 119, 117), "aarch64": (159, 149, 147)}
"""setgroups, setresgid and setresuid, by machine."""
_GET_DUMPABLE, _SET_DUMPABLE = 3, 4


def can_change() -> bool:
    """Whether this is root on a machine whose numbers are known here."""
    return os.geteuid() == 0 and os.uname().machine in _SETTERS


@contextmanager
def acting_as(who: tuple[int, int] | None) -> Iterator[None]:
    """Be this user and this group, without further groups; None changes nothing.

    Raises:
        OSError: The kernel does not allow it.
    """
    if who is None:
        yield
        return
    set_groups, set_group, set_user = _SETTERS[os.uname().machine]
    dumpable = call_kernel("prctl", _GET_DUMPABLE, 0, 0, 0, 0)
    groups = os.getgroups()
    try:
        call_kernel(set_groups, 0, None)
        call_kernel(set_group, who[1], who[1], 0)
        call_kernel(set_user, who[0], who[0], 0)
        yield
    finally:
        call_kernel(set_user, 0, 0, 0)
        call_kernel(set_group, 0, 0, 0)
        call_kernel(set_groups, len(groups), (ctypes.c_uint32 * len(groups))(*groups))
        call_kernel("prctl", _SET_DUMPABLE, dumpable, 0, 0, 0)
