"""What happened, as events for the journal. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from whence.gate.gate import Request
from whence.provider.exchange import Completion
from whence.shapes.approval import Answer
from whence.shapes.call import Call, Comment, Fault, Outcome
from whence.shapes.event import Event

_SHORT = 200
_UNPARSED = 2_000
_CONTAINERS = frozenset({dict, list})


def abridge(request: Request, inline: int) -> tuple[dict[str, Any], bool]:
    """The arguments as the journal shows them, and whether one was too long to stand there.

    A long argument is named by its hash and length.
    """
    arguments = request.arguments
    if request.size is not None and request.size <= inline:
        return dict(arguments), False
    shown: dict[str, Any] = {}
    abridged = False
    for name, value in arguments.items():
        kind = type(value)
        long = (
            len(value) > inline
            if kind is str
            else kind in _CONTAINERS and len(written(value)) > inline
        )
        shown[name] = _digest(value) if long else value
        abridged = abridged or long
    return shown, abridged


def tool_call(request: Request, args: dict[str, Any], call: Call) -> Event:
    """A call as it was made, reason included; `args` as `abridge` gives them."""
    tool, why = request.tool, request.why
    if len(why) > _UNPARSED:  # refused, and not worth keeping whole
        why = f"{why[: _UNPARSED - 1]}…"
    args[request.why_key] = why or None
    fields: dict[str, Any] = {"tool": tool}
    if request.requested_as is not None:
        fields["requested_as"] = request.requested_as
    fields["call_id"] = call.id  # None: the journal gives one
    if call.parent is not None:
        fields["parent"] = call.parent
    fields["args"] = args
    if request.unparsed is not None:
        whole = request.unparsed
        fields["unparsed"] = whole if len(whole) <= _UNPARSED else _digest(whole)
    if request.paths:
        fields["paths"] = list(request.paths)
    comments = request.comments and tuple(
        Comment(("args", *comment.at), comment.text) for comment in request.comments
    )
    return Event("tool_call", fields, f"Tool Call: {tool}", why, comments)


def tool_result(outcome: Outcome, whole: str | None, changes: object = None) -> Event:
    """A result: whole where it is short, else its hash, its length and its artifact."""
    fields: dict[str, Any] = {
        "call_id": outcome.call_id,
        "tool": outcome.tool,
        "success": True,
        "duration_ms": round(outcome.duration_ms, 3),
        "result": outcome.result if whole is None else _digest(whole),
    }
    if outcome.artifact:
        fields["artifact"] = outcome.artifact
    if outcome.truncated:
        fields["truncated"] = True
    if outcome.isolation is not None:
        fields["isolation"] = outcome.isolation
    if changes is not None:
        fields["changes"] = changes
    if outcome.warnings:
        fields["warnings"] = list(outcome.warnings)
    return Event("tool_result", fields, f"Tool Result: {outcome.tool}")


def tool_error(outcome: Outcome, fault: Fault, changes: object = None) -> Event:
    """A fault, in the protocol's form; what was changed before it came, too."""
    fields: dict[str, Any] = {
        "call_id": outcome.call_id,
        "tool": outcome.tool,
        "error": fault.as_json(),
        "duration_ms": round(outcome.duration_ms, 3),
    }
    if outcome.artifact:
        fields["artifact"] = outcome.artifact
    if outcome.isolation is not None:
        fields["isolation"] = outcome.isolation
    if changes is not None:
        fields["changes"] = changes
    if outcome.warnings:
        fields["warnings"] = list(outcome.warnings)
    return Event("tool_error", fields, f"Tool Error: {outcome.tool}", fault.message)


def model_turn(completion: Completion, parent: str | None) -> Event:
    """An answer of a model: what it cost, what it said, how many calls it made."""
    usage, text = completion.usage, completion.text
    fields: dict[str, Any] = {
        "model": completion.model,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "tool_calls": len(completion.calls),
        "stop": str(completion.stop),
    }
    if usage.cost is not None:
        fields["cost"] = usage.cost
    if parent is not None:
        fields["parent"] = parent
    if text:
        fields["text"] = text if len(text) <= _UNPARSED else _digest(text)
    return Event("model_turn", fields, "Model Turn")


def half_done(note: str) -> Event:
    """What a start found of a change that a crash had left half done."""
    fields = {"code": "CHANGE_INTERRUPTED", "message": note, "recovery": "restored from its record"}
    return Event("warning", fields, "Warning: Change Interrupted")


def user_message(text: str) -> Event:
    """What a person asked."""
    shown = text if len(text) <= _UNPARSED else _digest(text)
    return Event("user_message", {"length": len(text), "text": shown}, "User Message")


def violation(rule: str, call_id: str, request: Request) -> Event:
    """An attempt on something that no rule can allow."""
    fields = {
        "rule": rule,
        "call_id": call_id,
        "tool": request.tool,
        "path": request.paths[0] if request.paths else None,
        "action_taken": "refused",
    }
    return Event("violation", fields, f"Violation: {rule}", f"{request.tool} was refused.")


def user_approval(request: Request, call_id: str, reason: str, answer: Answer) -> Event:
    """What a person, or the absence of one, decided."""
    fields = {
        "action": "tool_call",
        "tool": request.tool,
        "call_id": call_id,
        "approved": answer.approved,
        "command_preview": _preview(request),
        "reason": reason,
        "scope": answer.scope,
        "by": answer.by,
    }
    title = "User Approval" if answer.approved else "User Refusal"
    return Event("user_approval", fields, f"{title}: {request.tool}", request.why)


def _preview(request: Request) -> str:
    text = written(request.arguments).decode()
    return f"{request.tool} {text if len(text) <= _SHORT else text[: _SHORT - 1] + '…'}"


def written(value: Any) -> bytes:
    """A value as JSON, also where its text is no Unicode: such a call is refused, and recorded."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def _digest(value: Any) -> dict[str, Any]:
    text = value if type(value) is str else written(value).decode()
    raw = text.encode(errors="surrogatepass")
    return {"chars": len(text), "sha256": hashlib.sha256(raw).hexdigest(), "head": text[:_SHORT]}
