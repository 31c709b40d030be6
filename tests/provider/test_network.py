"""The ground under the HTTP library: tunnels, stale connections, slow readers, addresses."""

from __future__ import annotations

import asyncio
import base64
import gc
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.replay_server import (
    Answer,
    answering,
    head,
    read_request,
    streamed,
    then_close,
    then_reset,
    then_silence,
    whole,
)
from whence.errors import InvalidArgs, Unavailable
from whence.provider.http import Line
from whence.provider.network import Broken, connected
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
        there = await asyncio.open_connection(host.rstrip("."), int(port))
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
        with pytest.raises(Broken) as raised:
            await said(line)

    assert raised.value.reason == f"the proxy at 127.0.0.1:{proxy.port}: it says 407 Whatever"
    assert raised.value.kind == "barred"
    assert [request.target for request in proxy.requests] == ["there.example:443"]


@pytest.mark.requirement("models:proxy")
async def test_a_proxy_that_cannot_be_reached_is_named_without_its_login() -> None:
    line = Line("https://there.example/v1", {}, proxy="http://ann:p%40ss@127.0.0.1:1")
    with pytest.raises(Broken) as raised:
        await said(line)

    assert raised.value.reason == "the proxy at 127.0.0.1:1: Connection refused"
    assert raised.value.kind == "unreachable"


async def test_a_host_with_its_last_dot_is_known_by_its_name(
    certificate: ssl.SSLContext, tmp_path: Path
) -> None:
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    async with (
        answering(whole(b"inside"), tls=certificate) as server,
        tunnelling() as (proxy, heads),
    ):
        line = Line(f"https://localhost.:{server.port}/v1", {}, proxy=proxy, tls=trusting)
        answer = await said(line)
        await line.aclose()

    assert answer == b"inside"
    assert heads[0].startswith(f"CONNECT localhost.:{server.port} ")


async def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file.pem")
    async with answering(whole(b"")) as server:
        line = Line(f"https://127.0.0.1:{server.port}/v1", {})
        with pytest.raises(Unavailable, match=r"/no/such/file\.pem") as raised:
            await said(line)

    assert "SSL_CERT_FILE" in raised.value.suggestion


@pytest.mark.requirement("models:keep-alive")
async def test_a_connection_that_was_closed_meanwhile_is_not_used_again() -> None:
    async with answering(then_close(whole(b"first")), whole(b"second")) as server:
        line = Line(server.url, {})
        answers = [await said(line), await said(line), await said(line)]
        await line.aclose()

    assert answers == [b"first", b"second", b"second"]
    assert server.connections == 2


async def nothing(writer: asyncio.StreamWriter) -> None:
    """Says nothing."""


async def half_a_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 O")
    await writer.drain()


@pytest.mark.parametrize("ending", [then_reset, then_close], ids=["reset", "close"])
@pytest.mark.requirement("models:kept-and-ended")
async def test_a_connection_that_ends_as_the_request_comes_is_replaced_unnoticed(
    ending: Callable[[Answer], Answer],
) -> None:
    async with answering(whole(b"first"), ending(nothing), whole(b"second")) as server:
        line = Line(server.url, {})
        answers = [await said(line), await said(line, b"[1]")]
        await line.aclose()

    assert answers == [b"first", b"second"]
    assert [request.body for request in server.requests] == [b"{}", b"[1]", b"[1]"]
    assert server.connections == 2


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ([then_close(nothing)], 1),
        ([whole(b"first"), then_close(half_a_head)], 2),
        ([whole(b"first"), then_close(nothing)], 3),
    ],
    ids=["new", "begun", "twice"],
)
@pytest.mark.requirement("models:kept-and-ended")
async def test_a_request_is_repeated_unnoticed_only_once_and_only_where_nothing_came(
    answers: list[Answer], asked: int
) -> None:
    async with answering(*answers) as server:
        line = Line(server.url, {})
        for _ in answers[1:]:
            await said(line)
        with pytest.raises(Broken, match="it hung up"):
            await said(line)
        await line.aclose()

    assert len(server.requests) == asked


@pytest.mark.requirement("models:kept-and-ended")
async def test_an_answer_that_nobody_asked_for_is_not_the_next_one() -> None:
    async def two(writer: asyncio.StreamWriter) -> None:
        one = head(200, None, {"content-length": "5"})
        writer.write(one + b"first" + one + b"extra")
        await writer.drain()

    async with answering(two, whole(b"second")) as server:
        line = Line(server.url, {})
        answers = [await said(line), await said(line)]
        await line.aclose()

    assert answers == [b"first", b"second"]


async def test_an_encrypted_connection_that_is_reset_is_stale_at_every_moment_after(
    certificate: ssl.SSLContext, tmp_path: Path
) -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(1))
        await reader.read(1)
        await then_reset(nothing)(writer)

    server = await asyncio.start_server(reset, "127.0.0.1", 0, ssl=certificate)
    opened = await connected("127.0.0.1", server.sockets[0].getsockname()[1], 10)
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    await opened.encrypt(trusting, "127.0.0.1", 10)
    opened.write(b"x")
    await opened.read(10)
    opened.write(b"y")
    async with asyncio.timeout(10):
        while not opened.is_stale():
            await asyncio.sleep(0)
    moments = []
    for _ in range(50):
        moments.append(opened.is_stale())
        await asyncio.sleep(0)
    await opened.aclose()
    server.close()

    assert all(moments)


async def test_connections_that_nobody_needs_any_more_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("whence.provider.http._KEEP_OPEN_S", 0.0)
    gone = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while True:
                await read_request(reader, b"")
                await whole(b"yes")(writer)
        gone.set()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    line = Line(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", {})
    await asyncio.gather(*(said(line) for _ in range(5)))
    async with asyncio.timeout(10):
        await gone.wait()
    await line.aclose()
    server.close()


async def test_a_request_that_is_given_up_twice_does_not_go_on() -> None:
    body, begun, left = b"x" * 50_000_000, asyncio.Event(), asyncio.Event()
    arrived = bytearray()

    async def hold_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun.set()
        await left.wait()
        with suppress(ConnectionError):
            while data := await reader.read(1 << 20):
                arrived.extend(data)
        writer.close()
        done.set()

    done = asyncio.Event()
    server = await asyncio.start_server(hold_up, "127.0.0.1", 0)
    line = Line(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", {})
    asking = asyncio.ensure_future(said(line, body))
    async with asyncio.timeout(20):
        await begun.wait()
        asking.cancel()
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        left.set()
        await done.wait()
    server.close()

    assert len(arrived) < len(body)


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_connection_of_another_event_loop_is_not_waited_for() -> None:
    async def ask() -> bytes:
        async with asyncio.timeout(10):
            return await said(line)

    async with answering(whole(b"yes")) as server:
        line = Line(server.url, {})
        answers = [await asyncio.to_thread(asyncio.run, ask()) for _ in range(2)]
        await line.aclose()
    gc.collect()  # what the closed loops left warns here, not in a later test

    assert answers == [b"yes", b"yes"]


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


@pytest.mark.parametrize("host", ["ü" * 80, "a" * 64 + ".com", "a..b", ".b"])
def test_a_host_that_cannot_be_looked_for_is_named(host: str) -> None:
    with pytest.raises(InvalidArgs, match=host):
        Address.of(f"http://{host}/v1")
