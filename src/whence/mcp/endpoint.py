"""A server on a port of this machine: streamable HTTP, for those who know its token."""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from whence.errors import Unavailable, UsageError
from whence.mcp.brief import BREVITY, App, Message, Receive, Send, told_apart
from whence.mcp.offer import LONGEST_MESSAGE
from whence.mcp.publish import Publisher

HOST = "127.0.0.1"
PATH = "/mcp"
_FAREWELL_S = 2


def open_port(port: int) -> socket.socket:
    """A port that only this machine reaches; 0 takes any that is free.

    Raises:
        UsageError: there is no such port.
        Unavailable: it is taken, or not for everybody.
    """
    if not 0 <= port < 1 << 16:
        raise UsageError(f"there is no port {port}", "Choose one up to 65535, or 0 for any.")
    try:
        opened = socket.create_server((HOST, port))
    except OSError as error:
        raise Unavailable(
            f"port {port} cannot be served: {error.strerror}", "Choose another, or 0 for any."
        ) from None
    # Its connections inherit this; the end of an answer would else wait for a timer of 40 ms.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


async def serve_http(publisher: Publisher, port: socket.socket, token: str) -> None:
    """Serve until it is cancelled; each client has a session of its own."""
    publisher.server.streamable_http_app(
        host=HOST, max_request_body_size=LONGEST_MESSAGE, json_response=BREVITY
    )
    sessions = publisher.server.session_manager  # without a router: there is one path
    served = _guarded(told_apart(sessions.handle_request, publisher.answers_soon), token)
    server = _Server(
        uvicorn.Config(
            served, log_level="critical", access_log=False, lifespan="off", ws="none",
            proxy_headers=False, timeout_graceful_shutdown=_FAREWELL_S,
        )
    )  # fmt: skip
    serving = asyncio.ensure_future(server.serve(sockets=[port]))
    try:
        # Sessions end before connections do: what works for them is stopped, and not cut off.
        async with publisher.watching(), sessions.run():
            await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving


class _Server(uvicorn.Server):
    """Signals are for the program that runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


def _guarded(app: App, token: str) -> App:
    """The application, for requests that bring the token."""
    wanted = token.encode()

    async def guard(scope: Message, receive: Receive, send: Send) -> None:
        given = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, secret = given.partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(secret, wanted):
            await _refuse(send, 401, "Send the token of this server: Authorization: Bearer TOKEN.")
        elif scope["path"] != PATH:
            await _refuse(send, 404, f"Everything is at {PATH}.")
        else:
            await app(scope, receive, send)

    return guard


async def _refuse(send: Send, status: int, what_to_do: str) -> None:
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f'{{"error": "{what_to_do}"}}'.encode()})
