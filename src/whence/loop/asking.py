"""Questions to a person: may this call be made, and is this tool still the one that was trusted?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from whence.errors import Conflict, Unavailable, WhenceError
from whence.gate.gate import Admitted, Asking, Refused, Request, approve
from whence.gate.permission import Ruling
from whence.loop import events
from whence.loop.answers import SHOWN, remember
from whence.loop.rules import answer_of
from whence.shapes.approval import Answer, Question
from whence.shapes.call import Fault
from whence.shapes.pin import Drift, Guard

if TYPE_CHECKING:
    from whence.loop.perform import Room

_NOBODY = Answer(approved=False, by="nobody")


async def ask(asking: Asking, call_id: str, room: Room) -> Admitted | Refused:
    """The call, if a person lets it through; an answer that holds longer becomes a rule."""
    request, ruling = asking.request, asking.ruling
    question = Question(
        call_id, request.tool, request.arguments, request.why, ruling.reason, ruling.would_allow,
        ruling.shown,
    )  # fmt: skip
    answer = await _answer(question, room)
    if ruling.would_allow is None and answer.scope != "once":
        answer = replace(answer, scope="once")
    room.journal.append(events.user_approval(request, call_id, ruling.reason, answer))
    if not answer.approved:
        return Refused(request, _not_approved(request, ruling, answer), ruling.violation)
    admitted = approve(asking)
    warning = _kept(ruling, answer, room)
    if warning:
        return msgspec.structs.replace(admitted, warnings=(*admitted.warnings, warning))
    return admitted


async def _answer(question: Question, room: Room) -> Answer:
    room.journal.step_aside()  # a person may take long
    return await room.approver(question) if room.approver else _NOBODY


def _kept(ruling: Ruling, answer: Answer, room: Room) -> str | None:
    """Make a rule of an answer that holds for more than this call; what went wrong with that."""
    if answer.scope == "once" or ruling.would_allow is None:
        return None
    source, warning = "this session", None
    if answer.scope == "always":
        try:
            remember(room.root.path, ruling.would_allow)
            source = SHOWN
        except (Conflict, Unavailable) as error:
            warning = f"the answer holds for this session only: {error.message}"
    rule = answer_of(ruling.would_allow, source, room.toolbox)
    if rule is not None:
        room.policy = replace(room.policy, rules=(*room.policy.rules, rule))
    return warning


def _not_approved(request: Request, ruling: Ruling, answer: Answer) -> Fault:
    nobody = answer is _NOBODY
    said = "it needs approval and nobody is here to give it" if nobody else "it was not approved"
    rule = ruling.would_allow
    way_out = f"Do without it, or have it allowed with the rule {rule}." if rule else "Do without."
    return Fault(
        "PERMISSION_DENIED",
        f"{request.tool}: {said}: {ruling.reason}",
        way_out,
        recoverable=nobody,
        details={"reason": ruling.reason, "would_allow": rule},
    )


async def unchanged(
    admitted: Admitted, guard: Guard, call_id: str, room: Room
) -> Admitted | Refused:
    """The call, if what is behind its tool is what was trusted, or if a person trusts it now."""
    request = admitted.request
    try:
        await guard.look()
        drift = guard.drift()
        if drift is None:
            return admitted
        question = Question(
            call_id, request.tool, request.arguments, request.why, drift.reason, None,
            difference=drift.difference,
        )  # fmt: skip
        answer = await _answer(question, room)
        room.journal.append(events.user_approval(request, call_id, drift.reason, answer))
        if answer.approved:
            guard.accept(keep=answer.scope == "always")
            return admitted
    except Unavailable:
        raise
    except WhenceError as error:
        return Refused(request, Fault.of(error))
    return Refused(request, _changed(request, drift))


def _changed(request: Request, drift: Drift) -> Fault:
    return Fault(
        "PERMISSION_DENIED",
        f"{request.tool}: {drift.reason}",
        drift.remedy,
        recoverable=False,
        details={"reason": drift.reason, "difference": drift.difference},
    )
