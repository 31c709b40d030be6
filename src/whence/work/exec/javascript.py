"""JavaScript, run by an engine of its own in a process of its own, which has no files at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whence.errors import ExecutionFailed, TimedOut, Unavailable
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.process import Confinement, Finished, Program
from whence.work.exec.bounds import SHOWN, is_shallow, tail, time_allowed, within
from whence.work.exec.results import Answered

_ENGINE = "_quickjs"
_INSTALL = "Install the extra: pip install whence[js]"
_MEMORY = 600_000_000
"""For the whole process; the engine stops the code long before."""
_MOST_VALUE = 4_000_000
_LINES_SHOWN = 100
_HERE = Path(__file__)


async def run_javascript(
    ports: Ports, code: str, given: Mapping[str, Any] | None, timeout_ms: int
) -> Reply:
    """Value and console lines of the code. What it throws is a result: the last line says it.

    Raises:
        TimedOut: it took too long; its console lines come along.
        Unavailable: there is no engine.
        ExecutionFailed: the engine broke down.
    """
    seconds, warnings = time_allowed(timeout_ms, ports)
    python, readable = ports.processes.python()
    limits = within(seconds, memory_bytes=_MEMORY, file_bytes=16_000_000, processes=8)
    with _engine() as place:
        program = Program(
            (python, "-I", "-S", "-c", _script(), place),
            place,
            Confinement(readable=(*readable, place), resources=limits, bare=True),
            stdin=_request(code, json.dumps(given)),
            timeout_s=seconds,
            reports=True,
        )
        done = await ports.processes.run(program, on_output=ports.on_output)
    return _reply(done, seconds, warnings)


@dataclass(slots=True)
class _Told:
    """What the lines of the report add up to; whoever breaks the engine can write them, too."""

    value: Any = None
    logs: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    truncated: bool = False
    ended: bool = False

    def take(self, kind: str, text: str) -> None:
        """One line more."""
        if kind == "L":
            self.logs.append(_text(json.loads(text)))
        elif kind == "R":
            self.value, self.truncated = _value(text)
        elif kind == "E":
            name, said = map(_text, json.loads(text))
            self._threw(said, name or said)
        elif kind == "F":
            self._threw(text, text)
        elif kind == "N":
            self.notes.append("its promise is never settled, so that there is no result")
        elif kind == "X":
            self.truncated = True
            self.notes.append(f"{text} more lines for the console were left out")
        elif kind == "U":
            raise Unavailable(f"the JavaScript engine cannot be used: {text}", _INSTALL)
        self.ended = kind == "Z"

    def _threw(self, said: str, name: str) -> None:
        self.logs.append(f"Uncaught {said}")
        self.notes.append(f"the code threw {name[:200]}; logs say where")


def _reply(done: Finished, seconds: float, warnings: tuple[str, ...]) -> Reply:
    told = _Told()
    try:
        for kind, text in _lines(done.stdout):
            told.take(kind, text)
    except (ValueError, RecursionError):
        raise _broken(done) from None
    if done.timed_out:
        raise _too_long(seconds, told.logs)
    if not told.ended:
        raise _broken(done)
    return Reply(
        Answered(told.value, told.logs),
        told.truncated,
        (*warnings, *told.notes),
        isolation=done.isolation.as_json(),
    )


def _lines(output: bytes) -> Iterator[tuple[str, str]]:
    """What was reported; of a line that the end of the time cut in two, nothing."""
    for line in output.split(b"\n")[:-1]:
        yield chr(line[0]) if line else "", line[1:].decode("utf-8", "replace")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} is no text")  # noqa: TRY004 - as the parser's own
    return value


def _value(text: str) -> tuple[Any, bool]:
    """The value, and whether it was cut."""
    if len(text) > _MOST_VALUE:
        return text[:_MOST_VALUE], True
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text, False
    return (value if is_shallow(value) else text), False


def _request(code: str, given: str) -> bytes:
    parts = (_prelude(), code.encode(), given.encode())
    return b" ".join(str(len(part)).encode() for part in parts) + b"\n" + b"".join(parts)


@contextmanager
def _engine() -> Iterator[str]:
    """A directory that holds the engine and nothing else, for as long as it is needed."""
    found = find_spec(_ENGINE)
    if found is None or found.origin is None:
        raise Unavailable(
            "JavaScript needs the engine quickjs-ng, which is not installed",
            _INSTALL,
            recoverable=False,
        )
    with TemporaryDirectory(prefix="whence-") as place:
        path = os.path.join(place, os.path.basename(found.origin))
        try:
            os.link(found.origin, path)
        except OSError:  # another file system, or another owner
            shutil.copyfile(found.origin, path)
        yield place


@lru_cache(maxsize=1)
def _prelude() -> bytes:
    return _HERE.with_name("javascript_prelude.js").read_bytes()


@lru_cache(maxsize=1)
def _script() -> str:
    return _HERE.with_name("javascript_inside.py").read_text(encoding="utf-8")


def _too_long(seconds: float, logs: list[Any]) -> TimedOut:
    return TimedOut(
        f"the code did not end within {seconds:g} s and was stopped",
        "Do less at once, or give a larger timeout_ms.",
        details={"logs": "\n".join(logs[-_LINES_SHOWN:])[-SHOWN:]},
    )


def _broken(done: Finished) -> ExecutionFailed:
    how = f"signal {-done.exit_code}" if done.exit_code < 0 else f"exit status {done.exit_code}"
    return ExecutionFailed(
        f"the JavaScript engine broke down with {how}",
        "Run the code in smaller parts to find what it cannot take.",
        details={"stderr": tail(done.stderr)},
    )
