"""A real server on a loopback port: prepared answers, byte for byte and piece by piece."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

Answer: TypeAlias = Callable[[asyncio.StreamWriter], Awaitable[None]]
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ReplayServer:
    """Where it listens, what it was asked, and how many connections it was asked over."""

    port: int
    scheme: str = "http"
    requests: list[Asked] = field(default_factory=list)
    connections: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has closed a connection."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"


def head(status: int, content_type: str | None, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever"]
    if content_type is not None:
        lines.append(f"content-type: {content_type}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def whole(
    body: bytes | str | dict[str, Any] = b"",
    status: int = 200,
    content_type: str | None = "application/json",
    **headers: str,
) -> Answer:
    """An answer with its length; underscores in the names of headers are hyphens."""
    text = json.dumps(body) if isinstance(body, dict) else body
    data = text.encode() if isinstance(text, str) else text
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def write(writer: asyncio.StreamWriter) -> None:
        fields = {"content-length": str(len(data)), **named}
        writer.write(head(status, content_type, fields) + data)
        await writer.drain()

    return write


def streamed(
    pieces: Iterable[bytes], status: int = 200, content_type: str = EVENTS, *, end: bool = True
) -> Answer:
    """An answer in chunks, one for each piece; without its end where the connection is to break."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(head(status, content_type, {"transfer-encoding": "chunked"}))
        for piece in pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        if end:
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    return write


def then_reset(answer: Answer) -> Answer:
    """The answer, and then the connection is reset as by a crashed server."""

    async def write(writer: asyncio.StreamWriter) -> None:
        await answer(writer)
        sock = cast("socket.socket", writer.get_extra_info("socket"))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return write


def then_close(answer: Answer) -> Answer:
    """The answer, and then the connection is closed."""

    async def write(writer: asyncio.StreamWriter) -> None:
        await answer(writer)
        writer.close()

    return write


def then_silence(answer: Answer | None = None) -> Answer:
    """The answer, if any, and then nothing for ever."""

    async def write(writer: asyncio.StreamWriter) -> None:
        if answer is not None:
            await answer(writer)
        await asyncio.Event().wait()

    return write


def cut(body: bytes, sizes: Iterator[int]) -> Iterator[bytes]:
    """The body in pieces of these sizes."""
    at = 0
    while at < len(body):
        size = next(sizes)
        yield body[at : at + size]
        at += size


def every(size: int) -> Iterator[int]:
    return itertools.repeat(size)


def at_random(seed: str, most: int = 700) -> Iterator[int]:
    chance = random.Random(seed)
    while True:
        yield chance.choice((1, 2, 3, chance.randint(1, most)))


def events(*data: object) -> bytes:
    """Server-sent events; text is sent as it is."""
    texts = (one if isinstance(one, str) else json.dumps(one) for one in data)
    return "".join(f"data: {text}\n\n" for text in texts).encode()


@asynccontextmanager
async def answering(
    *answers: Answer, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ReplayServer]:
    """Gives the answers one after the other, and the last of them again and again."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        here.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            begun = b""
            while not writer.is_closing():
                begun = await converse(reader, writer, begun)
        writer.close()
        with suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()

    async def converse(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, begun: bytes
    ) -> bytes:
        """Answer one request; watch meanwhile whether the client leaves or asks again."""
        here.requests.append(await read_request(reader, begun))
        answer = asyncio.ensure_future(next(script)(writer))
        gone = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if gone.done() and not gone.result():
            here.left.set()
            answer.cancel()
        gone.cancel()
        _, following = await asyncio.gather(answer, gone, return_exceptions=True)
        return following if isinstance(following, bytes) else b""

    tasks: set[asyncio.Task[None]] = set()
    script = itertools.chain(answers, itertools.repeat(answers[-1]))
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    here = ReplayServer(server.sockets[0].getsockname()[1], "https" if tls else "http")
    try:
        yield here
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader, begun: bytes) -> Asked:
    text = (begun + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *rest = text.strip().split("\r\n")
    fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}
    body = await reader.readexactly(int(fields.get("content-length", "0")))
    return Asked(first.split(" ")[1], fields, body)
