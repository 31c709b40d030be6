"""One turn: ask the model, keep what it says, take its calls through the gate to their outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec

from whence.errors import Unavailable
from whence.execute.schedule import predecessors, run_all
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
from whence.loop.outcomes import cancelled, shown, unmade
from whence.loop.pairing import spoken
from whence.loop.session import Session
from whence.loop.transcript import INCOMPLETE, Transcript
from whence.provider.exchange import Completion
from whence.provider.model import Conversation, Waiting
from whence.provider.stream import ItemDone, ReasoningDelta, TextDelta
from whence.shapes.item import Item, Message, StopReason, ToolCall, ToolOutcome
from whence.shapes.tool import Effect

PARALLEL = 64
"""How many calls of one turn run at once."""
_TOO_MUCH = "the answer reached its limit of tokens before the call was whole: write less at once"
_BROKEN = frozenset({StopReason.CUT, StopReason.ERROR})
_INCOMPLETE = _BROKEN | {StopReason.LENGTH}


@dataclass(slots=True)
class Run:
    """One conversation on its way to an answer."""

    begin: Callable[[], Conversation]
    """Opens the conversation with the model, again after it was summed up."""
    session: Session
    transcript: Transcript
    budget: Budget
    emit: Callable[[News], None]
    steering: list[str]
    """What a person said meanwhile; the model hears it with the next turn."""
    system: tuple[Message, ...] = ()
    """The instructions; they stand before all items."""
    parallel: int = PARALLEL
    parent: str | None = None
    """The call that this run works for, where it is a sub-agent's."""
    items: list[Item] = field(default_factory=list)
    """Everything that was said so far; the conversation has it, too."""
    open: dict[str, ToolCall] = field(default_factory=dict)
    """Calls that are being run, by their ids in the journal."""
    noted: set[str] = field(default_factory=set)
    """What of the conversation the provider cannot be told, as far as a person knows of it."""
    context_tokens: int = 0
    """How long the conversation was when the model was last asked."""
    conversation: Conversation = field(init=False)

    def __post_init__(self) -> None:
        self.conversation = self.begin()

    def add(self, items: Sequence[Item], status: str | None = None) -> None:
        """Go on with these items, in the transcript first."""
        if items:
            self.transcript.add(items, status)
            self.tell(items)

    def tell(self, items: Sequence[Item]) -> None:
        """Go on with items that the transcript has already."""
        self.items += items
        for loss in self.conversation.add(items):
            note = loss.note
            if note not in self.noted:
                self.noted.add(note)
                self.say(note)

    def say(self, text: str) -> None:
        """Let a person know."""
        self.emit(Notice(text, self.parent))

    def heard(self) -> list[Message]:
        """What a person said since the last time."""
        said = [Message.of("user", text) for text in self.steering]
        self.steering.clear()
        return said

    def in_time(self) -> AbstractAsyncContextManager[None]:
        """Until the budget of seconds is used up."""
        left = self.budget.seconds_left
        return nullcontext() if left is None else _within(left, self.budget)


@asynccontextmanager
async def _within(seconds: float, budget: Budget) -> AsyncIterator[None]:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise budget.out_of_time() from None
        raise


async def ask(run: Run) -> Completion:
    """The next answer, kept in the transcript; its calls are still to be made.

    Raises:
        BudgetExceeded: turns, tokens, seconds or money are used up.
        WhenceError: the model gave no answer, or only the beginning of one, which is kept.
    """
    run.budget.begin_turn()
    run.session.next_turn()
    completion = _limited(await _listen(run))
    usage, calls = completion.usage, completion.calls
    run.budget.spend(usage)
    run.context_tokens = usage.input_tokens + usage.output_tokens
    _keep(run, completion.items, INCOMPLETE if completion.stop in _INCOMPLETE else None)
    run.session.record(events.model_turn(completion, run.parent))
    run.emit(TurnEnded(run.budget.taken, usage, len(calls), run.parent))
    if completion.stop in _BROKEN:
        _close(run, calls)
        raise _broken_off(completion)
    return completion


