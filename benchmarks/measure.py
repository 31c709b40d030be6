"""Costs of two sides, taken by turns, and the ratio between them.

CPU time repeats on a busy machine where elapsed time does not, so it is what is compared; the best
of several rounds counts, since noise only ever adds.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

ROUNDS = 5

Side: TypeAlias = Callable[[], float]
"""Does its work once more and says what it cost."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """What our side costs in terms of the other one."""

    row: str
    what: str
    ours: float
    theirs: float
    goal: float | None = None
    """The most that the ratio may be; None where it is only reported."""

    @property
    def value(self) -> float:
        """Ours divided by theirs."""
        return self.ours / self.theirs if self.theirs > 0 else math.inf

    @property
    def verdict(self) -> str:
        """Whether the goal is met."""
        if self.goal is None:
            return ""
        return "met" if self.value <= self.goal else "NOT MET"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A comparison that cannot be made here."""

    row: str
    what: str
    reason: str


Result: TypeAlias = Ratio | Skipped


def compare(
    row: str, what: str, ours: Side, theirs: Side, *, goal: float | None, rounds: int = ROUNDS
) -> Ratio:
    """The ratio of the best of both sides."""
    best, least = alternately(ours, theirs, rounds=rounds)
    return Ratio(row, what, best, least, goal)


def alternately(*sides: Side, rounds: int = ROUNDS) -> list[float]:
    """The least that each side cost, in rounds of which each has one turn of every side."""
    for side in sides:
        side()  # fills caches, and writes bytecode
    costs = zip(*([side() for side in sides] for _ in range(rounds)), strict=True)
    return [min(cost) for cost in costs]


def cpu() -> float:
    """CPU seconds of this process and of the children that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def of_function(function: Callable[[], object], times: int = 1) -> Side:
    """CPU seconds of one call, children included."""

    def side() -> float:
        start = cpu()
        for _ in range(times):
            function()
        return (cpu() - start) / times

    return side


def of_reading(function: Callable[[], object]) -> Side:
    """How many bytes one call asks the system to read, from the disk or its cache."""

    def side() -> float:
        start = _bytes_read()
        function()
        return _bytes_read() - start

    return side


def _bytes_read() -> int:
    with open("/proc/self/io", "rb") as counters:
        return int(counters.readline().split()[1])


def of_command(*argv: str | os.PathLike[str], cwd: str | os.PathLike[str] | None = None) -> Side:
    """CPU seconds of a program, from its start to its end, whose output is read and dropped."""

    def side() -> float:
        with subprocess.Popen(
            argv, cwd=cwd, env=environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            said = process.stdout.read() if process.stdout else b""
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            end = said[-2000:].decode(errors="replace")
            raise RuntimeError(f"{argv} ended with status {process.returncode}: {end}")
        return used.ru_utime + used.ru_stime

    return side


_LAUNCHER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(*argv: str | os.PathLike[str]) -> float:
    """The most KiB that a program held."""
    # A small launcher starts it, since Linux counts what the starter held as the program's own.
    command = [sys.executable, "-c", _LAUNCHER, *argv]
    done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def environment() -> Mapping[str, str]:
    """The environment of a program that is measured: bytecode is kept, so that none is compiled."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def version_of(*argv: str) -> str:
    """The first line that a program says about itself; `absent` where there is none."""
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "absent"
    return done.stdout.decode(errors="replace").partition("\n")[0]


def conditions() -> str:
    """What a result depends on besides the code."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs, load {load}"
