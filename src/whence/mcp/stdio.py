"""A server on its own standard input and output, with nothing between the pipe and the protocol."""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import anyio
import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import (
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from whence.mcp.lines import read_line
from whence.mcp.publish import Publisher

_CHUNK = 1 << 16
_AT_ONCE = 4096
"""Bytes that a pipe takes without waiting, once it says that it takes any."""
_LONGEST = 64_000_000
"""Bytes of one message."""
_ENDLESS = "subscriptions/listen"
_CANCELLED = "notifications/cancelled"


async def serve_stdio(publisher: Publisher) -> None:
    """Serve until standard input ends and every request that came is answered."""
    with _claimed() as (source, sink):
        outgoing = _Outgoing(sink)
        watching = asyncio.ensure_future(publisher.watch())
        try:
            await publisher.server.run(_Incoming(source, outgoing), outgoing, publisher.options())
        finally:
            watching.cancel()


@contextmanager
def _claimed() -> Iterator[tuple[int, int]]:
    """The protocol's pipes; nobody else reads them, and what is printed goes to stderr."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield source, sink
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)
        for descriptor in (nothing, source, sink):
            os.close(descriptor)


class _Stream:
    """What the SDK asks of both directions; the descriptors are not theirs to close."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Do nothing."""


class _Incoming(_Stream):
    """Messages from a descriptor; they end when everything that came was answered."""

    def __init__(self, source: int, answers: _Outgoing) -> None:
        self._source = source
        self._is_file = stat.S_ISREG(os.fstat(source).st_mode)
        self._answers = answers
        self._begun: list[bytes] = []
        self._ready: deque[SessionMessage] = deque()

    async def receive(self) -> SessionMessage:
        """The next message."""
        while not self._ready:
            await self._read()
        message = self._ready.popleft()
        self._answers.expect(message.message)
        return message

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def _read(self) -> None:
        if not self._is_file:
            await _until_ready(self._source, writing=False)
        data = os.read(self._source, _CHUNK)
        if not data and not self._begun:
            await self._answers.settled()
            raise anyio.EndOfStream
        *ends, rest = (data or b"\n").split(b"\n")
        for end in ends:
            await self._take(b"".join([*self._begun, end]))
            self._begun = []
        self._begun += [rest] if rest else []
        if sum(map(len, self._begun)) > _LONGEST:
            await self._answers.refuse(self._begun[0])
            self._begun = []

    async def _take(self, line: bytes) -> None:
        messages = read_line(line) if line.strip() else []
        self._ready += map(SessionMessage, messages)
        if line.strip() and not messages:
            await self._answers.refuse(line)


class _Outgoing(_Stream):
    """Messages to a descriptor, in order; whoever does not read waits for his own answers."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._has_room = select.poll()
        self._has_room.register(sink, select.POLLOUT)
        self._turn = asyncio.Lock()
        self._owed: set[object] = set()
        self._paid = asyncio.Event()

    def expect(self, message: JSONRPCMessage) -> None:
        """Note that a request is to be answered, or that it is no longer."""
        if isinstance(message, JSONRPCRequest) and message.method != _ENDLESS:
            self._owed.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            self._settle((message.params or {}).get("requestId"))

    async def settled(self) -> None:
        """Return when every request was answered, or nobody reads any more."""
        while self._owed:
            self._paid.clear()
            await self._paid.wait()

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message."""
        message = item.message
        await self._write(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._settle(message.id)

    async def refuse(self, line: bytes) -> None:
        """Say that a line is no message."""
        said = f"this is no message of JSON-RPC: {line[:100].decode('utf-8', 'replace')!r}"
        error = {"code": PARSE_ERROR, "message": said}
        await self._write(msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error}))

    def _settle(self, request: object) -> None:
        if isinstance(request, str | int):
            self._owed.discard(request)
        self._paid.set()

    async def _write(self, text: bytes) -> None:
        async with self._turn:
            left = memoryview(text + b"\n")
            try:
                while left:
                    if not self._has_room.poll(0):
                        await _until_ready(self._sink, writing=True)
                    left = left[os.write(self._sink, left[:_AT_ONCE]) :]
            except OSError:  # nobody reads: there is nobody left to answer
                self._owed.clear()
                self._paid.set()
                raise anyio.BrokenResourceError from None


async def _until_ready(descriptor: int, *, writing: bool) -> None:
    """Wait until a pipe, a socket or a terminal can be read or written."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def is_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    (loop.add_writer if writing else loop.add_reader)(descriptor, is_ready)
    try:
        await ready
    finally:
        (loop.remove_writer if writing else loop.remove_reader)(descriptor)
