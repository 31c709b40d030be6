"""Is a journal what was written? Every byte is checked, nothing is parsed, memory stays flat."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from whence.journal.head import Head
from whence.journal.index import Index, Indexer, index_name, paths_of, stored_index
from whence.journal.lock import take_lock
from whence.journal.place import opened, size_of
from whence.journal.read import session_directory
from whence.journal.record import Record, part_name, part_numbers, records
from whence.journal.sessions import HEAD
from whence.journal.standing import OUTCOMES, Standing

_MOST = 100
"""Problems beyond this many are not listed."""
_TAMPERED = "Compare with a copy; opening the session sets the damaged part aside and goes on."


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as it should be."""

    part: str
    line: int
    """0: the file as a whole."""
    seq: int
    what: str
    suggestion: str


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found."""

    ok: bool
    events: int
    parts: tuple[str, ...]
    problems: tuple[Problem, ...]
    ended: bool
    """Whether the last event is the session's end."""
    open_calls: tuple[str, ...]
    """Calls without an outcome."""
    recoveries: int
    """How often a damaged part was set aside; what happened then is in those events."""
    last_hash: str
    """Keep it elsewhere, and nobody can rewrite the whole log unseen."""


def verify(directory: str | os.PathLike[str]) -> Report:
    """Check the hash chain over all parts, the numbers, the pairing of calls, and the end.

    Safe beside a running writer: what it appends meanwhile is left for the next time.

    Raises:
        NotFound: There is no log in that directory.
        Unavailable: It cannot be read, or its writer does not let go of it.
    """
    with session_directory(directory) as session:
        return _Check(session, os.fspath(directory)).report()


@dataclass(slots=True)
class _Check:
    session: int
    path: str
    standing: Standing = field(default_factory=Standing)
    events: int = 0
    recoveries: int = 0
    problems: list[Problem] = field(default_factory=list)
    head: Head | None = None
    head_met: bool = False

    def report(self) -> Report:
        self.head, sizes = _snapshot(self.session, self.path)
        last = max(sizes)
        expected = 1
        for part, size in sizes.items():
            if part != expected:
                self._say(expected, 0, "the part is gone", "Put it back from a copy.")
            self._part(part, size, closed=part < last)
            expected = part + 1
        self._end(part_name(last))
        return Report(
            ok=not self.problems,
            events=self.events,
            parts=tuple(part_name(part) for part in sizes),
            problems=tuple(self.problems),
            ended=self.standing.ended,
            open_calls=tuple(self.standing.open_calls),
            recoveries=self.recoveries,
            last_hash=self.standing.hash,
        )

    def _part(self, part: int, size: int, *, closed: bool) -> None:
        before = len(self.problems)
        kept = stored_index(self.session, part) if closed else None
        indexer = Indexer() if kept else None
        for record, line in _lined(self.session, part, size):
            self._record(part, record, line)
            if indexer and record.kind == "tool_call":
                paths = paths_of(record.block)
                indexer.call(record.call_id, paths, record.offset + _top(record), line)
            elif indexer and record.kind in OUTCOMES:
                indexer.outcome(record.call_id, record.offset)
        if closed and self.standing.last_type != "rotated":
            self._say(part, 0, "its end is missing: a full part closes with `rotated`", _TAMPERED)
        if indexer and len(self.problems) == before:
            self._compare(part, kept, indexer.index(size, self.standing.hash))

    def _record(self, part: int, record: Record, line: int) -> None:
        if record.offset == 0 and record.whole:
            self._opening(part, record, line)
        fault = self.standing.fault_in(record)
        if fault:
            self._say(part, line, fault, _TAMPERED)
        if not record.whole:
            return
        odd = self.standing.advance(record)
        if odd and not record.field(b"salvaged_from"):
            self._say(part, line, odd, "Look at the events before it: `whence log show`.")
        self.events += 1
        head = self.head
        if head and record.end == head.size and part == head.part:
            self.head_met = _same_end(self.standing, head)

    def _opening(self, part: int, record: Record, line: int) -> None:
        kind = record.kind
        if kind == "recovery":
            self._recovered(part, record, line)
        elif kind != ("session_start" if part == 1 else "continued"):
            self._say(part, line, f"the first event is {kind}", _TAMPERED)

    def _recovered(self, part: int, record: Record, line: int) -> None:
        """A recovery continues the last good record of the part that it replaced."""
        self.recoveries += 1
        claimed = Standing.claimed(record)
        backup = record.field(b"backup")
        if backup not in ("", "null") and not _last_good(
            self.session, backup, self.standing, claimed.hash
        ):
            what = f"it does not continue {backup}, which was set aside"
            self._say(part, line, what, f"Put {backup} back from a copy.")
        if claimed.seq < self.standing.seq:
            self._say(part, line, f"seq goes back to {claimed.seq + 1}", _TAMPERED)
        self.standing.seq, self.standing.hash = claimed.seq, claimed.hash
        if self.head and record.field(b"head") == self.head.hash:
            self.head_met = True  # the head was about to be written when the process ended

    def _end(self, last: str) -> None:
        if self.head is None and _exists(self.session, HEAD):
            self._say(last, 0, f"{HEAD} cannot be read", "Open the session once to write it anew.")
        elif self.head is None and not self.standing.ended:
            what = f"{HEAD} is missing, so that nothing vouches for the end of the log"
            self._say(last, 0, what, "Open the session once to write it anew.")
        elif self.head and self.head.seq and not self.head_met and not self._is_told():
            gone = self.head.seq - self.standing.seq
            what = f"the last {gone} events are gone" if gone > 0 else "the head knows another end"
            self._say(last, 0, what, _TAMPERED)
        if self.standing.ended and self.standing.open_calls:
            calls = ", ".join(self.standing.open_calls)
            self._say(last, 0, f"the session ended with open calls: {calls}", _TAMPERED)

    def _is_told(self) -> bool:
        """Whether the log ends as it should, and only texts before its end were changed."""
        return bool(self.problems and self.head and self.standing.hash == self.head.hash)

    def _compare(self, part: int, kept: Index | None, built: Index) -> None:
        if kept != built:
            name = index_name(part)
            self._say(part, 0, f"{name} does not fit its part", f"Delete {name}: it is derived.")

    def _say(self, part: int | str, line: int, what: str, suggestion: str) -> None:
        name = part if isinstance(part, str) else part_name(part)
        if len(self.problems) < _MOST:
            self.problems.append(Problem(name, line, self.standing.seq, what, suggestion))


