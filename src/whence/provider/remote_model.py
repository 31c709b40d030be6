"""Models behind a network: a conversation as bytes that grow, answers as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from whence.declare.toolbox import Toolbox
from whence.errors import WhenceError
from whence.provider.codec import Codec
from whence.provider.exchange import Completion, Encoded, Failure, Loss, Settings
from whence.provider.http import Line, Reply
from whence.provider.ids import CallIds
from whence.provider.incoming import Incoming
from whence.provider.model import Progress, Waiting
from whence.provider.network import Broken
from whence.provider.refusal import Asked, lost, no_model_here, nothing_said, refused
from whence.provider.retry import DEFAULT_PATIENCE, Patience, Setback, asked_pause
from whence.provider.stream import Delta, ItemDone
from whence.provider.xml import as_text
from whence.provider.xml_prompt import render_prompt
from whence.provider.xml_stream import Definitions, definitions_of
from whence.shapes.item import Item, Message, StopReason, ToolCall, calls_of
from whence.shapes.schema import without_nulls

_SHORTEST_SECRET = 8
"""Servers of one's own are given keys like `x`, which stand in many words."""
_WITHOUT_END = (StopReason.CUT, StopReason.ERROR)


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model at a provider."""

    asked: Asked
    codec: Codec
    line: Line = field(repr=False)
    patience: Patience = DEFAULT_PATIENCE
    secret: str = field(default="", repr=False)
    """The key, so that it can be taken out of what a server says."""

    @property
    def id(self) -> str:
        """`provider/name`."""
        return f"{self.asked.provider}/{self.asked.model}"

    def converse(
        self, settings: Settings, tools: Toolbox, *, xml: bool = False
    ) -> RemoteConversation:
        """Begin a conversation; with `xml`, calls travel as text.

        Raises:
            InvalidArgs: The provider takes no such tools.
        """
        return RemoteConversation(self, replace(settings, model=self.asked.model), tools, xml=xml)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.line.aclose()

    def discreet(self, said: str) -> str:
        """What a server said without the key, where it repeats it."""
        return said.replace(self.secret, "…") if len(self.secret) >= _SHORTEST_SECRET else said


class RemoteConversation:
    """One conversation; each item is encoded once, when it is added."""

    def __init__(
        self, model: RemoteModel, settings: Settings, tools: Toolbox, *, xml: bool
    ) -> None:
        self._model = model
        self._codec = model.codec
        self._box = tools
        self._ids = CallIds()
        self._fragments: list[bytes] = []
        self._definitions: Definitions | None = definitions_of(tools) if xml else None
        self._tools = Encoded(()) if xml else model.codec.encode_tools(tools)
        self._settings = self._instructed(settings)
        self._frame = self._codec.frame(self._settings, self._tools.fragments)
        self._untold = (*self._frame.losses, *self._tools.losses)

    def add(self, items: Sequence[Item]) -> tuple[Loss, ...]:
        """Go on with these items; the first time, losses of tools and instructions come too."""
        self._ids.reserve(call.id for call in calls_of(items))
        untold, self._untold = self._untold, ()
        items = [self._on_wire(item) for item in items]
        if self._definitions is not None:
            items, more = as_text(items, self._definitions)
            untold += more
        encoded = self._codec.encode_items(items)
        self._fragments += encoded.fragments
        return untold + encoded.losses

    async def answer(self) -> AsyncIterator[Progress]:
        """Ask for the next answer and give it out as it arrives; see `Conversation.answer`."""
        body = self._frame.body(self._fragments)
        attempt, said = 0, False
        while True:
            attempt += 1
            incoming = broken = None
            reply = self._model.line.post(body)
            try:
                async with reply:
                    incoming = self._incoming(reply)
                    async for piece in reply.pieces():
                        for delta in incoming.feed(piece):
                            said = True
                            yield self._own(delta)
                        if incoming.ended:
                            await reply.settle()
                            break
            except Broken as error:
                broken = Broken(error.kind, self._model.discreet(error.reason))
            except asyncio.CancelledError:
                yield self._finished(incoming, None)[1]
                raise
            rest, completion = self._finished(incoming, broken)
            if said or not _is_empty(completion):
                for delta in rest:
                    yield self._own(delta)
                yield self._kept(completion)
                return
            setback = self._setback(reply, incoming, broken, completion)
            pause_s = self._model.patience.pause_s(attempt, setback)
            if pause_s is None:
                raise _after(attempt, setback)
            yield Waiting(pause_s, setback.error.message)
            await self._model.patience.sleep(pause_s)

    def _instructed(self, settings: Settings) -> Settings:
        if self._definitions:
            prompt = Message.of("system", render_prompt(self._definitions))
            return replace(settings, system=(*settings.system, prompt))
        if self._tools.fragments:
            return replace(settings, extra={**self._codec.with_tools, **settings.extra})
        return settings

    def _incoming(self, reply: Reply) -> Incoming:
        kind = reply.header("content-type")
        return Incoming(self._codec, self._ids, self._definitions, reply.status, kind)

    def _finished(
        self, incoming: Incoming | None, broken: Broken | None
    ) -> tuple[list[Delta], Completion]:
        if incoming is None:
            return [], Completion((), StopReason.CUT)
        deltas, completion = incoming.finish()
        failure = completion.failure
        if failure is not None:
            completion = replace(completion, failure=self._discreet(failure))
        elif broken is not None and completion.stop is StopReason.CUT:
            completion = replace(completion, failure=Failure(broken.reason))
        return deltas, completion

    def _discreet(self, failure: Failure) -> Failure:
        hide, words = self._model.discreet, (failure.type, failure.code, failure.param)
        kind, code, param = (word and hide(word) for word in words)
        return Failure(hide(failure.message), kind, code, param, failure.status)

    def _setback(
        self,
        reply: Reply,
        incoming: Incoming | None,
        broken: Broken | None,
        completion: Completion,
    ) -> Setback:
        asked, failure = self._model.asked, completion.failure
        if broken is not None and (incoming is None or reply.status < 300):
            return lost(asked, broken)
        if 300 <= reply.status < 400:
            there = self._model.discreet(reply.header("location"))
            failure = Failure(f"it leads to {there}", status=reply.status)
        if failure is None:
            return nothing_said(asked)
        if incoming is not None and incoming.is_page:
            return no_model_here(asked, failure)
        pause_s = asked_pause(reply.header("retry-after"), reply.header("retry-after-ms"))
        return refused(asked, failure, reply.header("x-should-retry"), pause_s)

    def _on_wire(self, item: Item) -> Item:
        """The item; a call by the name that files know has the one that the model knows."""
        if isinstance(item, ToolCall):
            mounted = self._box.find(item.name)
            if mounted is not None and item.name == mounted.name != mounted.wire:
                return replace(item, name=mounted.wire)
        return item

    def _own(self, delta: Delta) -> Delta:
        if self._codec.nulls and isinstance(delta, ItemDone):
            return ItemDone(self._meant(delta.item))
        return delta

    def _kept(self, completion: Completion) -> Completion:
        """The completion as the tools mean it; what the provider wants back is kept for it."""
        if completion.extra:
            extra = {**self._settings.extra, **completion.extra}
            self._settings = replace(self._settings, extra=extra)
            self._frame = self._codec.frame(self._settings, self._tools.fragments)
        if self._codec.nulls:
            return replace(completion, items=tuple(map(self._meant, completion.items)))
        return completion

    def _meant(self, item: Item) -> Item:
        """A call without the nulls that a strict provider made the model write."""
        if not isinstance(item, ToolCall) or item.arguments is None:
            return item
        mounted = self._box.find(item.name)
        if mounted is None:
            return item
        return replace(item, arguments=without_nulls(item.arguments, mounted.wire_schema))


def _is_empty(completion: Completion) -> bool:
    return not completion.items and completion.stop in _WITHOUT_END


def _after(attempts: int, setback: Setback) -> WhenceError:
    error = setback.error
    if attempts > 1:
        error.details = {**error.details, "attempts": attempts}
    return error
