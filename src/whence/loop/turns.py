"""The loop: ask the model, take its calls through the gate, give it the outcomes, and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from whence.errors import Unavailable
from whence.execute.schedule import Stopped, predecessors, run_all
from whence.loop import events
from whence.loop.budget import Budget
from whence.loop.news import (
    CallEnded,
    CallStarted,
    News,
    Notice,
    TextPiece,
    Thought,
    TurnEnded,
)
from whence.loop.outcomes import cancelled, interrupted, shown
from whence.loop.session import Session
from whence.loop.transcript import INCOMPLETE, Transcript
from whence.provider.exchange import Completion
from whence.provider.model import Conversation, Waiting
from whence.provider.stream import ReasoningDelta, TextDelta
from whence.shapes.call import Outcome
from whence.shapes.item import Item, Message, StopReason, ToolCall, ToolOutcome
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect

PARALLEL = 64
"""How many calls of one turn run at once."""
_GO_ON = frozenset({StopReason.PAUSE})
_BROKEN = frozenset({StopReason.CUT, StopReason.ERROR})


@dataclass(slots=True)
class Run:
    """One conversation on its way to an answer."""

    conversation: Conversation
    session: Session
    transcript: Transcript
    budget: Budget
    emit: Callable[[News], None]
    items: list[Item]
    """Everything that was said so far; the conversation has it, too."""
    parallel: int = PARALLEL
    parent: str | None = None
    """The call that this run works for, where it is a sub-agent's."""
    steering: list[str] = field(default_factory=list)
    """What a person said meanwhile; the model hears it with the next turn."""
    context_tokens: int = 0
    """How long the conversation was when the model was last asked."""
    partial: list[str] = field(default_factory=list)
    """Words of an answer that is not whole yet."""

    def add(self, items: Sequence[Item], status: str | None = None) -> None:
        """Go on with these items, in the transcript first."""
        self.transcript.add(items, status)
        self.items += items
        for loss in self.conversation.add(items):
            self.emit(Notice(str(loss), self.parent))


async def turn(run: Run) -> Completion | None:
    """One turn; the completion where it is an answer, None where the conversation goes on.

    Raises:
        BudgetExceeded: turns, tokens, seconds or money are used up.
        WhenceError: the model gave no answer.
    """
    run.budget.begin_turn()
    run.session.next_turn()
    completion = await _listen(run)
    run.budget.spend(completion.usage)
    run.context_tokens = completion.usage.input_tokens + completion.usage.output_tokens
    run.session.record(events.model_turn(completion, run.parent))
    run.add(completion.items, INCOMPLETE if completion.stop in _BROKEN else None)
    calls = completion.calls
    run.emit(TurnEnded(run.budget.taken, completion.usage, len(calls), run.parent))
    if completion.stop in _BROKEN:
        _close(run, calls)
        raise _broken_off(completion)
    if not calls and completion.stop not in _GO_ON and not run.steering:
        return completion
    run.add([*await _outcomes(run, calls), *_notes(run)])
    return None


async def _listen(run: Run) -> Completion:
    """The answer, its words given out as they arrive."""
    emit, parent = run.emit, run.parent
    run.partial.clear()
    try:
        async with asyncio.timeout(run.budget.seconds_left):
            async for piece in run.conversation.answer():
                match piece:
                    case TextDelta():
                        run.partial.append(piece.text)
                        emit(TextPiece(piece.text, parent))
                    case ReasoningDelta():
                        emit(Thought(piece.text, parent))
                    case Waiting():
                        emit(piece)
                    case Completion():
                        return piece
    except asyncio.CancelledError:
        _keep_words(run)
        raise
    except TimeoutError:
        _keep_words(run)
        run.budget.begin_turn()  # says which limit it was
        raise
    raise Unavailable("the model's answer has no end", "Run it again.")


def _keep_words(run: Run) -> None:
    """What had arrived of an answer that was stopped stays in the transcript."""
    words = "".join(run.partial)
    if words:
        run.add([Message.of("assistant", words)], INCOMPLETE)


def _close(run: Run, calls: Sequence[ToolCall]) -> None:
    if calls:
        run.add([interrupted(call, "the answer that made it broke off") for call in calls])


def _broken_off(completion: Completion) -> Unavailable:
    said = str(completion.failure) if completion.failure else "the connection ended"
    return Unavailable(
        f"the model's answer broke off: {said}",
        "What had come is in the transcript: run it again to go on.",
    )


def _notes(run: Run) -> list[Message]:
    said = [Message.of("user", text) for text in run.steering]
    run.steering.clear()
    return said


async def _outcomes(run: Run, calls: Sequence[ToolCall]) -> list[ToolOutcome]:
    """The outcomes in the order of the calls, however they ended."""
    if not calls:
        return []
    jobs = [lambda call=call: _perform(run, call) for call in calls]
    waits = predecessors([_touched(run, call) for call in calls]) if len(calls) > 1 else [()]
    try:
        ended = await run_all(jobs, waits, run.parallel)
    except Stopped as stopped:
        run.add([_outcome(call, end) for call, end in zip(calls, stopped.results, strict=True)])
        raise
    for end in ended:
        if isinstance(end, BaseException):
            run.add([_outcome(call, end) for call, end in zip(calls, ended, strict=True)])
            raise end
    return [_outcome(call, end) for call, end in zip(calls, ended, strict=True)]


def _outcome(call: ToolCall, end: object) -> ToolOutcome:
    return shown(call, end) if isinstance(end, Outcome) else cancelled(call)


async def _perform(run: Run, call: ToolCall) -> Outcome:
    asked = call.as_call(run.parent)
    if run.parent and asked.id:  # ids are unique in a conversation, the journal has several
        asked = msgspec.structs.replace(asked, id=f"{run.parent}.{asked.id}")
    mounted = run.session.toolbox.find(call.name)
    key = mounted.why_key if mounted else "why"
    arguments: JSONObject | None = call.arguments
    why = str((arguments or {}).get(key) or "")
    name = mounted.name if mounted else call.name
    run.emit(CallStarted(call.id, name, why, arguments, run.parent))
    outcome = await run.session.perform(asked)
    run.emit(CallEnded(call.id, outcome, run.parent))
    return outcome


def _touched(run: Run, call: ToolCall) -> list[tuple[Effect, str]]:
    if call.arguments is None:
        return []
    return run.session.touched(call.name, call.arguments)
