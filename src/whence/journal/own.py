"""The events that the journal writes about itself."""

from __future__ import annotations

from whence.errors import Interrupted
from whence.journal.record import PROTOCOL, part_name
from whence.journal.standing import Standing
from whence.shapes.call import Fault
from whence.shapes.event import Event


def session_start(session: str, purpose: str, *, resumed: bool) -> Event:
    """The first event of a session, and of each time it is taken up again after its end."""
    fields: dict[str, object] = {"session_id": session, "protocol": PROTOCOL}
    if resumed:
        fields["resumed"] = True
    if purpose:
        fields["purpose"] = purpose
    return Event("session_start", fields, "Session Start", purpose)


def session_end(session: str, reason: str, standing: Standing) -> Event:
    """The last event of a session, with what it came to."""
    stats = {
        "calls": standing.calls,
        "errors": standing.errors,
        "violations": standing.violations,
    }
    fields = {"session_id": session, "reason": reason, "stats": stats}
    return Event("session_end", fields, "Session End")


def interruptions(standing: Standing) -> list[Event]:
    """One outcome for each call that never got any."""
    return [_interrupted(call_id, tool) for call_id, tool in standing.open_calls.items()]


def _interrupted(call_id: str, tool: str) -> Event:
    fault = Fault.of(
        Interrupted(
            "the process ended between this call and its outcome",
            "Check whether the call had its effect, and call again if it is still needed.",
        )
    )
    fields = {"call_id": call_id, "tool": tool, "error": fault.as_json()}
    return Event("tool_error", fields, f"Tool Error: {tool}")


def rotated(part: int) -> Event:
    """The last event of a part that is full."""
    return Event("rotated", {"continues_in": part_name(part + 1)}, "Log Rotated")


def continued(part: int, standing: Standing) -> Event:
    """The first event of the next part; all that a writer needs to know of those before."""
    fields = {"continued_from": part_name(part - 1), **standing.as_fields()}
    return Event("continued", fields, "Log Continued")


def head_missing() -> Event:
    """Said when nothing could tell whether the end of the log was still there."""
    fields = {
        "code": "HEAD_MISSING",
        "message": "the head was missing or unreadable: the last events of the log may be gone",
        "recovery": "the head was written anew from the log",
    }
    return Event("warning", fields, "Warning: Head Missing")
