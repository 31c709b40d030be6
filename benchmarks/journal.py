"""A journal of a hundred thousand events, about 100 MB, beside one of a tenth of that."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from benchmarks.measure import (
    Ratio,
    Result,
    compare,
    of_function,
    of_reading,
    peak_memory,
)
from whence.journal.query import stats, why
from whence.journal.read import last_entries
from whence.journal.verify import verify
from whence.journal.write import Journal
from whence.shapes.event import Event

LARGE, SMALL = 100_000, 10_000
TIMES = f"{LARGE:,} ÷ {SMALL:,} events"
LINEAR, CONSTANT = 13, 1.3
"""What ten times the size may cost at the most, for what is to be linear, and constant."""
FILES = 1_000
APPENDS = 200
PATH = "src/module_7.py"
TEXT = "The settings are read once, when the session starts, and handed down. " * 9
_QUESTIONS = {
    "verify": "from whence.journal.verify import verify as ask; ask(sys.argv[1])",
    "why PATH": f"from whence.journal.query import why; list(why(sys.argv[1], {PATH!r}))",
    "stats": "from whence.journal.query import stats as ask; ask(sys.argv[1])",
    "show --last 20": "from whence.journal.read import last_entries as ask; ask(sys.argv[1], 20)",
}


def ratios() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as root:
        large, small = _written(root, LARGE), _written(root, SMALL)
        yield from _appending(root)
        yield from _asking(large, small)
        yield from _remembering(large, small)


def _appending(root: str) -> Iterator[Result]:
    with _opened(root, str(LARGE)) as large, _opened(root, "empty") as empty:
        numbers = count()
        ours, theirs = (
            of_function(lambda to=to: _step(to, next(numbers)), APPENDS)  # type: ignore[misc]
            for to in (large, empty)
        )
        what = f"append to {LARGE:,} events ÷ to an empty journal"
        yield compare("J", what, ours, theirs, goal=CONSTANT, rounds=15)


def _asking(large: Path, small: Path) -> Iterator[Result]:
    def both(question: Callable[[Path], object]) -> tuple[Callable[[], object], ...]:
        return lambda: question(large), lambda: question(small)

    big, little = both(lambda log: _sound(log))
    yield compare(
        "J", f"log verify, {TIMES}", of_function(big), of_function(little, 3), goal=LINEAR
    )
    hashing = of_function(lambda: _hashed(large))
    yield compare("J", "log verify ÷ sha256 of the same bytes", of_function(big), hashing, goal=None)
    big, little = both(stats)
    yield compare(
        "J", f"log stats, {TIMES}", of_function(big), of_function(little, 3), goal=LINEAR
    )
    big, little = both(lambda log: list(why(log, PATH)))
    yield compare(
        "J", f"log why PATH, {TIMES}", of_function(big), of_function(little, 5), goal=LINEAR
    )
    yield Ratio("J", "log why PATH, bytes read ÷ all", of_reading(big)(), _size(large), 0.1)
    big, little = both(lambda log: last_entries(log, 20))
    yield compare(
        "J", f"log show --last 20, {TIMES}", of_function(big, 5), of_function(little, 5),
        goal=CONSTANT,
    )  # fmt: skip
    yield Ratio("J", "log show --last 20, bytes read ÷ all", of_reading(big)(), _size(large), 0.01)


def _remembering(large: Path, small: Path) -> Iterator[Result]:
    for name, question in _QUESTIONS.items():
        program = sys.executable, "-c", f"import sys; {question}"
        big, little = (min(peak_memory(*program, log) for _ in range(3)) for log in (large, small))
        yield Ratio("J", f"log {name}, peak memory, {TIMES}", big, little, CONSTANT)


def _written(root: str, events: int) -> Path:
    with _opened(root, str(events)) as journal:
        for number in range(events // 2):
            _step(journal, number)
        return Path(journal.directory)


class _opened:  # noqa: N801 - reads as what it does
    """A journal without syncs, let go at the end."""

    def __init__(self, root: str, name: str) -> None:
        self.journal = Journal.open(root, name, durable=False)

    def __enter__(self) -> Journal:
        return self.journal

    def __exit__(self, *_: object) -> None:
        self.journal.close()


def _step(journal: Journal, number: int) -> None:
    """A call and its result, about a thousand bytes each."""
    path, reason = f"src/module_{number % FILES}.py", f"Keep what step {number} found out"
    arguments = {"path": path, "content": TEXT, "why": reason}
    fields = {"tool": "fs.write", "args": arguments, "paths": [path]}
    call_id = journal.append_call(Event("tool_call", fields, "Tool Call: fs.write", reason))
    result = {"bytes_written": len(TEXT), "created": False, "head": TEXT}
    fields = {"call_id": call_id, "tool": "fs.write", "success": True, "duration_ms": 0.7}
    journal.append(Event("tool_result", fields | {"result": result}, "Tool Result: fs.write"))


def _sound(log: Path) -> None:
    report = verify(log)
    if not report.ok:
        raise RuntimeError(f"the journal is broken: {report.problems[:3]}")


def _hashed(log: Path) -> None:
    for part in sorted(log.glob("session-log*.md")):
        with part.open("rb") as file:
            hashlib.file_digest(file, "sha256")


def _size(log: Path) -> int:
    return sum(part.stat().st_size for part in log.glob("session-log*.md"))
