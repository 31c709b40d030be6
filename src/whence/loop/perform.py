"""The one path from a call to its outcome: admit, record, run, limit, record."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import msgspec

from whence.declare.toolbox import Toolbox
from whence.errors import Unavailable
from whence.execute.containment import Root
from whence.execute.edits import Edits
from whence.execute.executor import Ended, execute
from whence.execute.limit import cut_value, size_of
from whence.execute.noted import Noted
from whence.gate.gate import Admitted, Asking, Refused, Request, admit
from whence.gate.quota import Usage
from whence.journal.artifacts import UNDO, write_artifact
from whence.journal.redact import Redactor
from whence.journal.write import Journal
from whence.loop import changes, events
from whence.loop.asking import ask, unchanged
from whence.loop.changes import NOTHING, Known, Settled
from whence.loop.shelf import SessionShelf
from whence.provider.ids import CallIds
from whence.shapes.approval import Approver
from whence.shapes.call import Call, Fault, Outcome
from whence.shapes.event import Event
from whence.shapes.json import JSONObject
from whence.shapes.policy import Policy
from whence.shapes.process import ProcessRunner
from whence.shapes.tool import Effect


@dataclass(slots=True)
class Room:
    """What every call of a session shares."""

    root: Root
    toolbox: Toolbox
    policy: Policy
    journal: Journal
    usage: Usage
    processes: ProcessRunner
    redactor: Redactor
    known: Known
    """Which versions of files the model knows."""
    shelf: SessionShelf
    """What outlives one call."""
    ids: CallIds
    """Those of the session's calls, whichever conversation made them."""
    approver: Approver | None = None
    turn_chars: int = 0
    """Output that this turn's calls have shown the model."""

    def next_turn(self) -> None:
        """Give the next turn its own quota of calls and characters."""
        self.usage.next_turn()
        self.turn_chars = 0


async def perform(call: Call, room: Room) -> Outcome:
    """Take a call to its outcome. Nothing else in the program runs a tool."""
    started = time.perf_counter()
    policy = room.policy
    admission = admit(call, room.toolbox, policy, room.usage, room.root.locate)
    args, abridged = events.abridge(admission.request, policy.limits.inline_chars)
    try:
        call_id = room.journal.append_call(events.tool_call(admission.request, args, call))
    except Unavailable as error:
        return _outcome(room, call.id or "", admission, started, fault=Fault.of(error))
    if abridged:
        unkept = _keep_arguments(admission.request, call_id, room)
        if unkept is not None:
            admission = Refused(admission.request, unkept)
    edits = noted = None
    try:
        if type(admission) is Asking:
            admission = await ask(admission, call_id, room)
        if type(admission) is Admitted and (guard := admission.mounted.tool.guard) is not None:
            admission = await unchanged(admission, guard, call_id, room)
        if type(admission) is Admitted:
            edits = Edits(f"{room.journal.directory}/{UNDO}", call_id, room.known.hashers)
            noted = _noted(admission, room)
            return await _run(admission, call_id, room, started, edits, noted)
    except Unavailable as error:  # the journal: without it there is neither approval nor effect
        admission = Refused(admission.request, Fault.of(error))
    except asyncio.CancelledError:
        tool = admission.request.tool
        fault = Fault("CANCELLED", f"{tool} was stopped", "Call again if needed.")
        refused = Refused(admission.request, fault)
        if edits is None or not isinstance(admission, Admitted):
            _refuse(refused, call_id, room, started)
        else:
            settled = _settle(admission, room, edits)
            _refuse(refused, call_id, room, started, settled, _isolation(noted))
        raise
    assert isinstance(admission, Refused)  # noqa: S101 - asked and answered, or refused before
    return _refuse(admission, call_id, room, started)


def _keep_arguments(request: Request, call_id: str, room: Room) -> Fault | None:
    """Put arguments that are too long for the log beside it; a fault where there is no room."""
    whole = events.written(room.redactor.redact(request.arguments))
    try:
        write_artifact(room.journal.directory, request.tool, f"{call_id}.args.json", whole)
    except OSError as error:
        message = f"the arguments could not be recorded: {error.strerror}; nothing was done"
        return Fault("UNAVAILABLE", message, "Free some space, then call again.")
    return None


def _refuse(
    refused: Refused,
    call_id: str,
    room: Room,
    started: float,
    settled: Settled = NOTHING,
    isolation: JSONObject | None = None,
) -> Outcome:
    outcome = _outcome(room, call_id, refused, started, fault=refused.fault, isolation=isolation)
    happened = [events.tool_error(outcome, refused.fault, settled.changes)]
    if refused.fault.details.get("quota") == "repeats":
        room.usage.remember(refused.request.tool, refused.request.arguments)
    if refused.violation:
        happened.insert(0, events.violation(refused.violation, call_id, refused.request))
    return _recorded(outcome, room, *happened)


