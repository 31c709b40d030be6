"""Calls of the C library and of the kernel that Python has no function for."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache


@lru_cache(maxsize=1)
def libc() -> ctypes.CDLL:
    """The C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def call_kernel(what: str | int, *arguments: object) -> int:
    """Call a function of the C library by its name, or the kernel by a number.

    Raises:
        OSError: It answered with a negative number.
    """
    function = libc().syscall if isinstance(what, int) else getattr(libc(), what)
    given = (what, *arguments) if isinstance(what, int) else arguments
    answer: int = function(*given)
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(what))
    return answer
