"""The only way from a call to its effect: seven checks, in order; the first that fails answers.

`admit` is pure but for `locate`, which is handed in: it follows links on the disk. What comes out
is `Admitted`, which only this module can make, and which is all that the executor takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import msgspec

from whence.declare.toolbox import Mounted, Toolbox
from whence.errors import WhenceError
from whence.gate import mode, permission, quota, schema, why
from whence.gate.permission import Ruling
from whence.gate.quota import Usage
from whence.shapes.call import Call, Comment, Fault
from whence.shapes.place import Locate, Place
from whence.shapes.policy import Policy, Verdict
from whence.shapes.tool import Effect

_SEAL = object()
_encode = msgspec.json.Encoder().encode
_MAX_ARGUMENT_BYTES = 64_000_000


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
    tool: Mounted | Any = None
    """None until the first check has found it."""
    arguments: dict[str, Any] = {}
    why: str = ""
    comments: tuple[Comment, ...] = ()
    warnings: tuple[str, ...] = ()
    touched: list[tuple[Effect, Place]] = []
    fingerprint: bytes = b""
    ruling: Ruling | None = None


def check_name(draft: Draft) -> Fault | None:
    """Is there such a tool, and did the call arrive whole?"""
    call = draft.call
    draft.tool = draft.toolbox.find(call.tool)
    if draft.tool is None:
        close = draft.toolbox.names.closest(call.tool)
        known = f"Did you mean {', '.join(close)}?" if close else "No tool has a name like that."
        return Fault(
            "NOT_FOUND",
            f"unknown tool {call.tool!r}",
            f"{known} `whence tools` lists them all.",
            details={"closest": close},
        )
    if call.unparsed is not None:
        return Fault(
            "PARSE_ERROR",
            f"{draft.tool.name}: the arguments could not be read: {call.parse_problem}",
            "Send the whole call again as one valid JSON object.",
            details={"received": call.unparsed[:500]},
        )
    if not isinstance(call.arguments, dict):
        return Fault(
            "INVALID_ARGS",
            f"{draft.tool.name}: arguments must be an object, not {call.arguments!r:.200}",
            'Send an object, as in {"why": "…"}.',
        )
    return None


def check_why(draft: Draft) -> Fault | None:
    """Is there a reason?"""
    mounted = draft.tool
    arguments = dict(draft.call.arguments) if isinstance(draft.call.arguments, dict) else {}
    given = arguments.pop(mounted.why_key, None)
    note = arguments.pop(mounted.note_key, None) if mounted.note_key else None
    draft.arguments = arguments
    draft.comments = draft.call.comments + _comments(note, mounted.why_key)
    reason = why.judge(given, draft.policy.why, mounted.name, arguments)
    draft.why = reason.text
    if reason.warning:
        draft.warnings += (reason.warning,)
    return reason.fault


def check_schema(draft: Draft) -> Fault | None:
    """Do the arguments fit?"""
    aliases = draft.tool.tool.argument_aliases
    if aliases:
        draft.arguments = schema.renamed(draft.arguments, aliases)
    draft.arguments, fault = schema.check(draft.tool, draft.arguments)
    if fault is not None:
        return fault
    try:
        written = _encode(draft.arguments)
    except UnicodeEncodeError as error:
        message = f"{draft.tool.name}: the arguments are not valid Unicode: {error.object[:80]!r}"
        return Fault("INVALID_ARGS", message, "Send ordinary text, without halves of characters.")
    if len(written) > _MAX_ARGUMENT_BYTES:
        message = f"{draft.tool.name}: the arguments have {len(written)} bytes"
        return Fault("QUOTA_EXCEEDED", message, "Send them in several calls.")
    draft.fingerprint = quota.fingerprint(draft.tool.name, written)
    return None


def check_mode(draft: Draft) -> Fault | None:
    """Does the mode have this tool, and these paths?"""
    try:
        _locate_paths(draft)
    except WhenceError as error:
        return Fault.of(error)
    policy = draft.policy
    for held in (policy.mode, *policy.ceiling):
        fault = mode.check(held, draft.tool, draft.touched)
        if fault is not None:
            return fault
    return None


def check_permission(draft: Draft) -> Fault | None:
    """Do the rules allow it?"""
    draft.ruling = permission.decide(draft.tool, draft.touched, draft.policy)
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
    draft = Draft(call, toolbox, policy, usage, locate)
    for position, (name, check) in enumerate(CHECKS):
        fault = check(draft)
        if fault is not None:
            return _refuse(draft, fault, name, position)
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
    mounted, limits = draft.tool, draft.policy.limits
    asking = draft.ruling is not None and draft.ruling.verdict is Verdict.ASK
    parts = (
        _request(draft),
        mounted,
        draft.arguments,
        {place.given: place for _, place in draft.touched},
        draft.fingerprint,
        min(mounted.tool.sandbox.timeout_ms, limits.timeout_ms),
        draft.warnings,
        permission.closed_below(mounted, draft.policy),
    )
    if asking and draft.ruling is not None:
        return Asking(*parts, draft.ruling)
    return Admitted(*parts, _SEAL)


def _refuse(draft: Draft, fault: Fault, failed: str, position: int) -> Refused:
    further = [] if failed in ENDS_HERE else _further(draft, position)
    if further:
        fault = replace(fault, details={**fault.details, "also": further})
    if draft.tool is not None and failed == "name" and isinstance(draft.call.arguments, dict):
        check_why(draft)
    violation = draft.ruling.violation if draft.ruling is not None else None
    return Refused(_request(draft), fault, violation if failed == "permission" else None)


def _further(draft: Draft, position: int) -> list[dict[str, str]]:
    found = []
    for name, check in CHECKS[position + 1 :]:
        fault = check(draft)
        if fault is not None:
            found.append({"code": fault.code, "message": fault.message})
            if name in ENDS_HERE:
                break
    return found


def _request(draft: Draft) -> Request:
    call = draft.call
    known = draft.tool
    name = known.name if known else call.tool
    arguments = draft.arguments
    if known is None and isinstance(call.arguments, dict):
        arguments = call.arguments
    return Request(
        name,
        arguments,
        draft.why,
        draft.comments,
        _distinct([place.path for _, place in draft.touched]),
        call.tool if call.tool != name else None,
        call.unparsed,
    )


def _distinct(paths: list[str]) -> tuple[str, ...]:
    return tuple(paths) if len(paths) < 2 else tuple(dict.fromkeys(paths))


def _comments(note: object, key: str) -> tuple[Comment, ...]:
    if note is None:
        return ()
    notes = note if isinstance(note, list) else [note]
    return tuple(Comment((key,), text) for text in notes if isinstance(text, str) and text.strip())


def _locate_paths(draft: Draft) -> None:
    named = named_paths(draft.tool, draft.arguments)
    draft.touched = [(effect, draft.locate(given)) for effect, given in named]


def named_paths(mounted: Mounted, arguments: Mapping[str, Any]) -> list[tuple[Effect, str]]:
    """The paths that a call names, as it gives them, and what it does there."""
    found: list[tuple[Effect, str]] = []
    if mounted.tool.argument_aliases:
        arguments = schema.renamed(arguments, mounted.tool.argument_aliases)
    for name, effect in mounted.tool.paths.items():
        value = arguments.get(name)
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