def _noted(admitted: Admitted, room: Room) -> Noted | None:
    """A runner of its own for a call that may start programs."""
    return None if admitted.mounted.is_harmless else Noted(room.processes)


def _isolation(noted: Noted | None) -> JSONObject | None:
    """How far programs of a call were kept apart, if it started any."""
    return noted.reached.as_json() if noted is not None and noted.reached is not None else None


async def _run(
    admitted: Admitted,
    call_id: str,
    room: Room,
    started: float,
    edits: Edits,
    noted: Noted | None,
) -> Outcome:
    room.usage.begin(admitted.fingerprint)
    if room.journal.durable:
        await room.journal.commit()
    if noted is not None:  # it may take long, and its programs may make calls of this session
        room.journal.step_aside()
    processes = noted or room.processes
    ended = await execute(admitted, room.root, processes, call_id, edits, room.shelf)
    if noted is not None and ended.isolation is None:
        ended = msgspec.structs.replace(ended, isolation=_isolation(noted))
    settled = _settle(admitted, room, edits) if edits.made or edits.opened else NOTHING
    duration = time.perf_counter() - started
    room.usage.end(duration, ended.bytes_written)
    if ended.fault is None:
        return _succeed(admitted, ended, settled, call_id, room, duration * 1000)
    name = admitted.mounted.name
    warnings = admitted.warnings + ended.warnings + settled.warnings
    artifact = None
    if ended.traceback:
        artifact = _keep(room, call_id, name, "traceback.txt", ended.traceback)
    outcome = Outcome(
        call_id,
        room.journal.session,
        name,
        fault=ended.fault,
        artifact=artifact,
        isolation=ended.isolation,
        warnings=warnings,
        duration_ms=duration * 1000,
    )
    return _recorded(outcome, room, events.tool_error(outcome, ended.fault, settled.changes))


def _settle(admitted: Admitted, room: Room, edits: Edits) -> Settled:
    """What the call changed; that it cannot be told is no fault of the call."""
    tool = admitted.mounted.tool
    reads_only = Effect.WRITE not in tool.effects
    try:
        return changes.settle(edits, room.known, room.root, reads_only=reads_only)
    except OSError as error:
        return Settled(None, (f"what it changed could not be recorded: {error}",))


def _succeed(
    admitted: Admitted, ended: Ended, settled: Settled, call_id: str, room: Room, duration_ms: float
) -> Outcome:
    """The result as far as it goes, and where the rest is."""
    limits, tool = room.policy.limits, admitted.mounted.tool
    value, whole = ended.value, ended.text
    allowed = tool.sandbox.output_chars
    if allowed is None:
        allowed = limits.output_chars
    left = limits.turn_chars - room.turn_chars
    if left < allowed:
        allowed = max(left, 0)
    size = len(whole)
    artifact = None
    if size > limits.inline_chars:
        ending = "txt" if type(value) is str else "json"
        artifact = _keep(room, call_id, tool.name, ending, whole)
    if size > allowed:
        size = size_of(value)
    cut = size > allowed
    outcome = Outcome(
        call_id,
        room.journal.session,
        tool.name,
        cut_value(value, allowed) if cut else value,
        None,
        ended.truncated or cut,
        artifact,
        ended.isolation,
        admitted.warnings + ended.warnings + settled.warnings,
        duration_ms,
    )
    room.turn_chars += allowed if cut else size
    happened = events.tool_result(outcome, whole if artifact else None, settled.changes)
    return _recorded(outcome, room, happened)


def _keep(room: Room, call_id: str, tool: str, ending: str, text: str) -> str | None:
    """Write an artifact; its path as file tools take it. A full disk is no fault."""
    return room.shelf.keep(tool, f"{call_id}.{ending}", text.encode(errors="replace"))


def _outcome(
    room: Room,
    call_id: str,
    admission: Admitted | Asking | Refused,
    started: float,
    *,
    fault: Fault | None,
    isolation: JSONObject | None = None,
) -> Outcome:
    duration = (time.perf_counter() - started) * 1000
    tool, session = admission.request.tool, room.journal.session
    return Outcome(call_id, session, tool, fault=fault, isolation=isolation, duration_ms=duration)


def _recorded(outcome: Outcome, room: Room, *happened: Event) -> Outcome:
    """The outcome; with a warning where the journal could not take it any more."""
    try:
        room.journal.append(*happened)
    except Unavailable as error:
        warning = f"the outcome could not be recorded: {error.message}"
        return msgspec.structs.replace(outcome, warnings=(*outcome.warnings, warning))
    return outcome
