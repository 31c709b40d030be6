"""A real server on a loopback port whose answers, right and wrong, are written byte by byte."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from whence.shapes.web import HostPolicy

LOOPBACK = HostPolicy(networks=("127.0.0.0/8", "::1/128"))
Route: TypeAlias = "bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]"


@dataclass
class LocalServer:
    """Where it listens, and what it was asked."""

    port: int
    scheme: str = "http"
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def targets(self) -> list[str]:
        return [target for target, _ in self.requests]


def answer(
    body: bytes | str = b"",
    content_type: str | None = "text/html; charset=utf-8",
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """A whole answer."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Whatever"]
    if content_type is not None:
        lines.append(f"content-type: {content_type}")
    fields = {"content-length": str(len(data)), **(headers or {})}
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def redirect(location: str, status: int = 302) -> bytes:
    """An answer that leads elsewhere."""
    return answer(b"moved", status=status, headers={"location": location})


@asynccontextmanager
async def serving(
    routes: Mapping[str, Route], tls: ssl.SSLContext | None = None
) -> AsyncIterator[LocalServer]:
    """Serves the routes, by path without the query, until the context is left."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reply(await reader.readuntil(b"\r\n\r\n"), writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def reply(head: bytes, writer: asyncio.StreamWriter) -> None:
        first, *rest = head.decode("latin-1").strip().split("\r\n")
        target = first.split(" ")[1]
        fields = dict(line.split(": ", 1) for line in rest)
        here.requests.append((target, {name.lower(): value for name, value in fields.items()}))
        route = routes.get(target.partition("?")[0], answer(status=404))
        if isinstance(route, bytes):
            writer.write(route)
            await writer.drain()
        else:
            await route(writer)

    tasks: set[asyncio.Task[None]] = set()
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    here = LocalServer(port, "https" if tls else "http")
    try:
        yield here
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
