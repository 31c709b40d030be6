"""A model as the loop sees it: a conversation that grows, and answers that stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol, TypeAlias

import msgspec

from whence.declare.toolbox import Toolbox
from whence.provider.exchange import Completion, Loss, Settings
from whence.provider.stream import Delta
from whence.shapes.item import Item


class Waiting(msgspec.Struct, frozen=True):
    """The request is made again in a while: for a progress line."""

    seconds: float
    reason: str


Progress: TypeAlias = Delta | Waiting | Completion
"""What an answer is made of; the completion is the last, and the only one that is always there."""


class Conversation(Protocol):
    """One conversation with one model. Each item is encoded once."""

    def add(self, items: Sequence[Item]) -> tuple[Loss, ...]:
        """Go on with these items; what the protocol cannot say of them comes back."""
        ...

    def answer(self) -> AsyncIterator[Progress]:
        """Ask for the next answer and give it out as it arrives.

        The items of the completion are not added: that is the caller's, who may have to change
        them. An answer that breaks off is a completion with `StopReason.CUT` and what had come;
        so is one that is cancelled, if it can be given out, before the cancellation goes on.

        Raises:
            WhenceError: there is no answer; message and suggestion say why and what to do.
        """
        ...


class Model(Protocol):
    """Something that answers."""

    @property
    def id(self) -> str:
        """`provider/name`."""
        ...

    def converse(self, settings: Settings, tools: Toolbox, *, xml: bool = False) -> Conversation:
        """Begin a conversation; with `xml`, calls travel as text."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and memory."""
        ...
