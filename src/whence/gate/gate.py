"""The only way from a call to its effect: seven checks, in order; the first that fails answers.

`admit` is pure but for `locate`, which is handed in: it follows links on the disk. What comes out
is `Admitted`, which only this module can make, and which is all that the executor takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from whence.declare.toolbox import Mounted, Toolbox
from whence.errors import WhenceError
from whence.gate import mode, permission, quota, schema, why
from whence.gate.permission import Ruling
from whence.gate.plain import plain, shown
from whence.gate.quota import Usage
from whence.shapes.call import Call, Comment, Fault
from whence.shapes.place import Locate, Place
from whence.shapes.policy import Policy, Verdict
from whence.shapes.tool import Effect

_SEAL = object()
_encode = msgspec.json.Encoder().encode
_MAX_ARGUMENT_BYTES = 64_000_000
_LONGEST_NAME = 200
_NOT_JSON = "Send valid Unicode, without halves of characters, and numbers of ordinary length."


class Request(msgspec.Struct, frozen=True, gc=False):
    """A call taken apart, as the journal records it, whatever becomes of it."""

    tool: str
    """Canonical where known, else as asked for."""
    arguments: Mapping[str, Any]
    """Without reason and note."""
    why: str = ""
    comments: tuple[Comment, ...] = ()
    paths: tuple[str, ...] = ()
    requested_as: str | None = None
    unparsed: str | None = None
    why_key: str = "why"
    """What the tool calls its reason."""
    size: int | None = None
    """How long the arguments are as JSON; None where nobody looked."""


class Refused(msgspec.Struct, frozen=True, gc=False):
    """A call that goes no further."""

    request: Request
    fault: Fault
    violation: str | None = None


class Asking(msgspec.Struct, frozen=True, gc=False):
    """A call that a person must decide about."""

    request: Request
    mounted: Mounted
    arguments: Mapping[str, Any]
    places: Mapping[str, Place]
    fingerprint: bytes
    timeout_ms: int
    warnings: tuple[str, ...]
    closed: tuple[str, ...]
    ruling: Ruling


class Admitted(msgspec.Struct, frozen=True, gc=False):
    """A call that may run."""

    request: Request
    mounted: Mounted
    arguments: Mapping[str, Any]
    places: Mapping[str, Place]
    """By the path text that the call gave."""
    fingerprint: bytes
    timeout_ms: int
    warnings: tuple[str, ...]
    closed: tuple[str, ...]
    """Patterns that stay closed below the places."""
    seal: object

    def __post_init__(self) -> None:
        if self.seal is not _SEAL:
            raise TypeError("only the gate admits calls")


Admission: TypeAlias = Admitted | Asking | Refused


class Draft(msgspec.Struct, gc=False):
    """A call on its way through the checks, each of which adds what it found out."""

    call: Call
    toolbox: Toolbox
    policy: Policy
    usage: Usage
    locate: Locate
    comments: tuple[Comment, ...] = ()
    tool: Mounted | Any = None
    """None until the first check has found it."""
    arguments: dict[str, Any] = {}
    written: bytes | None = None
    """The arguments as JSON; None where they cannot be written so."""
    why: str = ""
    warnings: tuple[str, ...] = ()
    touched: list[tuple[Effect, Place]] = []
    fingerprint: bytes = b""
    ruling: Ruling | None = None


def check_name(draft: Draft) -> Fault | None:
    """Is there such a tool, and did the call arrive whole?"""
    call = draft.call
    draft.tool = mounted = draft.toolbox.find(call.tool)
    if mounted is None:
        close = draft.toolbox.names.closest(call.tool)
        known = f"Did you mean {', '.join(close)}?" if close else "No tool has a name like that."
        return Fault(
            "NOT_FOUND",
            f"unknown tool {_named(call.tool)!r}",
            f"{known} `whence tools` lists them all.",
            details={"closest": close},
        )
    if call.unparsed is not None:
        return Fault(
            "PARSE_ERROR",
            f"{mounted.name}: the arguments could not be read: {call.parse_problem}",
            "Send the whole call again as one valid JSON object.",
            details={"received": call.unparsed[:500]},
        )
    if not isinstance(call.arguments, dict):
        return Fault(
            "INVALID_ARGS",
            f"{mounted.name}: arguments must be an object, not {shown(call.arguments, 200)}",
            'Send an object, as in {"why": "…"}.',
        )
    return None


def check_why(draft: Draft) -> Fault | None:
    """Is there a reason?"""
    mounted = draft.tool
    draft.arguments = arguments = dict(draft.call.arguments)  # type: ignore[arg-type] # or check_name fails
    given = arguments.pop(mounted.why_key, None)
    if mounted.note_key in arguments:
        draft.comments += _comments(arguments.pop(mounted.note_key), mounted.why_key)
    draft.written = written = _written(arguments)
    reason = why.judge(given, draft.policy.why, mounted.name, arguments, written)
    draft.why = reason.text
    if reason.warning:
        draft.warnings += (reason.warning,)
    return reason.fault


def check_schema(draft: Draft) -> Fault | None:
    """Do the arguments fit?"""
    mounted, given = draft.tool, draft.arguments
    aliases = mounted.tool.argument_aliases
    if aliases:
        draft.arguments = schema.renamed(given, aliases)
    draft.arguments, fault = schema.check(mounted, draft.arguments)
    if fault is not None:
        return fault
    if draft.arguments is not given:
        draft.written = _written(draft.arguments)
    written = draft.written
    if written is None:
        given_text = shown(draft.arguments, 80)
        message = (
            f"{mounted.name}: the arguments cannot be written as JSON in Unicode: {given_text}"
        )
        return Fault("INVALID_ARGS", message, _NOT_JSON)
    if len(written) > _MAX_ARGUMENT_BYTES:
        message = f"{mounted.name}: the arguments have {len(written)} bytes"
        return Fault("QUOTA_EXCEEDED", message, "Send them in several calls.")
    draft.fingerprint = quota.fingerprint(mounted.name, written)
    return None


def _written(arguments: dict[str, Any]) -> bytes | None:
    try:
        return _encode(arguments)
    except (TypeError, ValueError, RecursionError, OverflowError):  # the next check says why
        return None


def check_mode(draft: Draft) -> Fault | None:
    """Does the mode have this tool, and these paths?"""
    locate = draft.locate
    try:
        named = named_paths(draft.tool, draft.arguments)
        draft.touched = [(effect, locate(given)) for effect, given in named]
    except WhenceError as error:
        return Fault.of(error)
    policy = draft.policy
    if policy.mode is None and not policy.ceiling:
        return None
    for held in (policy.mode, *policy.ceiling):
        fault = mode.check(held, draft.tool, draft.touched)
        if fault is not None:
            return fault
    return None


def check_permission(draft: Draft) -> Fault | None:
    """Do the rules allow it?"""
    mounted, commands = draft.tool, None
    commands_of = mounted.tool.commands
    if commands_of is not None:
        try:
            commands = commands_of(draft.arguments)
        except WhenceError as error:
            return Fault.of(error)
    draft.ruling = permission.decide(mounted, draft.touched, draft.policy, commands)
    if draft.ruling.verdict is Verdict.DENY:
        return permission.refusal(draft.tool, draft.ruling)
    return None


def check_quota(draft: Draft) -> Fault | None:
    """Is anything left to spend?"""
    return quota.check(draft.usage, draft.policy.quotas, draft.fingerprint)


Check: TypeAlias = Callable[[Draft], Fault | None]
CHECKS: tuple[tuple[str, Check], ...] = (
    ("name", check_name),
    ("why", check_why),
    ("schema", check_schema),
    ("mode", check_mode),
    ("permission", check_permission),
    ("quota", check_quota),
)
"""Approval, the seventh, is a question to a person: the loop asks it for an `Asking`."""
ENDS_HERE = frozenset({"name", "schema", "mode"})
"""After one of these fails, the next checks have nothing to look at."""


def admit(call: Call, toolbox: Toolbox, policy: Policy, usage: Usage, locate: Locate) -> Admission:
    """Let a call through, ask about it, or refuse it and say everything that is wrong with it."""
    draft = Draft(call, toolbox, policy, usage, locate, call.comments)
    for name, check in CHECKS:
        fault = check(draft)
        if fault is not None:
            return _refuse(draft, fault, name)
    return _outcome(draft)


def approve(asking: Asking) -> Admitted:
    """The call, after a person said yes."""
    return Admitted(
        asking.request,
        asking.mounted,
        asking.arguments,
        asking.places,
        asking.fingerprint,
        asking.timeout_ms,
        asking.warnings,
        asking.closed,
        _SEAL,
    )


def _outcome(draft: Draft) -> Admitted | Asking:
    mounted, policy, ruling = draft.tool, draft.policy, draft.ruling
    parts = (
        _request(draft),
        mounted,
        draft.arguments,
        {place.given: place for _, place in draft.touched},
        draft.fingerprint,
        min(mounted.tool.sandbox.timeout_ms, policy.limits.timeout_ms),
        draft.warnings,
        permission.closed_below(mounted, policy),
    )
    if ruling is not None and ruling.verdict is Verdict.ASK:
        return Asking(*parts, ruling)
    return Admitted(*parts, _SEAL)


def _refuse(draft: Draft, fault: Fault, failed: str) -> Refused:
    further = [] if failed in ENDS_HERE else _further(draft, failed)
    if further:
        fault = msgspec.structs.replace(fault, details={**fault.details, "also": further})
    if draft.tool is not None and failed == "name" and isinstance(draft.call.arguments, dict):
        check_why(draft)
    violation = draft.ruling.violation if draft.ruling is not None else None
    request = _request(draft)
    request = msgspec.structs.replace(request, arguments=plain(request.arguments))
    return Refused(request, fault, violation if failed == "permission" else None)


def _further(draft: Draft, failed: str) -> list[dict[str, str]]:
    found = []
    position = [name for name, _ in CHECKS].index(failed)
    for name, check in CHECKS[position + 1 :]:
        fault = check(draft)
        if fault is not None:
            found.append({"code": fault.code, "message": fault.message})
            if name in ENDS_HERE:
                break
    return found


def _request(draft: Draft) -> Request:
    call, known, arguments = draft.call, draft.tool, draft.arguments
    asked = call.tool
    if known is None:
        asked = _named(asked)
        arguments = dict(call.arguments) if isinstance(call.arguments, dict) else {}
        given = arguments.get("why")
        reason = arguments.pop("why") if isinstance(given, str) else ""
        return Request(asked, arguments, reason, unparsed=call.unparsed)
    return Request(
        known.name,
        arguments,
        draft.why,
        draft.comments,
        _paths(draft.touched),
        None if asked == known.name else asked,
        call.unparsed,
        known.why_key,
        None if draft.written is None else len(draft.written),
    )


def _named(asked: str) -> str:
    """A name that no tool has; of one that no tool could have, the beginning."""
    return asked if len(asked) <= _LONGEST_NAME else f"{asked[: _LONGEST_NAME - 1]}…"


def _paths(touched: list[tuple[Effect, Place]]) -> tuple[str, ...]:
    if len(touched) == 1:
        return (touched[0][1].path,)
    return (*dict.fromkeys([place.path for _, place in touched]),)


def _comments(note: object, key: str) -> tuple[Comment, ...]:
    notes = note if isinstance(note, list) else [note]
    return tuple(Comment((key,), text) for text in notes if isinstance(text, str) and text.strip())


def named_paths(mounted: Mounted, arguments: Mapping[str, Any]) -> list[tuple[Effect, str]]:
    """The paths that a call names, as it gives them, and what it does there."""
    found: list[tuple[Effect, str]] = []
    if mounted.tool.argument_aliases:
        arguments = schema.renamed(arguments, mounted.tool.argument_aliases)
    for name, effect in mounted.paths:
        value = arguments.get(name)
        if type(value) is str:
            found.append((effect, value))
            continue
        if value is None:
            value = _default_path(mounted, name)
        for given in value if isinstance(value, list) else (value,):
            if isinstance(given, str):
                found.append((effect, given))  # noqa: PERF401 - a hot path: no generator
    if mounted.tool.touches is not None:
        found += mounted.tool.touches(arguments)
    return found


def _default_path(mounted: Mounted, name: str) -> Any:
    properties: Any = mounted.tool.input_schema.get("properties", {})
    return properties.get(name, {}).get("default")
