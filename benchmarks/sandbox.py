"""Row 13: a program in the sandbox beside the same program without, and beside bubblewrap by hand.

Elapsed time, medians of turns: what a sandbox costs is mostly spent in the kernel, by nobody.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.measure import Ratio, Result, Skipped
from whence.execute.process import Processes
from whence.execute.sandbox.bubblewrap import Bubblewrap
from whence.execute.sandbox.choose import best_sandbox
from whence.execute.sandbox.ground import NOBODY, Standing
from whence.execute.sandbox.layout import Layout
from whence.execute.sandbox.tools import system_tool
from whence.shapes.process import Confinement, Program

ROUNDS = 41
MOST_EXTRA_S = 0.025
RECIPE = (
    "--unshare-user --disable-userns --unshare-pid --unshare-net --unshare-ipc --unshare-uts "
    "--cap-drop ALL --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib "
    "--symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --clearenv --new-session "
    "--die-with-parent"
).split()
"""The least that keeps a program in; nothing hidden, nothing limited."""


def ratios() -> Iterator[Result]:
    sandbox = best_sandbox()
    if not isinstance(sandbox, Bubblewrap):
        yield Skipped("13", "a sandboxed true", f"the best sandbox here is {sandbox.name}")
        return
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        program = Program(("true",), place, Confinement((place,)))
        processes = Processes(sandbox=sandbox)
        ours, plain, same, recipe = _medians(
            lambda: runner.run(processes.run(program)),
            lambda: _run(["true"]),
            lambda: _run(_by_hand(sandbox, program)),
            lambda: _run([*_bwrap(), *RECIPE, "--bind", place, place, "--", "true"]),
        )
    yield Ratio("13", "what a sandboxed true costs beyond a plain one ÷ 25 ms",
                ours - plain, MOST_EXTRA_S, 1)  # fmt: skip
    yield Ratio("13", "a sandboxed true ÷ bwrap by hand, same walls", ours, same, 1.3)
    yield Ratio("13", "a sandboxed true ÷ bwrap by hand, shortest command line", ours, recipe)


def _medians(*sides: Callable[[], object]) -> list[float]:
    spent: list[list[float]] = [[] for _ in sides]
    for side in sides:
        side()
    for _ in range(ROUNDS):
        for side, times in zip(sides, spent, strict=True):
            start = time.perf_counter()
            side()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in spent]


def _run(argv: Sequence[str]) -> None:
    subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=True)


def _bwrap() -> list[str]:
    if os.geteuid():
        return [system_tool("bwrap")]
    dropped = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
    return [system_tool("setpriv"), *dropped, system_tool("bwrap")]


def _by_hand(sandbox: Bubblewrap, program: Program) -> list[str]:
    options, _ = sandbox._options(program, {program.cwd: True}, Standing(), Layout())
    return [*_bwrap(), *options, "--", system_tool("true")]
