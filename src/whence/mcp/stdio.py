"""A server on a pair of pipes, with nothing between them and the protocol."""

from __future__ import annotations

import asyncio
import os
import select
from collections import deque
from contextlib import suppress
from typing import Self

import anyio
import msgspec
from mcp.server.runner import serve_loop
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from whence.mcp.lines import read_line
from whence.mcp.offer import LONGEST_MESSAGE
from whence.mcp.publish import Publisher

_CHUNK = 1 << 16
_AT_ONCE = 4096
"""Bytes that a pipe takes without waiting, once it says that it takes any."""
_LOOK_S = 0.5
_SHOWN = 100
_ENDLESS = "subscriptions/listen"
_CANCELLED = "notifications/cancelled"


async def serve_stdio(publisher: Publisher, source: int, sink: int) -> None:
    """Serve until `source` ends and every request that came is answered, or nobody reads `sink`."""
    outgoing = _Outgoing(sink)
    incoming = _Incoming(source, outgoing)
    server, options = publisher.server, publisher.options()
    async with publisher.watching():
        if not await incoming.opens_with_handshake():
            await server.run(incoming, outgoing, options)
            return
        async with server.lifespan(server) as state:  # the same, without a relay before it
            await serve_loop(server, incoming, outgoing, lifespan_state=state, init_options=options)


class _Stream:
    """What the SDK asks of both directions; the descriptors are not theirs to close."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Do nothing."""


class _Incoming(_Stream):
    """Messages from a descriptor; they end when everything that came was answered."""

    def __init__(self, source: int, answers: _Outgoing) -> None:
        self._source = source
        self._answers = answers
        self._begun = bytearray()
        self._is_too_long = False
        self._ready: deque[SessionMessage] = deque()

    async def opens_with_handshake(self) -> bool:
        """Whether the first message, which stays, is of the versions that begin with one."""
        try:
            while not self._ready:
                await self._read()
        except anyio.EndOfStream:
            return False
        first = self._ready[0].message
        return isinstance(first, JSONRPCRequest) and first.method == "initialize"

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
        await _until_ready(self._source, writing=False)
        try:
            data = os.read(self._source, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # a connection that was reset, a terminal that is gone
            data = b""
        if not data and not self._begun:
            await self._answers.settled()
            raise anyio.EndOfStream
        *ends, rest = (data or b"\n").split(b"\n")
        for end in ends:
            await self._end_line(end)
        self._begun += rest
        if len(self._begun) > LONGEST_MESSAGE and not self._is_too_long:
            self._is_too_long = True
            await self._answers.refuse(bytes(self._begun[:_SHOWN]))
        if self._is_too_long:
            del self._begun[1:]  # the rest of it, up to the end of the line, is no message either

    async def _end_line(self, end: bytes) -> None:
        line = bytes(self._begun + end)
        self._begun.clear()
        if self._is_too_long:
            self._is_too_long = False
        elif line.strip():
            for text in _batched(line):
                await self._take(text)

    async def _take(self, text: bytes) -> None:
        messages = read_line(text)
        self._ready += map(SessionMessage, messages)
        if not messages:
            await self._answers.refuse(text)


class _Outgoing(_Stream):
    """Messages to a descriptor, in order; whoever does not read waits for his own answers."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._room = select.poll()
        self._room.register(sink, select.POLLOUT)
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
        while self._owed and not self._is_deserted():
            self._paid.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await self._paid.wait()

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message."""
        message = item.message
        await self._write(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._settle(message.id)

    async def refuse(self, line: bytes) -> None:
        """Say that a line is no message; to the request that it names, where it does."""
        code, named = _named(line)
        said = f"this is no message of JSON-RPC: {line[:_SHOWN].decode('utf-8', 'replace')!r}"
        error = {"jsonrpc": "2.0", "id": named, "error": {"code": code, "message": said}}
        with suppress(anyio.BrokenResourceError):
            await self._write(msgspec.json.encode(error))

    def _settle(self, request: object) -> None:
        if isinstance(request, str | int):
            self._owed.discard(request)
        self._paid.set()

    def _is_deserted(self) -> bool:
        gone = select.POLLERR | select.POLLHUP | select.POLLNVAL
        return any(state & gone for _, state in self._room.poll(0))

    async def _write(self, text: bytes) -> None:
        """Write a line whole, also where whoever wanted it said does not want it any more."""
        line = text + b"\n"
        goes_at_once = len(line) <= _AT_ONCE and not self._turn.locked() and self._room.poll(0)
        if not (self._put(line) if goes_at_once else await asyncio.shield(self._written(line))):
            self._owed.clear()  # there is nobody left to answer
            self._paid.set()
            raise anyio.BrokenResourceError

    def _put(self, line: bytes) -> bool:
        """The same for a short line, where there is room for it."""
        try:
            return os.write(self._sink, line) == len(line)
        except OSError:
            return False

    async def _written(self, line: bytes) -> bool:
        """Whether somebody reads."""
        async with self._turn:
            left = memoryview(line)
            try:
                while left:
                    if not self._room.poll(0):
                        await _until_ready(self._sink, writing=True)
                    left = left[os.write(self._sink, left[:_AT_ONCE]) :]
            except OSError:
                return False
            return True


class _Named(msgspec.Struct):
    id: str | int | None = None


def _named(line: bytes) -> tuple[int, str | int | None]:
    """What is wrong with a line, and the request that it names."""
    try:
        return INVALID_REQUEST, msgspec.json.decode(line, type=_Named).id
    except msgspec.ValidationError:
        return INVALID_REQUEST, None
    except (msgspec.DecodeError, RecursionError):
        return PARSE_ERROR, None


def _batched(line: bytes) -> list[bytes]:
    """The messages of a batch one by one; any other line as it is."""
    if not line.lstrip().startswith(b"["):
        return [line]
    try:
        return [bytes(each) for each in msgspec.json.decode(line, type=list[msgspec.Raw])] or [line]
    except (msgspec.DecodeError, RecursionError):
        return [line]


async def _until_ready(descriptor: int, *, writing: bool) -> None:
    """Wait until a pipe, a socket or a terminal can be read or written."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def is_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        (loop.add_writer if writing else loop.add_reader)(descriptor, is_ready)
    except PermissionError:  # a file never lets anybody wait
        return
    try:
        await ready
    finally:
        (loop.remove_writer if writing else loop.remove_reader)(descriptor)
