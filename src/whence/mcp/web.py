"""A server that is an address: the protocol over HTTP, with the reasons of its failures."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

import httpx2

from whence.errors import PermissionDenied, Unavailable, WhenceError
from whence.mcp.faults import UNREACHABLE, shown

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

LARGEST_EVENT = 32 * 1024 * 1024
_CONNECT_S, _SILENCE_S = 30.0, 3600.0
"""A call's own time limit ends it; a server may be silent while it works."""


class Web:
    """A server at an address, for one connection.

    Args:
        url: the address; it may hold a secret, and is never shown.
        headers: sent with every request.
        gateway: makes the transport that is held to the hosts that may be asked.
        label: what people are shown instead of the address.
    """

    is_program = False

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        gateway: Callable[[], httpx2.AsyncBaseTransport],
        label: str,
    ) -> None:
        self.failure: WhenceError | None = None
        self.is_over = False
        self._url, self._headers, self._gateway, self._label = url, headers, gateway, label

    async def begin(self) -> None:
        """There is nothing to start."""

    async def abandon(self) -> None:
        """There is nothing to end."""

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        """Messages to and from the server."""
        from mcp.client.streamable_http import streamable_http_client

        client = httpx2.AsyncClient(
            transport=_Telling(self._gateway(), self),
            headers={"user-agent": "whence", **self._headers},
            timeout=httpx2.Timeout(_CONNECT_S, read=_SILENCE_S),
            trust_env=False,
        )
        async with (
            client,
            streamable_http_client(
                self._url, http_client=client, max_sse_event_size=LARGEST_EVENT
            ) as streams,
        ):
            try:
                yield streams
            finally:
                self.is_over = True

    def last_words(self) -> str:
        """Why the last request did not reach it."""
        return self.failure.message if self.failure else ""

    def failed(self, error: WhenceError, status: int) -> httpx2.Response:
        """The answer to a request that did not reach the server, or that it did not take."""
        self.failure = error
        told = {"code": UNREACHABLE, "message": error.message}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": told}).encode()
        return httpx2.Response(status, headers={"content-type": "application/json"}, content=body)

    def refusal(self, status: int) -> WhenceError | None:
        """What a status says that the protocol does not."""
        if status in (401, 403, 407):
            return PermissionDenied(
                f"the MCP server {self._label} answers with status {status}: it wants credentials",
                "Put them into a variable as `Name: value`, and name it with headers_env.",
            )
        if status >= 500 or status == 429:
            return Unavailable(
                f"the MCP server {self._label} answers with status {status}",
                "The server is in trouble: try again later.",
            )
        return None

    def unreached(self, error: httpx2.TransportError) -> Unavailable:
        """No connection, or one that breaks."""
        cause = error.__cause__.__cause__ if error.__cause__ is not None else None
        said = next((str(each) for each in (cause, error) if each and str(each)), "no answer")
        return Unavailable(
            f"the MCP server {self._label} cannot be reached: {shown(said)}",
            "Check the address, and that the server runs.",
        )


class _Telling(httpx2.AsyncBaseTransport):
    """Makes answers of failures, to the one request that failed.

    The SDK would give up the whole connection, and say nothing of why.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, web: Web) -> None:
        self._inner, self._web = inner, web

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except WhenceError as error:
            return self._web.failed(error, 503)
        except httpx2.TransportError as error:
            return self._web.failed(self._web.unreached(error), 503)
        self._web.failure = None
        refusal = self._web.refusal(response.status_code)
        if refusal is None or await _is_protocol(response):
            return self._watched(response)
        await response.aclose()
        return self._web.failed(refusal, response.status_code)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _watched(self, response: httpx2.Response) -> httpx2.Response:
        if not response.is_stream_consumed:
            stream = cast("httpx2.AsyncByteStream", response.stream)
            response.stream = _Watched(stream, self._web)
        return response


class _Watched(httpx2.AsyncByteStream):
    """Remembers why a body could not be read: the SDK only knows that it could not."""

    def __init__(self, stream: httpx2.AsyncByteStream, web: Web) -> None:
        self._stream, self._web = stream, web

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield chunk
        except WhenceError as error:
            self._web.failure = error
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _is_protocol(response: httpx2.Response) -> bool:
    """Whether a refusal is a message of the protocol, and not just any JSON."""
    if not response.headers.get("content-type", "").startswith("application/json"):
        return False
    try:
        return b'"jsonrpc"' in await response.aread()
    except (WhenceError, httpx2.TransportError):
        return False
