"""Limits of resources, as the kernel counts them per process."""

from __future__ import annotations

import os
import resource
from contextlib import suppress

from whence.shapes.process import Resources

_ADDRESS_SPACE = 8
"""Runtimes reserve far more than they use, so that space is limited more loosely than data."""


def limits_of(resources: Resources) -> dict[str, int]:
    """The limits, by the names that the kernel has for them."""
    return {
        "core": 0,
        "cpu": resources.cpu_s,
        "data": resources.memory_bytes,
        "as": resources.memory_bytes * _ADDRESS_SPACE,
        "fsize": resources.file_bytes,
        "nproc": resources.processes,
        "nofile": resources.descriptors,
    }


def within_ours(name: str, limit: int) -> int:
    """The limit, or our own hard limit where that is lower: it cannot be raised again."""
    number: int = getattr(resource, f"RLIMIT_{name.upper()}")
    hard = resource.getrlimit(number)[1]
    return limit if hard == resource.RLIM_INFINITY else min(limit, hard)


def limit_process(pid: int, resources: Resources) -> None:
    """Limit a process that has not begun yet, and with it all that it will start.

    Raises:
        OSError: It is gone, or not ours.
    """
    limits = limits_of(resources)
    limits["nproc"] += 1  # the sandbox's own first process
    for name, limit in limits.items():
        bound = within_ours(name, limit)
        resource.prlimit(pid, getattr(resource, f"RLIMIT_{name.upper()}"), (bound, bound))


def tasks_of_ours() -> int:
    """How many tasks the kernel counts against our user now."""
    found, ours = 0, os.getuid()
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(FileNotFoundError, ProcessLookupError):
            if os.stat(f"/proc/{name}").st_uid == ours:
                found += len(os.listdir(f"/proc/{name}/task"))
    return found
