"""The one socket of this room: a request goes out, bytes come back as they arrive.

The transport of the HTTP library is used directly, without its client: no cookies, redirects or
logins are wanted here, and a turn costs a quarter less. One `Line` is one address; connections
are kept open between the turns.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import suppress
from functools import cache
from types import TracebackType
from typing import Literal, Self, TypeAlias

import httpx2

from whence.errors import Unavailable
from whence.provider.retry import DEFAULT_TIMEOUTS, Timeouts

_KEEP_OPEN_S = 120.0
_SETTLE_S = 1.0
_SOCKET_OPTIONS = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
"""A peer that is gone is found out, while one that only thinks may be silent for long."""
if hasattr(socket, "TCP_KEEPIDLE"):
    _SOCKET_OPTIONS.append((socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60))

Kind: TypeAlias = Literal["unreachable", "untrusted", "silent", "broken"]


class Broken(Exception):
    """There is no answer, or no more of it."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


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
        self._url = httpx2.URL(url)
        self._headers = httpx2.Headers({"user-agent": "whence", **headers})
        self._timeouts = timeouts
        limits = {"connect": timeouts.connect_s, "read": timeouts.silence_s}
        self._extensions = {"timeout": {**limits, "write": timeouts.silence_s, "pool": None}}
        self._transport = _transport(self._url, proxy, tls)

    def post(self, body: bytes) -> Reply:
        """The answer to a request; entering the context sends it, leaving it lets go of it."""
        request = httpx2.Request(
            "POST", self._url, headers=self._headers, content=body, extensions=self._extensions
        )
        return Reply(self._transport, request, self._timeouts)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()


class Reply:
    """One answer. A connection that was left before its end is closed, not kept."""

    def __init__(
        self, transport: httpx2.AsyncHTTPTransport, request: httpx2.Request, timeouts: Timeouts
    ) -> None:
        self._transport = transport
        self._request = request
        self._timeouts = timeouts
        self._deadline: float | None = None
        self._response: httpx2.Response
        self._opened: list[AsyncIterator[bytes]] = []

    async def __aenter__(self) -> Self:
        if self._timeouts.total_s is not None:
            self._deadline = asyncio.get_running_loop().time() + self._timeouts.total_s
        try:
            async with asyncio.timeout_at(self._deadline):
                self._response = await self._transport.handle_async_request(self._request)
        except (httpx2.TransportError, TimeoutError) as error:
            raise self._broken(error) from error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pieces in reversed(self._opened):
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()
        await self._response.aclose()
        if isinstance(error, httpx2.RequestError | TimeoutError):
            raise self._broken(error) from error

    @property
    def status(self) -> int:
        """The status code."""
        return self._response.status_code

    def header(self, name: str) -> str:
        """The value of a header, empty where there is none."""
        return self._response.headers.get(name, "")

    def pieces(self) -> AsyncIterator[bytes]:
        """The body as it arrives; what breaks it comes out of the context as `Broken`."""
        packed = "content-encoding" in self._response.headers
        raw = self._response.aiter_bytes() if packed else self._response.stream
        self._opened.append(raw.__aiter__())  # type: ignore[union-attr]
        if self._deadline is not None:
            self._opened.append(self._until_deadline(self._opened[0]))
        return self._opened[-1]

    async def settle(self) -> None:
        """Read what is left behind the last word, so that the connection can be kept.

        A server that does not end its answer then is not waited for.
        """
        with suppress(httpx2.RequestError, TimeoutError):
            async with asyncio.timeout(_SETTLE_S):
                async for _ in self._opened[-1]:
                    pass

    async def _until_deadline(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        while True:
            async with asyncio.timeout_at(self._deadline):
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
            yield piece

    def _broken(self, error: Exception) -> Broken:
        if isinstance(error, httpx2.ConnectTimeout):
            return Broken("unreachable", f"no connection within {self._timeouts.connect_s:g} s")
        if isinstance(error, httpx2.TimeoutException):
            return Broken("silent", f"it said nothing for {self._timeouts.silence_s:g} s")
        if isinstance(error, TimeoutError):
            return Broken("silent", f"the answer was not there after {self._timeouts.total_s:g} s")
        for cause in _causes(error):
            if isinstance(cause, ssl.SSLCertVerificationError):
                return Broken("untrusted", cause.verify_message)
        lost = isinstance(error, httpx2.ConnectError | httpx2.ProxyError)
        return Broken("unreachable" if lost else "broken", _reason(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> str:
    """The words of the operating system, where it has any."""
    told = [
        os.strerror(cause.errno) if isinstance(cause, ConnectionError) and cause.errno else said
        for cause in _causes(error)
        if isinstance(cause, OSError) and (said := cause.strerror)
    ]
    return told[-1] if told else str(error) or "it hung up"


@cache
def _no_tls() -> ssl.SSLContext:
    """Something to give where it is not used: reading the system's certificates is slow."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _transport(
    url: httpx2.URL, proxy: str | None, tls: ssl.SSLContext | None
) -> httpx2.AsyncHTTPTransport:
    if tls is None and url.scheme == "http":
        tls = _no_tls()
    try:
        return httpx2.AsyncHTTPTransport(
            verify=tls or True,
            proxy=proxy,
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=_KEEP_OPEN_S),
            socket_options=_SOCKET_OPTIONS,
        )
    except (ImportError, ValueError, httpx2.InvalidURL):
        raise Unavailable(
            f"the proxy that is set for {url.host} cannot be used: it is no http or https address",
            "Correct https_proxy or all_proxy in the environment, or name the host in no_proxy.",
        ) from None
