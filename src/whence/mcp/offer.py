"""What a server needs to know of what it serves: this room knows the protocol, not the tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from whence.shapes.json import JSONObject

LONGEST_MESSAGE = 64_000_000
"""Bytes."""


class Caller(Protocol):
    """Whoever made a request."""

    @property
    def can_be_asked(self) -> bool:
        """Whether there is a person behind it who may approve a call."""

    def tell(self, done: float, said: str) -> None:
        """Say how far the request has come; nothing where progress was not asked for."""

    async def ask(self, question: str) -> bool:
        """Whether the person behind it says yes."""


class Offer(Protocol):
    """Tools and prompts, as the protocol's objects."""

    instructions: str
    """What a client's model should know of all of them."""

    def tools(self) -> list[JSONObject]:
        """The tools as they are now."""

    async def call(self, params: Mapping[str, Any], caller: Caller) -> JSONObject:
        """The result of `tools/call`.

        Raises:
            NotFound: there is no such tool.
        """

    def is_brief(self, tool: str) -> bool:
        """Whether calls of a tool end before anybody wonders what has become of them."""

    def prompts(self) -> list[JSONObject]:
        """The prompts as they are now."""

    def prompt(self, name: str, arguments: Mapping[str, str]) -> JSONObject:
        """The messages of a prompt.

        Raises:
            WhenceError: there is no such prompt, or it cannot be used.
        """

    def has_changed(self) -> bool:
        """Whether tools or prompts have changed since this was last asked."""
