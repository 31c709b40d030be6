"""One server, whoever names it: connected to when it is needed, and anew when it has died."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from whence.errors import TimedOut, Unavailable, WhenceError
from whence.mcp import faults
from whence.mcp.connection import Connection
from whence.mcp.transport import Transport, Transports

T = TypeVar("T")


class Server:
    """Shared by all tools of a server, and by all agents that name it.

    Args:
        label: what people are shown for it.
        transports: makes a way to it for each connection.
        ready_s: how long connecting may take.
        answer_s: how long a list may take to come.
        discreet: takes out of a value or a text what the server was told in confidence.
    """

    def __init__(
        self,
        label: str,
        transports: Transports,
        *,
        ready_s: float,
        answer_s: float,
        discreet: Callable[[Any], Any],
    ) -> None:
        self.label = label
        self.known: dict[str, dict[str, Any]] = {}
        """The definitions of its tools by their names, as it last worded them."""
        self._transports, self._ready_s, self._answer_s = transports, ready_s, answer_s
        self._discreet = discreet
        self._transport: Transport | None = None
        self._connection: Connection | None = None
        self._listed_over: Connection | None = None
        self._calls = 0
        self._alone = asyncio.Lock()
        self._listing: asyncio.Task[list[dict[str, Any]]] | None = None
        self._closed = False

    @property
    def is_connected(self) -> bool:
        """Whether its tools have been listed over a connection that still holds."""
        connection = self._connection
        return connection is not None and connection.is_alive and connection is self._listed_over

    async def tools(self) -> list[dict[str, Any]]:
        """The definitions of its tools, asked for anew; calls at the same time share one list.

        A server that has died since it was last asked is connected to anew, once.

        Raises:
            WhenceError: It cannot be connected to, or does not answer.
        """
        listing = self._listing
        if listing is None:
            listing = self._listing = asyncio.create_task(self._list())
            listing.add_done_callback(_noticed)
        with self._discreetly():
            return await asyncio.shield(listing)

    async def call(
        self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What came of a call. It is made once: nobody knows what a lost one has done.

        Raises:
            WhenceError: There is no result.
        """
        connection = self._connection
        self._calls += 1
        try:
            with self._discreetly():
                if connection is None or not connection.is_alive:
                    raise faults.ended(self.label, f"before {name!r} was called", self._words())
                called: dict[str, Any] = self._discreet(
                    await connection.call(name, arguments, meta)
                )
                return called
        finally:
            self._calls -= 1

    async def offer(self) -> dict[str, Any]:
        """Everything that the server says of itself and offers."""
        with self._discreetly():
            async with self._alone:
                connection = await self._ready()
                offered: dict[str, Any] = self._discreet(await self._offered(connection))
                return offered

    async def _offered(self, connection: Connection) -> dict[str, Any]:
        return {
            "server": self.label,
            **connection.about(),
            "tools": await self._answered(connection.tools()),
            "prompts": await self._answered(connection.prompts()),
            "resources": await self._answered(connection.resources()),
            "templates": await self._answered(connection.templates()),
        }

    async def close(self) -> None:
        """Let go of it; a program is ended."""
        self._closed = True
        listing = self._listing
        if listing is not None:
            listing.cancel()
            await asyncio.wait([listing])
        await self._drop()

    async def _list(self) -> list[dict[str, Any]]:
        async with self._alone:
            self._listing = None  # who asks from here on needs a list that begins after this one
            connection = self._connection
            try:
                listed = await self._listed()
            except TimedOut:
                if not self._calls:  # it is stuck: another one is started by the next call
                    await self._drop()
                raise
            except WhenceError:
                if connection is None or not self._is_lost(connection):
                    raise
                await self._drop()
                listed = await self._listed()
            self._listed_over = self._connection
        self.known = {str(tool.get("name")): tool for tool in listed}
        return listed

    async def _listed(self) -> list[dict[str, Any]]:
        connection = await self._ready()
        listed: list[dict[str, Any]] = self._discreet(await self._answered(connection.tools()))
        return listed

    async def _ready(self) -> Connection:
        try:
            async with asyncio.timeout(self._ready_s):
                return await self._connected()
        except TimeoutError:
            raise faults.overdue(
                self.label, "was not ready", self._ready_s, self._words()
            ) from None

    async def _answered(self, answer: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._answer_s):
                return await answer
        except TimeoutError:
            words = self._words()
            raise faults.overdue(self.label, "gave no list", self._answer_s, words) from None

    @contextmanager
    def _discreetly(self) -> Iterator[None]:
        """Errors quote the server: they are to hold no secret either."""
        try:
            yield
        except WhenceError as error:
            error.message = self._discreet(error.message)
            error.args = (error.message,)
            raise

    def _is_lost(self, connection: Connection) -> bool:
        """Whether it may be another server by now; an address may have forgotten us."""
        return not connection.is_alive or not _is_program(self._transport)

    async def _connected(self) -> Connection:
        if self._closed:
            raise faults.ended(self.label, "with the run", "")
        if self._connection is not None and not self._connection.is_alive:
            await self._drop()
        if self._connection is None:
            self._connection = await self._connect()
        return self._connection

    async def _connect(self) -> Connection:
        """A connection; a program that cannot bear the newest greeting is greeted the old way."""
        try:
            return await self._started(legacy=False)
        except Unavailable:
            if not _is_program(self._transport):
                raise
            return await self._started(legacy=True)

    async def _started(self, *, legacy: bool) -> Connection:
        self._transport = self._transports()
        connection = Connection(self._transport, self.label, legacy=legacy)
        await connection.start()
        return connection

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _words(self) -> str:
        return self._transport.last_words() if self._transport else ""


def _is_program(transport: Transport | None) -> bool:
    return transport is not None and transport.is_program


def _noticed(listing: asyncio.Task[list[dict[str, Any]]]) -> None:
    """Nobody may be waiting any more: then its error is nobody's."""
    if not listing.cancelled():
        listing.exception()
