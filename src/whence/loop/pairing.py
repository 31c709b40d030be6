"""A conversation as every provider takes it: each call answered, once, right behind its answer.

Files are edited, merged and cut off by crashes, and providers refuse what then stands in them.
Here it is put right for the request; the file stays as it is. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from whence.loop.outcomes import interrupted
from whence.provider.ids import CallIds
from whence.shapes.item import Item, Message, Opaque, Reasoning, Text, ToolCall, ToolOutcome

_ENDED = "the run ended before it was done"
_STRAY = "The outcome of a call that this conversation no longer has:\n"


class Paired(NamedTuple):
    """What may be sent, and how it differs from what was said."""

    items: list[Item]
    closed: list[ToolOutcome]
    """Outcomes of calls that had none; the transcript does not have them yet."""
    notes: list[str]
    """What a person should know."""


def paired(items: Sequence[Item]) -> Paired:
    """The conversation, with every call answered in the order of the calls, and nothing else."""
    if not any(isinstance(item, ToolCall | ToolOutcome | Reasoning) for item in items):
        return Paired(list(items), [], [])
    answers = _Answers(items)
    settled: list[Item] = []
    waiting: list[ToolOutcome] = []
    is_over = False
    for index, item in enumerate(items):
        if isinstance(item, ToolOutcome):
            is_over = True
            words = answers.stray(index, item)
            if words is None:
                continue
            item = words  # noqa: PLW2901 - it is sent as words
        if is_over or not speaks(item):
            settled += waiting
            waiting, is_over = [], False
        if isinstance(item, ToolCall):
            call, outcome = answers.of(index, item)
            waiting.append(outcome)
            settled.append(call)
        else:
            settled.append(item)
    return Paired(list(_thoughts_followed([*settled, *waiting])), answers.closed, answers.notes)


def spoken(items: Sequence[Item]) -> list[Item]:
    """What of an answer may be sent back: providers refuse a thought that nothing follows."""
    end = len(items)
    while end and isinstance(items[end - 1], Reasoning):
        end -= 1
    return list(items[:end])


class _Answers:
    """Which outcome belongs to which call: the first one behind it that has its id."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.closed: list[ToolOutcome] = []
        self.notes: list[str] = []
        self._items = items
        self._ids = CallIds()
        self._called: set[str] = set()
        self._taken: set[int] = set()
        self._places: dict[str, list[int]] = {}
        for index, item in enumerate(items):
            if isinstance(item, ToolOutcome):
                self._places.setdefault(item.call_id, []).append(index)

    def of(self, index: int, call: ToolCall) -> tuple[ToolCall, ToolOutcome]:
        """The call and its outcome, under an id that no other call has."""
        found = next((at for at in self._places.get(call.id, ()) if self._fits(at, index)), None)
        self._called.add(call.id)
        own = self._ids.claim(call.id) if call.id else ""
        if own != call.id:
            self.notes.append(f"two calls have the id {call.id}: the later one is sent as {own}")
        if found is None:
            outcome = interrupted(call, _ENDED)
            self.closed.append(outcome)
        else:
            self._taken.add(found)
            outcome = self._outcome(found)
        return replace(call, id=own), replace(outcome, call_id=own, name=outcome.name or call.name)

    def stray(self, index: int, outcome: ToolOutcome) -> Message | None:
        """What becomes of an outcome where it stands: nothing, if it is some call's."""
        if index in self._taken:
            return None
        if outcome.call_id in self._called and outcome.call_id:
            self.notes.append(f"the call {outcome.call_id} has another outcome: it is not sent")
            return None
        self.notes.append(f"no call has the id {outcome.call_id!r}: its outcome is sent as words")
        return Message("user", (Text(_STRAY), *outcome.parts))

    def _fits(self, at: int, index: int) -> bool:
        return at > index and at not in self._taken

    def _outcome(self, index: int) -> ToolOutcome:
        item = self._items[index]
        assert isinstance(item, ToolOutcome)  # noqa: S101 - only those were listed
        return item


def speaks(item: Item) -> bool:
    """Whether it is part of an assistant's answer."""
    if isinstance(item, Message | Opaque):
        return item.role == "assistant"
    return not isinstance(item, ToolOutcome)


def _thoughts_followed(items: Sequence[Item]) -> Iterator[Item]:
    """Without thoughts that nothing of the same answer follows."""
    held: list[Item] = []
    for item in items:
        if isinstance(item, Reasoning):
            held.append(item)
            continue
        if speaks(item):
            yield from held
        held = []
        yield item
