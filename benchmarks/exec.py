"""Row 14: JavaScript and Python one-liners beside their engines, started by hand and not confined.

What the engine by hand is, decides the ratio: the package `quickjs`, as its documentation has it,
imports a good deal that we do without; the bare extension in the interpreter that we use, too, is
the least that can be had, so that the rest is what sandbox, gate and journal cost. All are shown.
Elapsed time, the best of many turns: what a sandbox costs is mostly spent in the kernel, by nobody,
and a call is five processes that follow one another, whose every start waits on a busy machine.
"""

from __future__ import annotations

import asyncio
import os
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
ONE_LINER = "[1, 2].map(x => x * 2).join()"
BY_HAND = f"import quickjs; print(quickjs.Context().eval({ONE_LINER!r}))"
BARE = (
    "import sys; sys.path.insert(0, sys.argv[1]); import _quickjs; "
    f"print(_quickjs.Context().eval({ONE_LINER!r}))"
)


def ratios() -> Iterator[Result]:
    python, _ = Processes().python()
    with (
        asyncio.Runner() as runner,
        tempfile.TemporaryDirectory() as place,
        Session(place, policy=POLICY, durable=False) as session,
    ):
        yield from _javascript(runner, session, python)
        yield _row(
            "python.exec of a one-liner ÷ python -c",
            lambda: _call(runner, session, "python.exec", "[x * 2 for x in (1, 2)]"),
            lambda: _run(python, "-I", "-c", "print([x * 2 for x in (1, 2)])"),
            goal=None,
        )


def _javascript(runner: asyncio.Runner, session: Session, python: str) -> Iterator[Result]:
    found = find_spec("_quickjs")
    if found is None or found.origin is None:
        yield Skipped("14", "js.exec ÷ its engine", "quickjs-ng is not installed")
        return
    place = os.path.dirname(found.origin)
    sides: tuple[tuple[str, tuple[str, ...], float | None], ...] = (
        ("the package quickjs in Python", (sys.executable, "-c", BY_HAND), 1.5),
        ("the bare extension in Python", (sys.executable, "-c", BARE, place), 1.5),
        ("the bare extension in python -I -S", (python, "-I", "-S", "-c", BARE, place), None),
    )
    for what, argv, goal in sides:
        yield _row(
            f"js.exec of a one-liner ÷ {what}",
            lambda: _call(runner, session, "js.exec", ONE_LINER),
            lambda argv=argv: _run(*argv),  # type: ignore[misc]
            goal=goal,
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
    return Ratio("14", what, min(spent[0]), min(spent[1]), goal)


def _call(runner: asyncio.Runner, session: Session, tool: str, code: str) -> None:
    why = "Check the sum that the page shows"
    arguments: dict[str, Any] = {"code": code}
    outcome = runner.run(session.call(tool, why, **arguments))
    if outcome.fault is not None:
        raise RuntimeError(f"{tool}: {outcome.fault}")


def _run(*argv: str) -> None:
    subprocess.run(argv, env=environment(), capture_output=True, check=True)
