"""The connection: kept between turns, closed when it is left, through proxies and TLS, and read
whether or not the server keeps to what it was asked."""

from __future__ import annotations

import asyncio
import gzip
import random
import ssl
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.provider.asking import CHAT, KEY, Naps, Voice, every_voice, heard, model_at, talk
from tests.replay_server import Answer, answering, events, streamed, then_silence, whole
from whence.errors import Unavailable
from whence.provider.http import Line
from whence.provider.proxy import proxy_of
from whence.provider.stream import ItemDone, TextDelta
from whence.shapes.item import Message, StopReason

pytestmark = pytest.mark.anyio


@every_voice
@pytest.mark.requirement("models:keep-alive")
async def test_turns_share_one_connection(voice: Voice) -> None:
    async with (
        answering(streamed([events(*voice.says("Hello"))])) as server,
        model_at(server, voice) as model,
    ):
        conversation = talk(model)
        for _ in range(3):
            answer = await heard(conversation)
            conversation.add([*answer.completion.items, Message.of("user", "more")])

    assert len(server.requests) == 3
    assert server.connections == 1


@every_voice
@pytest.mark.requirement("models:streamed")
async def test_words_are_given_out_before_the_answer_ends(voice: Voice) -> None:
    begun = then_silence(streamed([events(*voice.words("First"))], end=False))
    async with answering(begun) as server, model_at(server, voice) as model:
        async with asyncio.timeout(10), aclosing(talk(model).answer()) as progress:  # type: ignore[type-var]
            async for one in progress:
                assert one == TextDelta("First")
                break
        async with asyncio.timeout(10):
            await server.left.wait()


