"""Python code, run by a fresh interpreter that has a directory to itself and nothing else.

The interpreter runs `python_inside.py`; its report is checked like anything that comes out of a
sandbox, since the code could have written it itself.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path

import msgspec

from whence.errors import InvalidArgs, QuotaExceeded, TimedOut
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.json import JSONValue
from whence.shapes.process import Confinement, Program
from whence.work.commands import warnings_of
from whence.work.exec.bounds import is_shallow, tail, time_allowed, within
from whence.work.exec.results import Evaluated, FromWorkspace

_MEMORY = 1_000_000_000
_MOST_INPUT = 32_000_000
_MOST_INLINE = 4_000
"""A text up to this long comes with its artifact; a longer one must be read."""
_PATIENCE_S = 3.0
"""What the interpreter may take to start, and to report what the code left."""


class _Report(msgspec.Struct):
    """What the interpreter says about the code; lengths of the parts that follow."""

    status: int
    timed_out: bool
    dropped: tuple[int, int]
    files: list[tuple[str, int, bool]]
    more_files: int
    parts: list[int]


async def run_python(
    ports: Ports, code: str, files: Mapping[str, str | FromWorkspace], timeout_ms: int
) -> Reply:
    """Output, value and files of the code. An exception of its own is a result.

    Raises:
        TimedOut: it took too long; what it had written comes along.
        InvalidArgs, NotFound, PermissionDenied, QuotaExceeded: the files cannot be given to it.
    """
    seconds, warnings = time_allowed(timeout_ms, ports)
    program = _program(ports, _request(code, _contents(ports, files), seconds), seconds)
    done = await ports.processes.run(program, on_output=ports.on_output)
    report, parts = _read(done.stdout)
    if done.timed_out or (report is not None and report.timed_out):
        raise _too_long(seconds, parts or (b"", done.stderr))
    isolation = done.isolation.as_json()
    if report is None:
        lost = Evaluated("", tail(done.stderr), None, [])
        said = f"{_status(done.exit_code)}; its output and its files are lost"
        return Reply(lost, warnings=(*warnings, said), isolation=isolation)
    stdout, stderr, value, *contents = parts
    told, cut, raised = _value(value)
    artifacts, written = _artifacts(ports, report, contents)
    evaluated = Evaluated(_text(stdout), _text(stderr), told, artifacts)
    notes = (*warnings, *_notes(report, raised), *warnings_of(done))
    return Reply(
        evaluated,
        truncated=cut or any(report.dropped),
        warnings=notes,
        bytes_written=written,
        isolation=isolation,
    )


def _contents(ports: Ports, files: Mapping[str, str | FromWorkspace]) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    room = _MOST_INPUT
    for name, given in files.items():
        path = _checked(name)
        if isinstance(given, str):
            data = given.encode()
        else:
            with ports.files.open(given.path) as file:
                data = file.read(room + 1)
        room -= len(data)
        if room < 0:
            raise QuotaExceeded(
                f"the files are more than {_MOST_INPUT} bytes at {name!r}", "Give it fewer of them."
            )
        contents[path] = data
    for path in contents:
        _refuse_below_file(path, contents)
    return contents


def _checked(name: str) -> str:
    parts = name.split("/")
    long = any(len(part.encode()) > 255 for part in parts) or len(parts) > 20
    if long or "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise InvalidArgs(
            f"{name[:300]!r} is not a name for a file of the code",
            "Use a relative path such as data/table.csv.",
        )
    return name


def _refuse_below_file(path: str, contents: Mapping[str, bytes]) -> None:
    above = os.path.dirname(path)
    while above:
        if above in contents:
            raise InvalidArgs(f"{above!r} is a file, and {path!r} is below it", "Rename one.")
        above = os.path.dirname(above)


def _request(code: str, contents: Mapping[str, bytes], seconds: float) -> bytes:
    text = code.encode()
    listed = [[path, len(data)] for path, data in contents.items()]
    head = json.dumps({"code": len(text), "files": listed, "timeout_s": seconds})
    return b"".join((head.encode(), b"\n", text, *contents.values()))


def _program(ports: Ports, request: bytes, seconds: float) -> Program:
    python, readable = ports.processes.python()
    limits = within(seconds, memory_bytes=_MEMORY, file_bytes=_MEMORY // 4, processes=64)
    return Program(
        (python, "-I", "-c", _script()),
        "/usr",  # it goes to a directory of its own at once; this one is always there
        Confinement(readable=readable, resources=limits),
        stdin=request,
        timeout_s=seconds + _PATIENCE_S,
        reports=True,
    )


@lru_cache(maxsize=1)
def _script() -> str:
    return Path(__file__).with_name("python_inside.py").read_text(encoding="utf-8")


def _read(output: bytes) -> tuple[_Report | None, list[bytes]]:
    """The report and its parts; None where it was not written or is not one."""
    line, _, rest = output.partition(b"\n")
    try:
        report = msgspec.json.decode(line, type=_Report)
    except msgspec.DecodeError:
        return None, []
    kept = sum(has_content for _, _, has_content in report.files)
    bounds = [0, *accumulate(report.parts)]
    if min(bounds) < 0 or bounds[-1] != len(rest) or len(report.parts) != kept + 3:
        return None, []
    return report, [rest[start:end] for start, end in pairwise(bounds)]


def _too_long(seconds: float, parts: Sequence[bytes]) -> TimedOut:
    stdout, stderr = (tail(part) for part in (*parts, b"", b"")[:2])
    return TimedOut(
        f"the code did not end within {seconds:g} s and was stopped with all that it started",
        "Do less at once, or give a larger timeout_ms.",
        details={"stdout": stdout, "stderr": stderr},
    )


def _value(sent: bytes) -> tuple[JSONValue, bool, str]:
    """The value, whether it was cut, and the exception that came instead of one."""
    kind, text = sent[:1], _text(sent[1:])
    if kind == b"E":
        return None, False, text
    if kind != b"J":
        return text or None, kind == b"T", ""
    try:
        value: JSONValue = json.loads(text)
    except (ValueError, RecursionError):
        return text, False, ""
    return (value if is_shallow(value) else text), False, ""


def _artifacts(
    ports: Ports, report: _Report, contents: Sequence[bytes]
) -> tuple[list[dict[str, JSONValue]], int]:
    """What is told of each file, and how many bytes were kept of them all."""
    left, listed, written = iter(contents), list[dict[str, JSONValue]](), 0
    for number, (path, size, has_content) in enumerate(report.files, 1):
        told: dict[str, JSONValue] = {"path": path, "bytes": size}
        if has_content:
            data = next(left)
            told["sha256"] = hashlib.sha256(data).hexdigest()
            name = f"{ports.call_id}.{number}.{path.replace('/', '_')[-80:]}"
            kept = ports.shelf.keep("python.exec", name, data) if ports.shelf else None
            if kept is not None:
                told["artifact"] = kept
                written += len(data)
            text = _short_text(data)
            if text is not None:
                told["content"] = text
        listed.append(told)
    return listed, written


def _short_text(data: bytes) -> str | None:
    if len(data) > _MOST_INLINE or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _notes(report: _Report, raised: str) -> list[str]:
    notes = []
    if raised:
        notes.append(f"the code raised {raised}; its traceback is in stderr")
    elif report.status:
        notes.append(_status(report.status))
    for name, dropped in zip(("stdout", "stderr"), report.dropped, strict=True):
        if dropped:
            notes.append(f"{dropped} bytes from the middle of {name} were not kept")
    large = [path for path, _, has_content in report.files if not has_content]
    if large:
        notes.append(f"too large to keep: {', '.join(large)}")
    if report.more_files:
        notes.append(f"at least {report.more_files} more files were not looked at")
    return notes


def _status(code: int) -> str:
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit status {code}"
    return f"the interpreter {how}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
