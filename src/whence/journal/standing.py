"""What the events so far amount to: how a chain goes on, and which calls are open."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from whence.journal.record import NO_HASH, Record, natural, seal
from whence.shapes.event import Event
from whence.shapes.json import JSONValue

OUTCOMES = frozenset({"tool_result", "tool_error"})
OPENINGS = frozenset({"continued", "recovery"})
"""Events that may open a part other than the first, and say where things stand."""
_SESSION = frozenset({"session_start", "session_end"})
_QUIET = frozenset({"rotated", "continued", "recovery", "warning"})
_OWN_ID = re.compile(r"call-(\d{1,15})").fullmatch


@dataclass(slots=True)
class Standing:
    """The sum of all events up to one point."""

    seq: int = 0
    hash: str = NO_HASH
    calls: int = 0
    errors: int = 0
    violations: int = 0
    last_call: int = 0
    """The highest number among the ids that the journal gave away."""
    open_calls: dict[str, str] = field(default_factory=dict)
    """Calls without an outcome, with their tools."""
    last_type: str = ""
    ended: bool = False
    """Whether the session has ended and was not taken up again."""

    given: str | None = field(default=None, compare=False)
    """The id that was given to a call which is yet to be counted."""

    def next_call_id(self) -> str:
        """An id that no call of this session has."""
        self.given = given = f"call-{self.last_call + 1:03d}"
        return given

    def take(self, event: Event) -> None:
        """Take an event into account that was just written."""
        kind, fields = event.type, event.fields
        call_id = fields.get("call_id", "")
        if kind == "tool_result":  # nearly every event is this or the next
            self.last_type = kind
            self.open_calls.pop(call_id, None)
        elif kind == "tool_call" and call_id is self.given:
            self.last_type, self.given = kind, None
            self.calls += 1
            self.last_call += 1
            self.open_calls[fields["call_id"]] = fields["tool"]
        else:
            self.count(kind, str(call_id), str(fields.get("tool", "")))

    def count(self, kind: str, call_id: str, tool: str) -> str | None:
        """Take one event into account; what is odd about it, coming after those before."""
        self.last_type = kind
        if kind == "tool_call":
            self.calls += 1
            own = _OWN_ID(call_id)
            if own and (number := int(own[1])) > self.last_call:
                self.last_call = number
            twice = call_id in self.open_calls
            self.open_calls[call_id] = tool
            if twice:
                return f"{call_id!r} is called again before it had an outcome"
        elif kind in OUTCOMES:
            self.errors += kind == "tool_error"
            if self.open_calls.pop(call_id, None) is None:
                return f"an outcome without a call: {call_id!r}"
        elif kind == "violation":
            self.violations += 1
        elif kind in _SESSION:
            self.ended = kind == "session_end"
            return None
        return f"{kind} after the session's end" if self.ended and kind not in _QUIET else None

    def fault_in(self, record: Record) -> str | None:
        """Why a record does not continue this chain; None where it does."""
        if not record.whole:
            return "not a whole record: the file was cut, or something else was written here"
        if seal(self.hash, record.lead) != record.hash:
            if record.prev != self.hash:
                return "the chain is broken: a record before this one is missing or was changed"
            return "the text was changed after it was written: its hash does not fit"
        seq = record.seq
        return None if seq == self.seq + 1 else f"seq is {seq}, expected {self.seq + 1}"

    def advance(self, record: Record) -> str | None:
        """Go on to a whole record; what is odd about it, coming after those before."""
        kind, tool = record.kind, ""
        if kind == "tool_call":
            tool = record.field(b"tool")
        elif kind in OPENINGS:
            self.last_call = max(self.last_call, natural(record.field(b"last_call")))
        self.seq = record.seq
        self.hash = record.hash
        return self.count(kind, record.call_id, tool)

    def as_fields(self) -> dict[str, JSONValue]:
        """What the first event of a part says, so that the parts before need not be read."""
        return {
            "calls": self.calls,
            "errors": self.errors,
            "violations": self.violations,
            "last_call": self.last_call,
            "ended": self.ended,
            "open_calls": dict(self.open_calls),
        }

    @classmethod
    def claimed(cls, record: Record) -> Standing:
        """The end of the chain that a record says it continues."""
        return cls(seq=record.seq - 1, hash=record.prev or NO_HASH)

    @classmethod
    def before(cls, record: Record) -> Standing:
        """Where things stood before the opening record of a part, as that record says."""
        from whence.journal.comments import load_with_comments

        fields: Any = load_with_comments(record.block.decode())[0]
        standing = cls.claimed(record)
        standing.calls = fields.get("calls", 0)
        standing.errors = fields.get("errors", 0)
        standing.violations = fields.get("violations", 0)
        standing.last_call = fields.get("last_call", 0)
        standing.ended = fields.get("ended", False)
        standing.open_calls = dict(fields.get("open_calls", {}))
        return standing
