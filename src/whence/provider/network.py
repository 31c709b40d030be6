"""Sockets: connected and encrypted, with limits of time; what fails is said in words.

Asyncio's transports are used directly: a layer that knows other event loops, too, took a third of
what a request costs.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Literal, TypeAlias

_ENOUGH = 1 << 18
"""Bytes that may wait for a slow reader."""
_NEXT_ADDRESS_S = 0.25
"""How long one address of a host is waited for before the next is tried beside it."""

Kind: TypeAlias = Literal["unreachable", "barred", "untrusted", "silent", "broken", "unreadable"]


class Broken(Exception):
    """There is no answer, or no more of it."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class Unheard(Broken):
    """A connection that was kept had ended before the request came."""


class Socket(asyncio.Protocol):
    """One connection; what it raises is `Broken`."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._arrived = bytearray()
        self._waiting: asyncio.Future[None] | None = None
        self._ended = False
        self._lost: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio has connected it."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what streams have
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """More has arrived."""
        self._arrived += data
        if len(self._arrived) > _ENOUGH:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Nothing more will arrive."""
        self._ended = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """It is closed, or broken."""
        self._ended, self._lost = True, error
        self._wake()

    async def read(self, silence_s: float) -> bytes:
        """What has arrived, once there is something; nothing at the end."""
        if not self._arrived and not self._ended:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(silence_s):
                    await self._waiting
            except TimeoutError as error:
                raise Broken("silent", f"it said nothing for {silence_s:g} s") from error
        if not self._arrived and self._lost is not None:
            raise Broken("broken", _reason(self._lost)) from self._lost
        data = bytes(self._arrived)
        self._arrived.clear()
        if not self._transport.is_reading():
            self._transport.resume_reading()
        return data

    def write(self, data: bytes) -> None:
        """Send it, now or as soon as the other side takes it."""
        self._transport.write(data)

    async def encrypt(self, trusted: ssl.SSLContext, host: str, limit_s: float) -> None:
        """Speak TLS from now on, with a host that proves its name."""
        loop = asyncio.get_running_loop()
        async with _connecting(limit_s):
            transport = await loop.start_tls(
                self._transport, self, trusted, server_hostname=host.rstrip(".")
            )
            if transport is None:
                raise ConnectionResetError("it hung up")
            self.connection_made(transport)

    async def aclose(self) -> None:
        """Close it without waiting for the other side."""
        self._transport.close()
        try:
            await asyncio.sleep(0)  # a farewell of TLS can leave
        finally:
            self._transport.abort()

    def is_stale(self) -> bool:
        """Whether the other side has hung up or speaks unasked, seen by the event loop or not."""
        below = self._transport.get_extra_info("socket")  # TLS loses it before it says so
        if self._ended or self._arrived or below is None or below.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(below, select.POLLIN)
        return bool(poll.poll(0))

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


async def connected(host: str, port: int, limit_s: float) -> Socket:
    """A connection to the first address of a host that answers."""
    loop = asyncio.get_running_loop()
    is_address = ":" in host or host.rpartition(".")[2].isdigit()
    async with _connecting(limit_s):
        transport, opened = await loop.create_connection(
            Socket, host, port, happy_eyeballs_delay=None if is_address else _NEXT_ADDRESS_S
        )
    _keep_alive(transport.get_extra_info("socket"))
    return opened


def _keep_alive(sock: socket.socket) -> None:
    """A peer that is gone is found out, while one that only thinks may be silent for long."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)


@asynccontextmanager
async def _connecting(limit_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError as error:
        raise Broken("unreachable", f"no connection within {limit_s:g} s") from error
    except ssl.SSLCertVerificationError as error:
        raise Broken("untrusted", error.verify_message) from error
    except OSError as error:
        raise Broken("unreachable", _reason(error)) from error


def _reason(error: BaseException) -> str:
    """The words of the operating system, where it has any."""
    told = [
        os.strerror(cause.errno) if isinstance(cause, ConnectionError) and cause.errno else said
        for cause in _causes(error)
        if isinstance(cause, OSError) and (said := cause.strerror)
    ]
    return told[-1] if told else str(error) or "it hung up"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
