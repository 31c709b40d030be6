"""read_file on a file of 2 GB: its last lines beside its first ones, and lines by their number."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result, compare, of_function, of_reading
from whence.loop.session import Session
from whence.shapes.policy import Limits, Policy, Quotas

SIZE = 2_000_000_000
LINE = b"2031-04-01T12:00:00Z worker %09d finished its part of the job without complaint\n"
BATCH = 100_000
LINES = 100
FAR = SIZE
"""An offset past the end of any file of that size."""
UNLIMITED = Policy(
    quotas=Quotas(calls=None, calls_per_turn=None, repeats=None),
    limits=Limits(turn_chars=SIZE),
)
TIMES = 50


def ratios() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
        total = _written(Path(directory, "huge.log"))
        with Session(directory, policy=UNLIMITED, durable=False) as session:

            def read(offset: int, times: int = 1) -> str:
                return runner.run(_read(session, offset, times))

            _check(read(0), 0)
            _check(read(FAR), total - LINES)
            first, last = (of_function(lambda at=at: read(at, TIMES)) for at in (0, FAR))  # type: ignore[misc]
            what = f"read_file, the last {LINES} lines of 2 GB ÷ the first {LINES}"
            yield compare("R", what, last, first, goal=1.2)
            first, last = (of_reading(lambda at=at: read(at)) for at in (0, FAR))  # type: ignore[misc]
            yield compare("R", f"{what}, bytes read", last, first, goal=4)
            runner.run(asyncio.sleep(3))  # until the file counts as settled
            _check(read(total - LINES), total - LINES)
            first, last = (of_function(lambda at=at: read(at, 5)) for at in (0, total - LINES))  # type: ignore[misc]
            what = "the same lines by their number, once the file was counted ÷ the first"
            yield compare("R", f"read_file, {what}", last, first, goal=None)


async def _read(session: Session, offset: int, times: int) -> str:
    for _ in range(times):
        outcome = await session.call(
            "read_file", "Find out how the job ended", file="huge.log", offset=offset,
            line_count=LINES,
        )  # fmt: skip
        if outcome.fault is not None:
            raise RuntimeError(f"read_file failed: {outcome.fault}")
    return str(outcome.result)


def _check(page: str, first: int) -> None:
    lines = page.split("\n")[2:]
    if len(lines) != LINES or f"{first:09}" not in lines[0]:
        raise RuntimeError(f"read_file showed other lines than those from {first}: {lines[:1]}")


def _written(path: Path) -> int:
    """Write the file; how many lines it has."""
    total = SIZE // len(LINE % 0)
    with path.open("wb") as file:
        for begin in range(0, total, BATCH):
            end = min(begin + BATCH, total)
            file.write(b"".join([LINE % number for number in range(begin, end)]))
    return total