async def answer_calls(run: Run, calls: Sequence[ToolCall]) -> None:
    """Make the calls, and give the model their outcomes and what a person said meanwhile.

    However it ends, each call has an outcome, in the order of the calls. In the transcript stands
    each as soon as it is there, so that a crash costs no other call its outcome.
    """
    outcomes: list[ToolOutcome | None] = [None] * len(calls)
    kept: set[int] = set()

    async def one(index: int) -> None:
        outcome = await _perform(run, calls[index])
        if outcomes[index] is not None:
            return  # nobody waits for it any more
        outcomes[index] = outcome
        if run.transcript.words is None:  # words have no ids: only their order pairs them
            run.transcript.add([outcome])
            kept.add(index)

    waits = predecessors([_touched(run, call) for call in calls]) if len(calls) > 1 else [()]
    async with run.in_time():
        try:
            await run_all([partial(one, index) for index in range(len(calls))], waits, run.parallel)
        finally:
            run.open.clear()
            ended = [end or cancelled(call) for end, call in zip(outcomes, calls, strict=True)]
            outcomes[:] = ended
            heard = run.heard()
            late = [end for index, end in enumerate(ended) if index not in kept]
            run.transcript.add([*late, *heard])
            run.tell([*ended, *heard])


async def _listen(run: Run) -> Completion:
    """The answer, its words given out as they arrive; of one that is stopped, what had come."""
    emit, parent = run.emit, run.parent
    done: list[Item] = []
    words: list[str] = []
    completion = None
    async with run.in_time():
        try:
            async for piece in run.conversation.answer():
                match piece:
                    case TextDelta():
                        words.append(piece.text)
                        emit(TextPiece(piece.text, parent))
                    case ReasoningDelta():
                        emit(Thought(piece.text, parent))
                    case ItemDone():
                        done.append(piece.item)
                        if isinstance(piece.item, Message):
                            words.clear()
                    case Waiting():
                        emit(piece)
                    case Completion():
                        completion = piece
        except BaseException:
            _keep_part(run, completion.items if completion else _so_far(done, words))
            raise
    if completion is None:
        _keep_part(run, _so_far(done, words))
        raise Unavailable("the model's answer has no end", "Run it again.")
    return completion


def _limited(completion: Completion) -> Completion:
    """The answer; a call that the limit of tokens cut off says so, or it would be made again."""
    if completion.stop is not StopReason.LENGTH:
        return completion
    items = tuple(
        replace(item, problem=f"{_TOO_MUCH} ({item.problem})")
        if isinstance(item, ToolCall) and item.arguments is None
        else item
        for item in completion.items
    )
    return replace(completion, items=items)


def _so_far(done: list[Item], words: list[str]) -> list[Item]:
    """What had arrived of an answer, where the model does not say it."""
    text = "".join(words)
    return [*done, Message.of("assistant", text)] if text else done


def _keep_part(run: Run, items: Sequence[Item]) -> None:
    """What had arrived of an answer that was stopped stays in the transcript."""
    _keep(run, items, INCOMPLETE)
    _close(run, [item for item in items if isinstance(item, ToolCall)])


def _keep(run: Run, items: Sequence[Item], status: str | None) -> None:
    """Put an answer into the transcript, and into the conversation what providers take back."""
    if items:
        run.transcript.add(items, status)
        run.tell(spoken(items))


def _close(run: Run, calls: Sequence[ToolCall]) -> None:
    run.add([unmade(call) for call in calls])


def _broken_off(completion: Completion) -> Unavailable:
    said = str(completion.failure) if completion.failure else "the connection ended"
    return Unavailable(
        f"the model's answer broke off: {said}",
        "What had come is in the transcript: run it again to go on.",
    )


async def _perform(run: Run, call: ToolCall) -> ToolOutcome:
    made = call.as_call(run.parent)
    # Ids are unique in a conversation, and the journal has several.
    inside = f"{run.parent}.{call.id}" if run.parent and call.id else call.id
    call_id = run.session.claim(inside)
    mounted = run.session.toolbox.find(call.name)
    arguments = call.arguments
    why = str((arguments or {}).get(mounted.why_key if mounted else "why") or "")
    run.open[call_id] = call
    run.emit(
        CallStarted(call_id, mounted.name if mounted else call.name, why, arguments, run.parent)
    )
    try:
        outcome = await run.session.perform(msgspec.structs.replace(made, id=call_id))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return cancelled(call)  # the tool's own doing: nobody has stopped the run
    run.emit(CallEnded(call_id, outcome, run.parent))
    return shown(call, outcome)


def _touched(run: Run, call: ToolCall) -> list[tuple[Effect, str]]:
    if call.arguments is None:
        return []
    return run.session.touched(call.name, call.arguments)