@every_voice
@pytest.mark.requirement("models:ended")
async def test_a_server_that_keeps_a_finished_answer_open_is_not_waited_for(voice: Voice) -> None:
    names = (
        f"event: {one['type']}\n" if "type" in one else "" for one in map(as_object, voice.end)
    )
    body = events(*voice.words("Hello"))
    for name, event in zip(names, voice.end, strict=True):
        body += name.encode() + events(event)
    async with (
        answering(then_silence(streamed([body], end=False))) as server,
        model_at(server, voice) as model,
        asyncio.timeout(30),
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == "Hello"
    assert answer.completion.stop is StopReason.END


def as_object(event: object) -> dict[str, object]:
    return event if isinstance(event, dict) else {}


@every_voice
@pytest.mark.requirement("models:cancel")
async def test_cancelling_closes_the_connection(voice: Voice) -> None:
    begun = then_silence(streamed([events(*voice.words("First"))], end=False))
    async with answering(begun) as server, model_at(server, voice) as model:
        first = asyncio.Event()

        async def listen() -> None:
            async for one in talk(model).answer():
                if isinstance(one, TextDelta):
                    first.set()

        task = asyncio.create_task(listen())
        async with asyncio.timeout(10):
            await first.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.left.wait()


@every_voice
@pytest.mark.requirement("models:not-streamed")
async def test_a_server_that_does_not_stream_is_understood(voice: Voice) -> None:
    async with answering(whole(voice.whole("Hello"))) as server, model_at(server, voice) as model:
        answer = await heard(talk(model))

    assert answer.completion.text == answer.shown == "Hello"
    assert answer.completion.stop is StopReason.END
    assert [one.item for one in answer.progress if isinstance(one, ItemDone)] == list(
        answer.completion.items
    )


@every_voice
async def test_an_answer_may_be_asked_for_in_one_piece(voice: Voice) -> None:
    async with answering(whole(voice.whole("Hello"))) as server, model_at(server, voice) as model:
        answer = await heard(talk(model, stream=False))

    assert answer.completion.text == "Hello"
    assert server.requests[0].json["stream"] is False


@every_voice
@pytest.mark.parametrize("kind", ["application/json", "text/plain", ""])
async def test_events_under_another_name_are_still_events(voice: Voice, kind: str) -> None:
    async with (
        answering(whole(events(*voice.says("Hello")), 200, kind)) as server,
        model_at(server, voice) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == answer.shown == "Hello"


@every_voice
async def test_a_server_that_compresses_all_the_same_is_understood(voice: Voice) -> None:
    body = gzip.compress(events(*voice.says("Hello")))
    async with (
        answering(whole(body, 200, "text/event-stream", content_encoding="gzip")) as server,
        model_at(server, voice) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == "Hello"
    assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_compressed_bytes_that_are_broken_are_asked_for_again() -> None:
    broken = whole(b"no gzip", 200, "text/event-stream", content_encoding="gzip")
    naps = Naps()
    async with answering(broken) as server, model_at(server, naps=naps) as model:
        with pytest.raises(Unavailable):
            await heard(talk(model))

    assert len(naps.taken) == 2


def packed(body: bytes, how: str = "gzip") -> Answer:
    return whole(body, 200, "text/event-stream", content_encoding=how)


@pytest.mark.requirement("models:packed")
async def test_packed_wholes_may_follow_each_other() -> None:
    body = events(*CHAT.says("Hello"))
    async with (
        answering(packed(gzip.compress(body[:50]) + gzip.compress(body[50:]))) as server,
        model_at(server) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == "Hello"


@pytest.mark.requirement("models:packed")
async def test_a_packed_answer_that_breaks_off_keeps_what_came() -> None:
    begun = gzip.compress(events(*CHAT.words("So far")) + random.Random(1).randbytes(5000))
    async with answering(packed(begun[:-3000])) as server, model_at(server) as model:
        answer = await heard(talk(model))

    assert answer.completion.text == "So far"
    assert answer.completion.stop is StopReason.CUT
    assert "breaks off" in str(answer.completion.failure)


@pytest.mark.requirement("models:packed")
async def test_a_little_that_holds_very_much_is_unpacked_bit_by_bit() -> None:
    async with answering(packed(gzip.compress(b"x" * 50_000_000))) as server:
        line = Line(server.url, {})
        async with line.post(b"{}") as reply:
            sizes = [len(piece) async for piece in reply.pieces()]
        await line.aclose()

    assert sum(sizes) == 50_000_000
    assert max(sizes) < 1_000_000


@pytest.mark.parametrize("how", ["br", "zstd", "gzip, gzip"])
@pytest.mark.requirement("models:packed")
async def test_what_cannot_be_unpacked_is_said_at_once(how: str) -> None:
    naps = Naps()
    async with answering(packed(b"?", how)) as server, model_at(server, naps=naps) as model:
        with pytest.raises(Unavailable, match=f"cannot be read here: {how}"):
            await heard(talk(model))

    assert naps.taken == []


@pytest.mark.requirement("models:headers")
@every_voice
async def test_a_request_carries_the_key_in_the_providers_own_header(voice: Voice) -> None:
    async with (
        answering(streamed([events(*voice.says("Hello"))])) as server,
        model_at(server, voice, headers={"X-Team": "blue"}) as model,
    ):
        await heard(talk(model))

    headers = server.requests[0].headers
    if voice.provider == "anthropic":
        assert headers["x-api-key"] == KEY
        assert headers["anthropic-version"] == "2023-06-01"
    else:
        assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert headers["x-team"] == "blue"


@pytest.mark.requirement("models:tls")
async def test_a_certificate_that_is_not_trusted_is_refused_at_once(
    certificate: ssl.SSLContext,
) -> None:
    naps = Naps()
    async with (
        answering(whole(b"{}"), tls=certificate) as server,
        model_at(server, naps=naps) as model,
    ):
        with pytest.raises(Unavailable, match="not who it claims to be") as raised:
            await heard(talk(model))

    assert "SSL_CERT_FILE" in raised.value.suggestion
    assert naps.taken == []
    assert server.requests == []


@pytest.mark.requirement("models:tls")
async def test_a_certificate_that_is_trusted_is_accepted(
    certificate: ssl.SSLContext, tmp_path: Path
) -> None:
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    async with (
        answering(streamed([events(*CHAT.says("Hello"))]), tls=certificate) as server,
        model_at(server, tls=trusting) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == "Hello"


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({}, None),
        ({"https_proxy": "http://p:1"}, "http://p:1"),
        ({"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ({"https_proxy": "http://low:1", "HTTPS_PROXY": "http://up:1"}, "http://low:1"),
        ({"https_proxy": "", "HTTPS_PROXY": "http://up:1"}, None),
        ({"http_proxy": "http://p:1"}, None),
        ({"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ({"all_proxy": "http://p:1", "no_proxy": "*"}, None),
        ({"all_proxy": "http://p:1", "NO_PROXY": "a.example, api.x.example"}, None),
        ({"all_proxy": "http://p:1", "no_proxy": ".x.example"}, None),
        ({"all_proxy": "http://p:1", "no_proxy": "*.x.example"}, None),
        ({"all_proxy": "http://p:1", "no_proxy": "x.example:8443"}, None),
        ({"all_proxy": "http://p:1", "no_proxy": "a.example X.example"}, None),
        ({"all_proxy": "http://p:1", "no_proxy": "x.example:1"}, "http://p:1"),
        ({"all_proxy": "http://p:1", "no_proxy": "i.x.example"}, "http://p:1"),
        ({"all_proxy": "http://p:1", "no_proxy": "pi.x.example"}, "http://p:1"),
    ],
)
@pytest.mark.requirement("models:proxy")
def test_the_environment_names_the_proxy(environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_of("https://api.x.example:8443/v1", environ) == proxy


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_no_proxy_may_name_the_usual_port(scheme: str, port: int) -> None:
    environ = {"all_proxy": "http://p:1", "no_proxy": f"x.example:{port}"}

    assert proxy_of(f"{scheme}://x.example/v1", environ) is None


@pytest.mark.parametrize(
    ("host", "spared"),
    [("10.1.2.3", True), ("10.2.0.1", False), ("[::1]", True), ("[fd00::5]", True), ("h", False)],
)
def test_no_proxy_takes_addresses_and_networks(host: str, spared: bool) -> None:
    environ = {"http_proxy": "http://p:1", "no_proxy": "10.1.0.0/16,::1,fd00::/8,bad/net"}

    assert (proxy_of(f"http://{host}:8000/v1", environ) is None) is spared
