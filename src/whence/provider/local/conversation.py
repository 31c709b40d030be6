"""A conversation with the embedded model: the steps of a request, one call each, then quotations.

Where a request stands follows from the items alone, so a conversation that broke off goes on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from whence.declare.toolbox import Mounted, Toolbox
from whence.provider.exchange import Completion, Loss, ToolChoice
from whence.provider.ids import CallIds
from whence.provider.local import answer
from whence.provider.local.choose import Candidate, Chooser
from whence.provider.local.engine import Networks
from whence.provider.local.fill import fill
from whence.provider.local.plan import parted, steps_of
from whence.provider.local.quote import fault
from whence.provider.local.reason import reason
from whence.provider.local.spread import spread
from whence.provider.model import Progress
from whence.provider.stream import ItemDone, TextDelta
from whence.provider.wire import mend
from whence.shapes.item import Item, Message, StopReason, Text, ToolCall, ToolOutcome, Usage
from whence.shapes.json import JSONObject

ID = "local/smollm2"

_SURE = 0.4
"""With a document at hand, a tool must be meant this plainly to be called."""
_NEARLY = 0.1
"""A tool this much behind the best may take its place where that one cannot be filled."""
_TRIED = 3
_NO_TOOL = 0.25
"""Where no tool is meant, small talk must still be nearer than this to be taken for it."""
_NO_CHOICE = ToolChoice()


@dataclass(frozen=True, slots=True)
class _Asked:
    """The request that is being worked on."""

    request: str
    documents: str
    since: tuple[Item, ...]
    """What happened after it was made."""

    @property
    def calls(self) -> list[ToolCall]:
        return [item for item in self.since if isinstance(item, ToolCall)]

    @property
    def outcomes(self) -> dict[str, ToolOutcome]:
        return {item.call_id: item for item in self.since if isinstance(item, ToolOutcome)}


@dataclass(frozen=True, slots=True)
class _Step:
    """A part of a request: what to call for it, or what to say instead."""

    text: str
    mounted: Mounted | None = None
    arguments: JSONObject | None = None
    remark: str = ""
    """Empty where there is a call, and where there is nothing to say."""


class LocalConversation:
    """What was said so far, and the tools there are."""

    def __init__(self, tools: Toolbox, networks: Networks, choice: ToolChoice = _NO_CHOICE) -> None:
        self._tools = _offered(tools, choice)
        self._must_call = choice.mode in ("required", "tool")
        self._networks = networks
        self._chooser = Chooser(self._tools, networks)
        self._ids = CallIds()
        self._items: list[Item] = []
        self._prepared: dict[tuple[int, str], list[_Step]] = {}
        self._usage = Usage()

    def add(self, items: Sequence[Item]) -> tuple[Loss, ...]:
        """Go on with these items."""
        self._items.extend(items)
        for item in items:
            if isinstance(item, ToolCall):
                self._ids.claim(item.id)
        return tuple(
            Loss(index, "a picture or a file", "dropped", "the embedded model reads only words")
            for index, item in enumerate(items)
            if isinstance(item, Message) and any(not isinstance(p, Text) for p in item.parts)
        )

    async def answer(self) -> AsyncIterator[Progress]:
        """The call of the next step, or what came of all of them."""
        self._usage = Usage()
        asked = self._asked()
        texts = steps_of(asked.request, self._tools) if asked.request else []
        steps = [step for text in texts for step in await self._prepare(text, asked)]
        done: list[tuple[_Step, ToolCall | None]] = []
        calls = iter(asked.calls)
        for position, step in enumerate(steps, 1):
            call = next(calls, None) if step.mounted else None
            if step.mounted and call is None and not _failed(asked):
                made = self._call(step, position, len(steps))
                yield ItemDone(made)
                yield self._completion(made, StopReason.CALLS)
                return
            done.append((step, call))
        said = Message.of("assistant", await self._say(asked, done))
        for line in said.text.splitlines(keepends=True):
            yield TextDelta(line)
        yield ItemDone(said)
        yield self._completion(said, StopReason.END)

    def _asked(self) -> _Asked:
        for index in range(len(self._items) - 1, -1, -1):
            item = self._items[index]
            if isinstance(item, Message) and item.role == "user" and item.text.strip():
                texts = [mend(part.text) for part in item.parts if isinstance(part, Text)]
                request, documents = parted(texts)
                return _Asked(request, documents, tuple(self._items[index + 1 :]))
        return _Asked("", "", ())

    async def _prepare(self, text: str, asked: _Asked) -> list[_Step]:
        """What a part of a request asks for; worked out once."""
        key = (len(self._items) - len(asked.since), text)
        steps = self._prepared.get(key)
        if steps is None:
            steps = self._prepared[key] = await self._decide(text, asked)
        return steps

    async def _decide(self, text: str, asked: _Asked) -> list[_Step]:
        found = await self._candidates(text)
        if asked.documents and (not found or found[0].score < _SURE):
            return [_Step(text, remark=await self._look_up(text, asked.documents))]
        for candidate in found[:_TRIED]:
            if candidate.score < found[0].score - _NEARLY:
                break
            parts = spread(text, candidate.mounted)
            steps = [await self._filled(part, candidate.mounted) for part in parts]
            if all(step.mounted for step in steps):
                return steps
        if found:
            return [_Step(text, remark=answer.needs_more(text, found[0].mounted))]
        return [_Step(text)]

    async def _filled(self, text: str, mounted: Mounted) -> _Step:
        filled = await fill(text, mounted, self._networks)
        self._usage += Usage(filled.read_tokens, filled.written_tokens)
        return _Step(text, mounted if filled.arguments is not None else None, filled.arguments)

    async def _candidates(self, text: str) -> list[Candidate]:
        if not self._tools:
            return []
        found = await self._chooser.candidates(text)
        return found or (await self._chooser.ranked(text) if self._must_call else [])

    async def _look_up(self, question: str, documents: str) -> str:
        wanted = answer.topic(question, {})
        found = await answer.best_sentences(question, wanted, documents, self._networks)
        return answer.quoted(found, "") or "I do not know: the document does not answer that."

    def _call(self, step: _Step, position: int, steps: int) -> ToolCall:
        assert step.mounted is not None  # noqa: S101 - asked for by the caller
        why = {step.mounted.why_key: reason(step.text, position, steps)}
        arguments = {**why, **(step.arguments or {})}
        text = msgspec.json.encode(arguments).decode()
        return ToolCall(self._ids.claim(None), step.mounted.wire, text, arguments)

    async def _say(self, asked: _Asked, done: Sequence[tuple[_Step, ToolCall | None]]) -> str:
        if not any(step.mounted or step.remark for step, _ in done):
            near = await self._is_small_talk(asked.request)
            return answer.nothing_fits(asked.request, self._tools, small_talk=near)
        several = len(done) > 1
        parts = []
        for step, call in done:
            said = await self._said(step, call, asked)
            if said:
                parts.append(f"{_heading(step.text)}\n{said}" if several else said)
        return "\n\n".join(parts)

    async def _said(self, step: _Step, call: ToolCall | None, asked: _Asked) -> str:
        if step.mounted is None:
            if step.remark or await self._is_small_talk(step.text):
                return step.remark
            return "No tool here fits that."
        outcome = asked.outcomes.get(call.id) if call else None
        if outcome is None:
            return "This was not done, because of what came before."
        if outcome.is_error:
            return f"{step.mounted.name} did not work: {fault(outcome)}"
        arguments = call.arguments if call and call.arguments else {}
        plain = {key: value for key, value in arguments.items() if key != step.mounted.why_key}
        return await answer.answer_from(step.text, plain, outcome, self._networks)

    async def _is_small_talk(self, text: str) -> bool:
        return bool(text) and await self._chooser.is_small_talk(text, _NO_TOOL)

    def _completion(self, item: Item, stop: StopReason) -> Completion:
        return Completion((item,), stop, usage=self._usage, model=ID)


def _heading(step: str) -> str:
    return step if step.endswith(("?", "!")) else f"{step.rstrip('.: ')}:"


def _failed(asked: _Asked) -> bool:
    """Whether a step failed: what follows it may depend on it, so nothing more is done."""
    return any(outcome.is_error for outcome in asked.outcomes.values())


def _offered(tools: Toolbox, choice: ToolChoice) -> tuple[Mounted, ...]:
    return tuple(_allowed(tools, choice))


def _allowed(tools: Toolbox, choice: ToolChoice) -> Iterator[Mounted]:
    if choice.mode == "tool" and choice.name is not None:
        only = tools.find(choice.name)
        if only is not None:
            yield only
    elif choice.mode != "none":
        yield from tools