def _snapshot(session: int, path: str) -> tuple[Head | None, dict[int, int]]:
    """The head and the size of each part at one moment between two appends."""
    take_lock(session, fcntl.LOCK_SH, path, "it was not looked at")
    try:
        return Head.read(session), {n: size_of(session, n) for n in part_numbers(session)}
    finally:
        fcntl.flock(session, fcntl.LOCK_UN)


def _lined(session: int, part: int, size: int) -> Iterator[tuple[Record, int]]:
    """The records of a part with the line of their headings."""
    if not size:
        return
    line = 1
    with opened(session, part) as descriptor:
        for record in records(descriptor, 0, size):
            yield record, line + record.data.count(b"\n", 0, _top(record))
            line += record.data.count(b"\n")


def _top(record: Record) -> int:
    """Where the heading starts: behind the file's header in the first record."""
    return max(0, record.data.find(b"## ")) if record.offset == 0 else 0


def _same_end(standing: Standing, head: Head) -> bool:
    return (standing.seq, standing.last_call, standing.hash) == (
        head.seq,
        head.last_call,
        head.hash,
    )


def _last_good(session: int, backup: str, before: Standing, wanted: str) -> bool:
    """Whether the intact beginning of a part that was set aside ends with a hash."""
    if "/" in backup or not _exists(session, backup):
        return False
    walk = Standing(before.seq, before.hash)
    descriptor = os.open(backup, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=session)
    try:
        for record in records(descriptor, 0, os.fstat(descriptor).st_size):
            if record.offset == 0 and record.whole and record.kind == "recovery":
                walk = Standing.claimed(record)
            if walk.fault_in(record):
                break
            walk.advance(record)
    finally:
        os.close(descriptor)
    return walk.hash == wanted


def _exists(session: int, name: str) -> bool:
    return name in os.listdir(session)
