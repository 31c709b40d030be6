"""Answers that are known beforehand, as a model: of a script, a transcript or a journal."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from whence.declare.toolbox import Toolbox
from whence.errors import ParseError, Unavailable
from whence.provider.arguments import make_call
from whence.provider.exchange import Completion, Loss, Settings
from whence.provider.ids import CallIds
from whence.provider.model import Progress
from whence.provider.stream import ItemDone, ReasoningDelta, TextDelta
from whence.shapes.item import (
    Item,
    Message,
    Reasoning,
    StopReason,
    Text,
    ToolCall,
    ToolOutcome,
    Usage,
)

PROTOCOL = "recorded"
_WORDS = re.compile(r"\S*\s*")
_OUTCOME = "{outcome}"
"""In the words of a script: what the last call came to."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: what is given out when the model is asked."""

    items: tuple[Item, ...]
    usage: Usage = field(default_factory=Usage)
    stop: StopReason | None = None
    """None: as the items say."""


class RecordedModel:
    """Gives its answers one after the other, whatever it is asked.

    Of several recorded conversations each new one gets the next; the last is for all that follow.
    """

    def __init__(self, id: str, *conversations: Iterable[Answer]) -> None:
        self._id = id
        self._conversations = [iter(tuple(answers)) for answers in conversations]

    @property
    def id(self) -> str:
        """`script/FILE` or `replay/FILE`."""
        return self._id

    def converse(
        self, settings: Settings, tools: Toolbox, *, xml: bool = False
    ) -> RecordedConversation:
        """Go on with the answers that no other conversation was given."""
        last = len(self._conversations) == 1
        answers = self._conversations[0] if last else self._conversations.pop(0)
        return RecordedConversation(self._id, answers)

    async def aclose(self) -> None:
        """Nothing is held."""


class RecordedConversation:
    """The answers in order; calls get ids that this conversation does not have yet."""

    def __init__(self, id: str, answers: Iterator[Answer]) -> None:
        self._id = id
        self._answers = answers
        self._ids = CallIds()
        self._last = ""

    def add(self, items: Sequence[Item]) -> tuple[Loss, ...]:
        """Remember ids that are taken, and what the last call came to."""
        for item in items:
            if isinstance(item, ToolCall):
                self._ids.claim(item.id)
            elif isinstance(item, ToolOutcome):
                self._last = item.text
        return ()

    async def answer(self) -> AsyncIterator[Progress]:
        """The next answer, in pieces as from a provider."""
        answer = next(self._answers, None)
        if answer is None:
            raise Unavailable(
                f"{self._id} has no further answer",
                "Add an answer to it, or go on with another model.",
            )
        items = tuple(self._fresh(item) for item in answer.items)
        for item in items:
            for delta in _pieces(item):
                yield delta
            yield ItemDone(item)
        calls = any(isinstance(item, ToolCall) for item in items)
        stop = answer.stop or (StopReason.CALLS if calls else StopReason.END)
        yield Completion(items, stop, usage=answer.usage, model=self._id)

    def _fresh(self, item: Item) -> Item:
        match item:
            case ToolCall():
                return replace(item, id=self._ids.claim(item.id))
            case Message(role="assistant", parts=(Text(text),)) if _OUTCOME in text:
                return Message.of("assistant", text.replace(_OUTCOME, self._last))
        return item


def _pieces(item: Item) -> Iterator[Progress]:
    if isinstance(item, Message):
        for piece in _WORDS.findall(item.text):
            if piece:
                yield TextDelta(piece)
    elif isinstance(item, Reasoning) and item.text:
        yield ReasoningDelta(item.text)


def answers_in(items: Iterable[Item]) -> list[Answer]:
    """The answers of a conversation: what a model gave between what it was given."""
    answers: list[Answer] = []
    said: list[Item] = []
    for item in items:
        if isinstance(item, ToolCall | Reasoning) or (
            isinstance(item, Message) and item.role == "assistant"
        ):
            said.append(item)
        elif said:
            answers.append(Answer(tuple(said)))
            said = []
    return [*answers, Answer(tuple(said))] if said else answers


def read_script(value: object, shown: str) -> list[Answer]:
    """The answers of a script: a list of `say`, `think`, `calls`, `usage` and `stop`.

    Raises:
        ParseError: it is none.
    """
    if not isinstance(value, list):
        raise ParseError(
            f"{shown} is not a list of answers", "Write `- say: …`, with or without `calls:`."
        )
    return [_answer(entry, f"{shown}, answer {number}") for number, entry in enumerate(value, 1)]


def _answer(entry: object, shown: str) -> Answer:
    if isinstance(entry, str):
        entry = {"say": entry}
    keys = {"say", "think", "calls", "usage", "stop"}
    if not isinstance(entry, dict) or not entry.keys() <= keys or not entry:
        raise ParseError(f"{shown} is {entry!r:.200}", f"Use {', '.join(sorted(keys))}.")
    items: list[Item] = []
    if "think" in entry:
        items.append(Reasoning(PROTOCOL, (str(entry["think"]),)))
    if "say" in entry:
        items.append(Message.of("assistant", str(entry["say"])))
    items += [_call(call, shown) for call in _listed(entry.get("calls"), shown)]
    try:
        usage = msgspec.convert(entry.get("usage", {}), Usage)
        stop = msgspec.convert(entry.get("stop"), StopReason | None)
    except msgspec.ValidationError as error:
        raise ParseError(f"{shown}: {error}", "Correct `usage` or `stop`.") from None
    return Answer(tuple(items), usage, stop)


def _listed(value: object, shown: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ParseError(f"{shown}: calls is {value!r:.200}", "Write a list of calls.")
    return value


def _call(value: object, shown: str) -> ToolCall:
    if not isinstance(value, dict) or not isinstance(value.get("tool"), str):
        hint = "Write `- tool: fs.read` with `args:` below it."
        raise ParseError(f"{shown}: a call is {value!r:.200}", hint)
    arguments = value.get("args", {})
    call_id = str(value.get("id", ""))
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return make_call(call_id, value["tool"], text)
