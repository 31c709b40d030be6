"""A server on a port of this machine: streamable HTTP, for those who know its token."""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import uvicorn

from whence.errors import Unavailable
from whence.mcp.publish import Publisher

HOST = "127.0.0.1"
PATH = "/mcp"
_FAREWELL_S = 2

_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]
_App: TypeAlias = Callable[[_Message, _Receive, _Send], Awaitable[None]]


def open_port(port: int) -> socket.socket:
    """A port that only this machine reaches; 0 takes any that is free.

    Raises:
        Unavailable: it is taken, or not for everybody.
    """
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise Unavailable(
            f"port {port} cannot be served: {error.strerror}", "Choose another, or 0 for any."
        ) from None


async def serve_http(publisher: Publisher, port: socket.socket, token: str) -> None:
    """Serve until it is cancelled; each client has a session of its own."""
    app = publisher.server.streamable_http_app(streamable_http_path=PATH, host=HOST)
    server = _Server(
        uvicorn.Config(
            _guarded(app, token), log_level="warning", access_log=False, lifespan="on",
            timeout_graceful_shutdown=_FAREWELL_S,
        )
    )  # fmt: skip
    watching = asyncio.ensure_future(publisher.watch())
    serving = asyncio.ensure_future(server.serve(sockets=[port]))
    try:
        await asyncio.shield(serving)
    finally:
        watching.cancel()
        server.should_exit = True
        await serving


class _Server(uvicorn.Server):
    """Signals are for the program that runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


def _guarded(app: _App, token: str) -> _App:
    """The application, for requests that bring the token."""
    wanted = f"Bearer {token}".encode()

    async def guard(scope: _Message, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, wanted):
                await _refuse(send)
                return
        await app(scope, receive, send)

    return guard


async def _refuse(send: _Send) -> None:
    body = b'{"error": "Send the token of this server: Authorization: Bearer TOKEN."}'
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})
