"""Outcomes as a model is shown them. Pure."""

from __future__ import annotations

import msgspec

from whence.shapes.call import Fault, Outcome
from whence.shapes.item import Text, ToolCall, ToolOutcome
from whence.shapes.vision import result_parts


def shown(call: ToolCall, outcome: Outcome) -> ToolOutcome:
    """A result as its text or its picture, a fault as the protocol's error object."""
    if outcome.fault is not None:
        return _fault(call, outcome.fault)
    parts = result_parts(outcome.result)
    remarks = _remarks(outcome)
    if remarks:
        last = parts[-1]
        more = (
            (Text(f"{last.text}\n{remarks}"),) if isinstance(last, Text) else (last, Text(remarks))
        )
        parts = (*parts[:-1], *more)
    return ToolOutcome(call.id, parts, name=call.name, custom=call.custom)


def cancelled(call: ToolCall) -> ToolOutcome:
    """The outcome of a call that was stopped with its run."""
    fault = Fault("CANCELLED", f"{call.name} was stopped", "Call again if needed.")
    return _fault(call, fault)


def interrupted(call: ToolCall, reason: str) -> ToolOutcome:
    """The outcome of a call of which nobody knows what it did."""
    message = f"{call.name} has no outcome: {reason}"
    hint = "See what is there before you call it again: it may have been done."
    return _fault(call, Fault("INTERRUPTED", message, hint))


def unmade(call: ToolCall) -> ToolOutcome:
    """The outcome of a call in an answer that broke off."""
    message = f"{call.name} was not run: the answer that made the call broke off"
    return _fault(call, Fault("INTERRUPTED", message, "Call it again if it is still needed."))


def _fault(call: ToolCall, fault: Fault) -> ToolOutcome:
    text = msgspec.json.encode({"error": fault.as_json()}).decode()
    return ToolOutcome(call.id, (Text(text),), is_error=True, name=call.name, custom=call.custom)


def _remarks(outcome: Outcome) -> str:
    """What a model should know besides: warnings, and where the rest of a long output is."""
    lines = [f"[warning: {warning}]" for warning in outcome.warnings]
    if outcome.truncated and outcome.artifact:
        lines.append(f"[truncated: what the tool returned is kept in {outcome.artifact}]")
    return "\n".join(lines)
