"""The one way out of this room: a request goes to an address, bytes come back as they arrive.

There is no cookie, redirect or login here, so that no HTTP client is needed, only the protocol
itself: a request costs a quarter. One `Line` is one address; connections are kept open between the
turns.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

import h11

from whence.provider.connection import Connection
from whence.provider.network import Broken, Unheard
from whence.provider.retry import DEFAULT_TIMEOUTS, Timeouts
from whence.provider.route import Address, Proxy, Route

_KEEP_OPEN_S = 120.0
_SETTLE_S = 1.0
_PACKED = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB = 47
_AT_ONCE = 1 << 18
"""Bytes that are unpacked before they are looked at: a little can hold very much."""


class Line:
    """Connections to one address."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        *,
        proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        address = Address.of(url)
        self.timeouts = timeouts
        self._route = Route(address, Proxy.of(proxy, address.named) if proxy else None, tls)
        own = {"user-agent": "whence", **headers}
        sent = ((name.encode(), value.encode()) for name, value in own.items())
        self._headers = (*self._route.headers, *sent)
        self._idle: list[tuple[float, Connection]] = []
        """Since when, and which."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop that they belong to: no other one hears what they say."""

    def post(self, body: bytes) -> Reply:
        """The answer to a request; entering the context sends it, leaving it lets go of it."""
        return Reply(self, body)

    async def ask(self, connection: Connection, body: bytes) -> h11.Response:
        """The head of the answer to a request."""
        headers = (*self._headers, (b"content-length", b"%d" % len(body)))
        return await connection.ask(b"POST", self._route.target, headers, body)

    async def take(self) -> Connection:
        """A connection that nobody uses: one of those that are open, or another one."""
        self._leave_other_loops()
        oldest = asyncio.get_running_loop().time() - _KEEP_OPEN_S
        while self._idle:
            since, connection = self._idle.pop()
            if since > oldest and not connection.is_stale():
                return connection
            await connection.aclose()
        return await self.open()

    async def open(self) -> Connection:
        """Another connection."""
        return await self._route.open(self.timeouts)

    async def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request, if it can have one."""
        if not connection.renew():
            await connection.aclose()
            return
        now = asyncio.get_running_loop().time()
        self._idle.append((now, connection))
        while self._idle and self._idle[0][0] < now - _KEEP_OPEN_S:
            await self._idle.pop(0)[1].aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        self._leave_other_loops()
        while self._idle:
            await self._idle.pop()[1].aclose()

    def _leave_other_loops(self) -> None:
        if self._loop is not asyncio.get_running_loop():
            self._loop = asyncio.get_running_loop()
            self._idle.clear()


class Reply:
    """One answer. A connection that was left before its end is closed, not kept."""

    def __init__(self, line: Line, body: bytes) -> None:
        self._line = line
        self._body = body
        self._deadline: float | None = None
        self._connection: Connection
        self._head: h11.Response
        self._opened: list[AsyncGenerator[bytes, None]] = []

    async def __aenter__(self) -> Self:
        total_s = self._line.timeouts.total_s
        if total_s is not None:
            self._deadline = asyncio.get_running_loop().time() + total_s
        try:
            async with asyncio.timeout_at(self._deadline):
                try:
                    await self._ask(await self._line.take())
                except Unheard:
                    await self._ask(await self._line.open())
        except TimeoutError as error:
            raise self._late() from error
        return self

    async def _ask(self, connection: Connection) -> None:
        self._connection = connection
        try:
            self._head = await self._line.ask(connection, self._body)
        except BaseException:
            await connection.aclose()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pieces in reversed(self._opened):
            await pieces.aclose()
        await self._line.give_back(self._connection)
        if isinstance(error, TimeoutError):
            raise self._late() from error

    @property
    def status(self) -> int:
        """The status code."""
        return self._head.status_code

    def header(self, name: str) -> str:
        """The value of a header, empty where there is none."""
        wanted = name.encode()
        found = (value for key, value in self._head.headers if key == wanted)
        return next(found, b"").decode("latin-1")

    def pieces(self) -> AsyncIterator[bytes]:
        """The body as it arrives; what breaks it comes out of the context as `Broken`.

        Raises:
            Broken: it is packed in a way that is not known here.
        """
        self._opened.append(self._connection.pieces())
        packed = self.header("content-encoding").lower()
        if packed in _PACKED:
            self._opened.append(_unpacked(self._opened[-1]))
        elif packed not in ("", "identity"):
            raise Broken("unreadable", packed)
        if self._deadline is not None:
            self._opened.append(self._until_deadline(self._opened[-1]))
        return self._opened[-1]

    async def settle(self) -> None:
        """Read what is left behind the last word, so that the connection can be kept.

        A server that does not end its answer then is not waited for.
        """
        with suppress(Broken, TimeoutError):
            async with asyncio.timeout(_SETTLE_S):
                async for _ in self._opened[-1]:
                    pass

    async def _until_deadline(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        while True:
            async with asyncio.timeout_at(self._deadline):
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
            yield piece

    def _late(self) -> Broken:
        return Broken("silent", f"the answer was not there after {self._line.timeouts.total_s:g} s")


async def _unpacked(packed: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """What a server means that compresses although it was asked not to."""
    unpack = zlib.decompressobj(_GZIP_OR_ZLIB)
    async for piece in packed:
        left, plain = piece, b""
        while left or len(plain) == _AT_ONCE:
            if unpack.eof:  # one whole after the other is allowed
                unpack = zlib.decompressobj(_GZIP_OR_ZLIB)
            try:
                plain = unpack.decompress(left, _AT_ONCE)
            except zlib.error as error:
                raise Broken("broken", f"what it compressed cannot be read: {error}") from error
            yield plain
            left = unpack.unconsumed_tail or unpack.unused_data
    if not unpack.eof:
        raise Broken("broken", "what it compressed breaks off")
