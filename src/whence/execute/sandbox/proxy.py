"""The only way out of a sandbox that may use the network: a proxy that knows which hosts.

Its port is opened inside the sandbox, whose network holds nothing else, and served out here. A host
is checked by its name first and by its address afterwards; what is not public stays closed.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Self
from urllib.parse import urlsplit

from whence.errors import InvalidArgs, PermissionDenied, WhenceError
from whence.execute.addresses import reachable
from whence.execute.sandbox.bubblewrap import PROXY_PORT
from whence.shapes.process import Confinement, Program
from whence.shapes.web import HostPolicy

_HEAD = 65536
_CHUNK = 65536
_PATIENCE_S = 30.0
_REQUEST = re.compile(rb"([A-Z]{1,20}) (\S{1,8192}) HTTP/1\.[01]")
_HOP = (b"connection:", b"proxy-", b"keep-alive:", b"host:")
_HERE = f"http://127.0.0.1:{PROXY_PORT}"
_ENVIRONMENT = {
    name: _HERE
    for lower in ("http_proxy", "https_proxy", "all_proxy")
    for name in (lower, lower.upper())
}
_STATUS = {"PERMISSION_DENIED": b"403 Forbidden", "INVALID_ARGS": b"400 Bad Request"}


class Proxy:
    """Serves one program, for as long as the context is open."""

    def __init__(self, confinement: Confinement) -> None:
        self.refused: list[str] = []
        """Hosts that were asked for in vain."""
        self._policy = HostPolicy(confinement.hosts, confinement.networks)
        self._ours, self._theirs = socket.socketpair()
        self._busy: set[asyncio.Task[None]] = set()

    @property
    def channel(self) -> int:
        """A socket through which the program's side hands out its listening port."""
        return self._theirs.fileno()

    def use(self, program: Program) -> Program:
        """The program, told where the proxy is."""
        return replace(program, env={**_ENVIRONMENT, **program.env})

    async def __aenter__(self) -> Self:
        self._ours.setblocking(False)
        self._begin(self._serve())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        self._ours.close()
        self._theirs.close()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        with await _received(self._ours) as listening:
            listening.setblocking(False)
            while True:
                client, _ = await loop.sock_accept(listening)
                self._begin(self._answer(client))

    async def _answer(self, client: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client, limit=_HEAD)
        try:
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                ahead, (far_reader, far_writer) = await self._connected(head)
        except WhenceError as error:
            await _refuse(writer, error)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            await _refuse(writer, InvalidArgs("the proxy was not understood or not answered", ""))
        else:
            near, far = ahead
            try:
                writer.write(near)
                far_writer.write(far)
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
            finally:
                far_writer.close()
        finally:
            writer.close()

    async def _connected(
        self, head: bytes
    ) -> tuple[tuple[bytes, bytes], tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """What is to be sent either way at first, and the connection to the host."""
        host, port, near, far = _understood(head)
        if not self._policy.permits(host, port):
            self.refused.append(f"{host}:{port}")
            raise PermissionDenied(
                f"{host}:{port} is none of the declared hosts", "Declare the host."
            )
        try:
            addresses = await reachable(host, port, self._policy.networks)
        except PermissionDenied:
            self.refused.append(f"{host}:{port}")
            raise
        return (near, far), await asyncio.open_connection(addresses[0], port)


def _understood(head: bytes) -> tuple[str, int, bytes, bytes]:
    """Host, port, what the client is told at once, and what the host is told."""
    line, _, rest = head.partition(b"\r\n")
    match = _REQUEST.fullmatch(line)
    if match is None:
        raise InvalidArgs(f"not a request to a proxy: {line[:80]!r}", "Speak HTTP/1.1 to it.")
    method, target = match.group(1), match.group(2).decode("latin-1")
    try:
        url = urlsplit(f"//{target}" if method == b"CONNECT" else target)
        host, port = url.hostname, url.port or (443 if method == b"CONNECT" else 80)
    except ValueError:
        host, port = None, 0
    if not host or (method != b"CONNECT" and url.scheme != "http"):
        raise InvalidArgs(f"not an address: {target[:80]!r}", "Give the whole address.")
    if method == b"CONNECT":
        return host, port, b"HTTP/1.1 200 Connection established\r\n\r\n", b""
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    kept = [field for field in rest.split(b"\r\n") if not field.lower().startswith(_HOP)]
    begin = f"{method.decode()} {path} HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\n"
    return host, port, b"", begin.encode("latin-1") + b"Connection: close\r\n" + b"\r\n".join(kept)


async def _received(channel: socket.socket) -> socket.socket:
    """The listening socket that the program's side hands out."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(channel, ready.set_result, None)
    try:
        await ready
    finally:
        loop.remove_reader(channel)
    _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if not descriptors:
        raise asyncio.CancelledError  # it ended before it listened
    return socket.socket(fileno=descriptors[0])


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _refuse(writer: asyncio.StreamWriter, error: WhenceError) -> None:
    status = _STATUS.get(error.code, b"502 Bad Gateway")
    said = f"{error.message}\n".encode()
    length = str(len(said)).encode()
    with suppress(ConnectionError):
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Type: text/plain\r\nContent-Length: ")
        writer.write(length + b"\r\nConnection: close\r\n\r\n" + said)
        await writer.drain()
