"""Questions to a journal: why was this file touched, and what does the session come to?

Both find what they need by the bytes at the left margin, without parsing YAML.
"""

from __future__ import annotations

import os
import posixpath
from array import array
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from whence.errors import ParseError
from whence.journal.blocks import Block, blocks
from whence.journal.comments import load_with_comments
from whence.journal.index import index_of, paths_of, touching
from whence.journal.place import opened
from whence.journal.read import session_directory
from whence.journal.record import field as key
from whence.journal.record import natural, part_name, part_numbers
from whence.journal.standing import OUTCOMES
from whence.shapes.dataclass import dataclass

_NEAR = 1 << 14


@dataclass(frozen=True, slots=True)
class Touched:
    """One call that touched a path, and what came of it."""

    seq: int
    timestamp: str
    tool: str
    call_id: str
    why: str
    outcome: str
    """`ok`, the code of an error, or `open` while there is none."""
    paths: tuple[str, ...]
    part: str
    line: int


@dataclass(frozen=True, slots=True)
class Durations:
    """How long the calls of one tool took, in milliseconds."""

    calls: int
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Stats:
    """What a session comes to."""

    events: int
    types: Mapping[str, int]
    tools: Mapping[str, int]
    """Calls by tool."""
    errors: Mapping[str, int]
    """Faults by code."""
    durations: Mapping[str, Durations]
    weak_whys: int
    """Calls whose reason drew a warning."""
    violations: int
    open_calls: int


def why(directory: str | os.PathLike[str], path: str) -> Iterator[Touched]:
    """Every call that touched a path or anything below it, in order, with its reason and outcome.

    Closed parts that never mention the path are not read.

    Raises:
        NotFound: There is no log in that directory.
    """
    path = posixpath.normpath(path)
    waiting: deque[Touched] = deque()
    with session_directory(directory) as session:
        for part in part_numbers(session):
            yield from _touched_in(session, part, path, waiting)
            while waiting and waiting[0].outcome != "open":
                yield waiting.popleft()
    yield from waiting


def _touched_in(session: int, part: int, path: str, waiting: deque[Touched]) -> Iterator[Touched]:
    """The calls of one part; one without an outcome holds back those behind it."""
    index = index_of(session, part)
    with opened(session, part) as descriptor:
        for place, touched in enumerate(waiting):
            if touched.outcome == "open" and touched.call_id in index.late:
                text = _block_at(descriptor, index.late[touched.call_id]).text
                waiting[place] = replace(touched, outcome=_outcome(text))
        for offset, touch in touching(index, path).items():
            call = _block_at(descriptor, offset)
            outcome = _block_at(descriptor, touch.outcome).text if touch.outcome >= 0 else b""
            waiting.append(_touched(call, outcome, part_name(part), touch.line))
            while waiting and waiting[0].outcome != "open":
                yield waiting.popleft()


def _block_at(descriptor: int, offset: int) -> Block:
    size = os.fstat(descriptor).st_size
    return next(blocks(descriptor, offset, size, chunk=_NEAR))


def _touched(call: Block, outcome: bytes, part: str, line: int) -> Touched:
    text = call.text
    return Touched(
        seq=natural(key(text, b"seq")),
        timestamp=key(text, b"timestamp") or "",
        tool=key(text, b"tool") or "",
        call_id=key(text, b"call_id") or "",
        why=_why(text),
        outcome=_outcome(outcome) if outcome else "open",
        paths=tuple(paths_of(text)),
        part=part,
        line=line,
    )


def _why(text: bytes) -> str:
    for name in (b"  _why", b"  why"):  # a tool with a `why` of its own calls the reason `_why`
        reason = key(text, name)
        if reason is not None and not reason.startswith("|"):
            return "" if reason == "null" else reason
    try:
        value: Any = load_with_comments(text.decode("utf-8", "replace"))[0]
        args = value["args"]
    except (ParseError, KeyError):
        return ""  # a call without arguments, or damaged, which `verify` reports
    return str(args.get("_why") or args.get("why") or "") if isinstance(args, Mapping) else ""


def _outcome(text: bytes) -> str:
    return "ok" if key(text, b"type") == "tool_result" else key(text, b"  code") or "error"


def stats(directory: str | os.PathLike[str]) -> Stats:
    """How often what happened, and how long it took.

    Raises:
        NotFound: There is no log in that directory.
    """
    tally = _Tally()
    with session_directory(directory) as session:
        for part in part_numbers(session):
            with opened(session, part) as descriptor:
                for block in blocks(descriptor, 0, os.fstat(descriptor).st_size):
                    tally.add(block.text)
    return tally.stats()


@dataclass(slots=True)
class _Tally:
    types: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    times: dict[str, array[float]] = field(default_factory=dict)
    open_calls: dict[str, str] = field(default_factory=dict)
    weak: int = 0

    def add(self, text: bytes) -> None:
        kind = key(text, b"type")
        if kind is None:
            return
        self.types[kind] += 1
        if kind == "tool_call":
            tool = key(text, b"tool") or ""
            self.tools[tool] += 1
            self.open_calls[key(text, b"call_id") or ""] = tool
        elif kind in OUTCOMES:
            self._outcome(text, failed=kind == "tool_error")

    def _outcome(self, text: bytes, *, failed: bool) -> None:
        tool = self.open_calls.pop(key(text, b"call_id") or "", None) or key(text, b"tool") or ""
        if failed:
            self.errors[key(text, b"  code") or "?"] += 1
        if b"\nwarnings: [" in text and b"weak why" in text:
            self.weak += 1
        try:
            duration = float(key(text, b"duration_ms") or "")
        except ValueError:
            return  # an interrupted call has none
        self.times.setdefault(tool, array("d")).append(duration)

    def stats(self) -> Stats:
        return Stats(
            events=self.types.total(),
            types=dict(self.types.most_common()),
            tools=dict(self.tools.most_common()),
            errors=dict(self.errors.most_common()),
            durations={tool: _durations(times) for tool, times in sorted(self.times.items())},
            weak_whys=self.weak,
            violations=self.types["violation"],
            open_calls=len(self.open_calls),
        )


def _durations(times: array[float]) -> Durations:
    ordered = sorted(times)
    last = len(ordered) - 1
    return Durations(len(ordered), ordered[round(last * 0.5)], ordered[round(last * 0.95)])
