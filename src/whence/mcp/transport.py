"""What a way to a server is, to the one who connects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from whence.errors import WhenceError

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


class Transport(Protocol):
    """One way to one server, for one connection."""

    is_program: bool
    """Whether the server is a program that was started here."""
    failure: WhenceError | None
    """Why the last request did not reach the server."""
    is_over: bool
    """Whether nothing will come any more."""

    async def begin(self) -> None:
        """Start what takes its time, such as a program."""
        ...

    async def abandon(self) -> None:
        """End it, where nobody came to use it."""
        ...

    def streams(self) -> AbstractAsyncContextManager[TransportStreams]:
        """Messages from and to the server; leaving the context ends everything."""
        ...

    def last_words(self) -> str:
        """What is known of why it ended, as the rest of a sentence; empty: nothing."""
        ...


Transports: TypeAlias = Callable[[], Transport]
"""A fresh transport for each connection."""
