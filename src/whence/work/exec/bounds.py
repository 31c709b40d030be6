"""How long a program of a call may take, and what it may use up meanwhile."""

from __future__ import annotations

import math
import os
from typing import Any

from whence.execute.ports import Ports
from whence.shapes.process import Resources

GRACE_MS = 5_000
"""What ending a program at its own time limit, and telling of it, may take."""
_DEEPEST = 64
SHOWN = 4_000
"""How many bytes of each output come along with the news that the time was over."""


def time_allowed(asked_ms: int, ports: Ports) -> tuple[float, tuple[str, ...]]:
    """Seconds for the program itself, and a warning where that is less than was asked for."""
    most = max(ports.timeout_ms - GRACE_MS, 1)
    if asked_ms <= most:
        return asked_ms / 1000, ()
    return most / 1000, (f"timeout_ms is {asked_ms}, and no more than {most} is allowed here",)


def within(
    seconds: float,
    *,
    memory_bytes: int = 2_000_000_000,
    file_bytes: int = 1_000_000_000,
    processes: int = 256,
) -> Resources:
    """Limits for a program that may take so long, with all processors at its own disposal."""
    cpu_s = math.ceil(seconds) * (os.cpu_count() or 1) + 1
    return Resources(cpu_s, memory_bytes, file_bytes, processes)


def tail(data: bytes) -> str:
    """The end of an output, as text."""
    return data[-SHOWN:].decode("utf-8", "replace")


def is_shallow(value: Any) -> bool:
    """Whether others can walk it without running out of stack."""
    layer = [value]
    for _ in range(_DEEPEST):
        layer = [child for item in layer if isinstance(item, list | dict)
                 for child in (item.values() if isinstance(item, dict) else item)]  # fmt: skip
        if not layer:
            return True
    return False
