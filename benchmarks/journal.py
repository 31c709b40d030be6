"""A journal of a hundred thousand events, about 100 MB, beside one of a tenth of that."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

from benchmarks.measure import Ratio, Result, compare, of_function, of_reading, peak_memory
from benchmarks.startup import WHENCE
from whence.journal.query import stats, why
from whence.journal.read import last_entries
from whence.journal.sessions import SESSIONS
from whence.journal.verify import verify
from whence.journal.write import Journal
from whence.shapes.event import Event

LARGE, SMALL = 100_000, 10_000
TIMES = f"{LARGE:,} ÷ {SMALL:,} events"
LINEAR, CONSTANT = 13, 1.3
"""What ten times the size may cost at the most, for what is to be linear, and constant."""
NEEDED = 0.1
"""How much of a journal a question about little of it may read: the open part and the indices."""
FILES = 1_000
APPENDS = 200
PATH = "src/module_7.py"
TEXT = "The settings are read once, when the session starts, and handed down. " * 9
QUESTIONS = (["verify"], ["why", PATH], ["stats"], ["show", "--last", "20"])


def ratios() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as workspace:
        sessions = os.path.join(workspace, SESSIONS)
        large, small = _written(sessions, LARGE), _written(sessions, SMALL)
        yield from _appending(sessions)
        yield from _asking(large, small)
        yield from _remembering(workspace)


def _appending(sessions: str) -> Iterator[Result]:
    with _opened(sessions, str(LARGE)) as large, _opened(sessions, "empty") as empty:
        numbers = count()
        ours, theirs = (
            of_function(lambda to=to: _step(to, next(numbers)), APPENDS)  # type: ignore[misc]
            for to in (large, empty)
        )
        what = f"append to {LARGE:,} events ÷ to an empty journal"
        yield compare("J", what, ours, theirs, goal=CONSTANT, rounds=15)


def _asking(large: Path, small: Path) -> Iterator[Result]:
    def grown(name: str, question: Callable[[Path], object], goal: float) -> Result:
        ours, theirs = (of_function(lambda log=log: question(log)) for log in (large, small))  # type: ignore[misc]
        return compare("J", f"log {name}, {TIMES}", ours, theirs, goal=goal)

    def read(name: str, question: Callable[[Path], object]) -> Result:
        ours = of_reading(lambda: question(large))()
        return Ratio("J", f"log {name}, bytes read ÷ all bytes", ours, _size(large), NEEDED)

    yield grown("verify", _sound, LINEAR)
    check, hashing = of_function(lambda: _sound(large)), of_function(lambda: _hashed(large))
    yield compare("J", "log verify ÷ sha256 of the same bytes", check, hashing, goal=None)
    yield grown("stats", stats, LINEAR)
    yield grown("why PATH", _reasons, LINEAR)
    yield read("why PATH", _reasons)
    yield grown("show --last 20", _last, CONSTANT)
    yield read("show --last 20", _last)


def _remembering(workspace: str) -> Iterator[Result]:
    def peak(question: Sequence[str], session: int) -> float:
        command = [str(WHENCE), "log", *question, "-C", workspace, "--session", str(session)]
        return min(peak_memory(*command) for _ in range(3))

    for question in QUESTIONS:
        name = " ".join(question).replace(PATH, "PATH")
        large, small = (peak(question, session) for session in (LARGE, SMALL))
        yield Ratio("J", f"log {name}, peak memory, {TIMES}", large, small, CONSTANT)


def _written(sessions: str, events: int) -> Path:
    with _opened(sessions, str(events)) as journal:
        for number in range(events // 2):
            _step(journal, number)
        return Path(journal.directory)


def _opened(sessions: str, name: str) -> closing[Journal]:
    return closing(Journal.open(sessions, name, durable=False))


def _step(journal: Journal, number: int) -> None:
    """A call and its result, about a thousand bytes each."""
    path, reason = f"src/module_{number % FILES}.py", f"Keep what step {number} found out"
    arguments = {"path": path, "content": TEXT, "why": reason}
    asked = {"tool": "fs.write", "args": arguments, "paths": [path]}
    call_id = journal.append_call(Event("tool_call", asked, "Tool Call: fs.write", reason))
    answered = {
        "call_id": call_id, "tool": "fs.write", "success": True, "duration_ms": 0.7,
        "result": {"bytes_written": len(TEXT), "created": False, "head": TEXT},
    }  # fmt: skip
    journal.append(Event("tool_result", answered, "Tool Result: fs.write"))


def _sound(log: Path) -> None:
    report = verify(log)
    if not report.ok:
        raise RuntimeError(f"the journal is broken: {report.problems[:3]}")


def _reasons(log: Path) -> None:
    if not list(why(log, PATH)):
        raise RuntimeError(f"{PATH} was never touched")


def _last(log: Path) -> None:
    if len(last_entries(log, 20)) != 20:
        raise RuntimeError("the last events are not there")


def _hashed(log: Path) -> None:
    for part in sorted(log.glob("session-log*.md")):
        with part.open("rb") as file:
            hashlib.file_digest(file, "sha256")


def _size(log: Path) -> int:
    return sum(part.stat().st_size for part in log.glob("session-log*.md"))
