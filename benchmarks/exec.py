"""Row 14: JavaScript and Python one-liners beside their engines, started by hand and not confined.

Elapsed time, medians of turns: what a sandbox costs is mostly spent in the kernel, by nobody.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

from benchmarks.measure import Ratio, Result, Skipped, environment
from whence.execute.process import Processes
from whence.loop.session import Session
from whence.shapes.policy import Policy, Quotas, Rule, Verdict

ROUNDS = 31
POLICY = Policy(
    quotas=Quotas(calls=None, calls_per_turn=None, repeats=None),
    rules=tuple(Rule(Verdict.ALLOW, name) for name in ("js.exec", "python.exec")),
)
BY_HAND = "import quickjs; print(quickjs.Context().eval('[1, 2].map(x => x * 2).join()'))"


def ratios() -> Iterator[Result]:
    python, _ = Processes().python()
    with (
        asyncio.Runner() as runner,
        tempfile.TemporaryDirectory() as place,
        Session(place, policy=POLICY, durable=False) as session,
    ):
        if find_spec("_quickjs") is None:
            yield Skipped("14", "js.exec ÷ its engine", "quickjs-ng is not installed")
        else:
            yield _row(
                "js.exec of a one-liner ÷ its engine, imported by Python and run",
                lambda: _call(runner, session, "js.exec", "[1, 2].map(x => x * 2).join()"),
                lambda: _run(sys.executable, "-c", BY_HAND),
                goal=1.5,
            )
        yield _row(
            "python.exec of a one-liner ÷ python -c",
            lambda: _call(runner, session, "python.exec", "[x * 2 for x in (1, 2)]"),
            lambda: _run(python, "-I", "-c", "print([x * 2 for x in (1, 2)])"),
            goal=None,
        )


def _row(
    what: str, ours: Callable[[], object], theirs: Callable[[], object], *, goal: float | None
) -> Ratio:
    spent: list[list[float]] = [[], []]
    for round_ in range(ROUNDS + 1):
        for side, times in zip((ours, theirs), spent, strict=True):
            start = time.perf_counter()
            side()
            if round_:  # the first turn fills caches
                times.append(time.perf_counter() - start)
    return Ratio("14", what, statistics.median(spent[0]), statistics.median(spent[1]), goal)


def _call(runner: asyncio.Runner, session: Session, tool: str, code: str) -> None:
    why = "Check the sum that the page shows"
    arguments: dict[str, Any] = {"code": code}
    outcome = runner.run(session.call(tool, why, **arguments))
    if outcome.fault is not None:
        raise RuntimeError(f"{tool}: {outcome.fault}")


def _run(*argv: str) -> None:
    subprocess.run(argv, env=environment(), capture_output=True, check=True)
