"""The ground under the HTTP library: tunnels, stale connections, slow readers, addresses."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.replay_server import answering, streamed, then_close, then_silence, whole
from whence.errors import InvalidArgs
from whence.provider.http import Line
from whence.provider.network import Broken
from whence.provider.route import Address

pytestmark = pytest.mark.anyio


async def said(line: Line, body: bytes = b"{}") -> bytes:
    """The whole answer."""
    async with line.post(body) as reply:
        return b"".join([piece async for piece in reply.pieces()])


@asynccontextmanager
async def tunnelling() -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that makes tunnels, and the heads of what it was asked for."""
    heads: list[str] = []
    tasks: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(4096):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        host, _, port = heads[-1].split()[1].rpartition(":")
        there = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Tunnel\r\n\r\n")
        tasks.update(map(asyncio.ensure_future, (pump(reader, there[1]), pump(there[0], writer))))

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://ann:p%40ss@127.0.0.1:{server.sockets[0].getsockname()[1]}", heads
    finally:
        server.close()
        await asyncio.gather(*tasks)


@pytest.mark.requirement("models:proxy")
async def test_an_encrypted_conversation_goes_through_a_tunnel(
    certificate: ssl.SSLContext, tmp_path: Path
) -> None:
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    async with (
        answering(whole(b"inside"), tls=certificate) as server,
        tunnelling() as (proxy, heads),
    ):
        line = Line(f"{server.url}/v1", {}, proxy=proxy, tls=trusting)
        answers = [await said(line), await said(line)]
        await line.aclose()

    assert answers == [b"inside", b"inside"]
    assert len(heads) == 1
    assert base64.b64encode(b"ann:p@ss").decode() in heads[0]
    assert [request.target for request in server.requests] == ["/v1", "/v1"]


@pytest.mark.requirement("models:proxy")
async def test_a_proxy_that_makes_no_tunnel_is_told_by_its_answer() -> None:
    async with answering(whole(b"", 407)) as proxy:
        line = Line("https://there.example/v1", {}, proxy=proxy.url)
        with pytest.raises(Broken, match="the proxy says 407 Whatever") as raised:
            await said(line)

    assert raised.value.kind == "unreachable"
    assert [request.target for request in proxy.requests] == ["there.example:443"]


@pytest.mark.requirement("models:keep-alive")
async def test_a_connection_that_was_closed_meanwhile_is_not_used_again() -> None:
    async with answering(then_close(whole(b"first")), whole(b"second")) as server:
        line = Line(server.url, {})
        answers = [await said(line), await said(line), await said(line)]
        await line.aclose()

    assert answers == [b"first", b"second", b"second"]
    assert server.connections == 2


async def test_requests_at_the_same_time_have_a_connection_each() -> None:
    async with answering(whole(b"yes")) as server:
        line = Line(server.url, {})
        answers = tuple(await asyncio.gather(said(line), said(line), said(line)))
        await said(line)
        await line.aclose()

    assert answers == (b"yes",) * 3
    assert server.connections == 3


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "tls"])
async def test_a_slow_reader_loses_nothing_and_holds_the_sender_up(
    certificate: ssl.SSLContext, tmp_path: Path, encrypted: bool
) -> None:
    pieces = [bytes([at % 256]) * 50_000 for at in range(400)]
    sent = 0

    def counted() -> Iterator[bytes]:
        nonlocal sent
        for piece in pieces:
            sent += 1
            yield piece

    async with answering(streamed(counted()), tls=certificate if encrypted else None) as server:
        trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        line = Line(server.url, {}, tls=trusting if encrypted else None)
        async with line.post(b"{}") as reply:
            arriving = reply.pieces()
            first = await anext(arriving)
            for _ in range(2000):
                await asyncio.sleep(0)
            held_up = sent < len(pieces)
            body = first + b"".join([piece async for piece in arriving])
        await line.aclose()

    assert held_up
    assert body == b"".join(pieces)


async def test_a_long_request_arrives_whole() -> None:
    body = bytes(range(256)) * 40_000
    async with answering(whole(b"thanks")) as server:
        line = Line(server.url, {"x-team": "blue"})
        await said(line, body)
        await line.aclose()

    (request,) = server.requests
    assert request.body == body
    assert request.headers["x-team"] == "blue"


async def test_leaving_an_answer_early_closes_its_connection() -> None:
    async with answering(then_silence(streamed([b"a"], end=False)), whole(b"new")) as server:
        line = Line(server.url, {})
        async with line.post(b"{}") as reply:
            await anext(reply.pieces())
        await asyncio.wait_for(server.left.wait(), 10)
        answer = await said(line)
        await line.aclose()

    assert answer == b"new"
    assert server.connections == 2


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("http://h/v1", "h", "/v1"),
        ("http://h:80", "h:80", "/"),
        ("https://[::1]:8443/a b?q=ü&r=%20", "[::1]:8443", "/a%20b?q=%C3%BC&r=%20"),
        ("https://bücher.example/v1", "xn--bcher-kva.example", "/v1"),
    ],
)
def test_addresses_go_over_the_wire_in_ascii(url: str, host: str, target: str) -> None:
    address = Address.of(url)

    assert address.named == host
    assert address.target == target


def test_a_host_that_cannot_be_looked_for_is_named() -> None:
    with pytest.raises(InvalidArgs, match="ü"):
        Address.of(f"http://{'ü' * 80}/v1")
