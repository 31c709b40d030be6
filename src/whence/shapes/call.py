"""Calls and what comes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from whence.errors import WhenceError
from whence.shapes.json import JSONObject, JSONValue


class Comment(msgspec.Struct, frozen=True, gc=False):
    """A remark above one key of a call or an event: data, as the protocol has it."""

    at: tuple[str, ...]
    """The keys that lead to the annotated value; empty: the whole."""
    text: str


class Call(msgspec.Struct, frozen=True, gc=False):
    """What a model, a person or a program asks for."""

    tool: str
    """The name as it was asked for: canonical, wire or alias."""
    arguments: JSONValue
    """As they arrived, `why` and `note` included; anything but an object is refused."""
    id: str | None = None
    """The caller's id; the journal gives one where it is absent."""
    comments: tuple[Comment, ...] = ()
    parent: str | None = None
    """The id of the call whose agent made this one."""
    unparsed: str | None = None
    """The argument text, where it could not be parsed: such a call is recorded, never run."""
    parse_problem: str = ""
    """Why it could not be parsed, with its position."""


class Fault(msgspec.Struct, frozen=True, gc=False):
    """An outcome that is not a result. It goes back to the caller and never ends a run."""

    code: str
    message: str
    suggestion: str
    recoverable: bool = True
    details: Mapping[str, Any] = {}

    @classmethod
    def of(cls, error: WhenceError) -> Fault:
        """The value of an exception."""
        return cls(error.code, error.message, error.suggestion, error.recoverable, error.details)

    def as_json(self) -> dict[str, JSONValue]:
        """The protocol's error object."""
        value: dict[str, JSONValue] = {
            "code": self.code,
            "message": self.message,
            "recoverable": self.recoverable,
            "suggestion": self.suggestion,
        }
        if self.details:
            value["details"] = dict(self.details)
        return value


class Reply(msgspec.Struct, frozen=True, gc=False):
    """What a handler returns when a bare value cannot say it all."""

    value: object
    truncated: bool = False
    """Something that was asked for was left out because of a limit."""
    warnings: tuple[str, ...] = ()
    bytes_written: int = 0
    """Counted against the session's quota."""
    isolation: JSONObject | None = None
    """How far a program was kept apart, where one was run."""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A result or a fault, with everything that a host shows."""

    call_id: str
    session: str
    tool: str
    """Canonical, where the tool is known."""
    result: JSONValue = None
    fault: Fault | None = None
    truncated: bool = False
    artifact: str | None = None
    """Workspace path of the whole output, where `result` holds only part of it."""
    isolation: JSONObject | None = None
    warnings: tuple[str, ...] = ()
    duration_ms: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether there is a result."""
        return self.fault is None

    def as_json(self) -> dict[str, JSONValue]:
        """The stable JSON form; keys without a value are absent."""
        value: dict[str, JSONValue] = {
            "ok": self.ok,
            "call_id": self.call_id,
            "session": self.session,
            "tool": self.tool,
        }
        if self.fault is None:
            value["result"] = self.result
            value["truncated"] = self.truncated
            if self.artifact:
                value["artifact"] = self.artifact
        else:
            value["error"] = self.fault.as_json()
        if self.isolation is not None:
            value["isolation"] = self.isolation
        value["warnings"] = list(self.warnings)
        value["duration_ms"] = round(self.duration_ms, 3)
        return value
