"""Outcomes as a model is shown them. Pure."""

from __future__ import annotations

import msgspec

from whence.shapes.call import Fault, Outcome
from whence.shapes.item import Text, ToolCall, ToolOutcome
from whence.shapes.vision import result_parts


def shown(call: ToolCall, outcome: Outcome) -> ToolOutcome:
    """A result as its text or its picture, a fault as the protocol's error object."""
    if outcome.fault is not None:
        return _fault(call, outcome.fault, outcome.tool)
    parts = list(result_parts(outcome.result))
    words = all(isinstance(part, Text) for part in parts)
    remarks = _remarks(outcome)
    if remarks and isinstance(parts[-1], Text):
        parts[-1] = Text(f"{parts[-1].text}\n{remarks}")
    elif remarks:
        parts.append(Text(remarks))
    structured = outcome.result if words and not isinstance(outcome.result, str) else None
    return ToolOutcome(
        call.id, tuple(parts), structured=structured, name=call.name, custom=call.custom
    )


def cancelled(call: ToolCall) -> ToolOutcome:
    """The outcome of a call that was stopped with its run."""
    fault = Fault("CANCELLED", f"{call.name} was stopped", "Call again if needed.")
    return _fault(call, fault, call.name)


def interrupted(call: ToolCall, reason: str) -> ToolOutcome:
    """The outcome of a call of which nobody knows what it did."""
    message = f"{call.name} has no outcome: {reason}"
    hint = "See what is there before you call it again: it may have been done."
    return _fault(call, Fault("INTERRUPTED", message, hint), call.name)


def _fault(call: ToolCall, fault: Fault, tool: str) -> ToolOutcome:
    text = msgspec.json.encode({"error": fault.as_json()}).decode()
    return ToolOutcome(call.id, (Text(text),), is_error=True, name=tool, custom=call.custom)


def _remarks(outcome: Outcome) -> str:
    """What a model should know besides: warnings, and where the rest of a long output is."""
    lines = [f"[warning: {warning}]" for warning in outcome.warnings]
    if outcome.truncated and outcome.artifact:
        lines.append(f"[truncated: what the tool returned is kept in {outcome.artifact}]")
    return "\n".join(lines)
