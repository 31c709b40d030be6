"""Whatever a server does wrong ends in another try or in one clear error; nothing that came is
lost, and half a call is never taken for a whole one."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.provider.asking import (
    ANTHROPIC,
    CHAT,
    KEY,
    Naps,
    Voice,
    every_voice,
    heard,
    model_at,
    talk,
)
from tests.replay_server import (
    Answer,
    answering,
    cut,
    events,
    every,
    streamed,
    then_close,
    then_reset,
    then_silence,
    whole,
)
from whence.errors import (
    InvalidArgs,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    Unavailable,
    WhenceError,
)
from whence.provider.retry import Timeouts
from whence.shapes.item import Message, StopReason

pytestmark = pytest.mark.anyio


def says(voice: Voice, text: str = "Hello") -> Answer:
    return streamed([events(*voice.says(text))])


def failing(status: int, said: str = "because", code: str | None = None, **headers: str) -> Answer:
    return whole({"error": {"message": said, "code": code}}, status, **headers)


async def error_of(voice: Voice, *answers: Answer, attempts: int = 3) -> tuple[WhenceError, int]:
    """The error that asking ends in, and how often was asked."""
    async with answering(*answers) as server, model_at(server, voice, attempts=attempts) as model:
        with pytest.raises(WhenceError) as raised:
            await heard(talk(model))
    return raised.value, len(server.requests)


@every_voice
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidArgs),
        (401, PermissionDenied),
        (402, QuotaExceeded),
        (403, PermissionDenied),
        (404, NotFound),
        (413, InvalidArgs),
        (422, InvalidArgs),
        (501, InvalidArgs),
    ],
)
@pytest.mark.requirement("models:refused-once")
async def test_what_will_not_pass_is_one_error_with_the_providers_words(
    voice: Voice, status: int, kind: type[WhenceError]
) -> None:
    error, asked = await error_of(voice, failing(status, "the words of the server"))

    assert type(error) is kind
    assert "the words of the server" in error.message
    assert error.suggestion
    assert error.details["status"] == status
    assert asked == 1


@every_voice
@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.requirement("models:key-named")
async def test_a_refused_key_is_named_by_its_variable(voice: Voice, status: int) -> None:
    error, _ = await error_of(voice, failing(status))

    assert voice.variable in error.suggestion


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (404, "model_not_found", "The model `m` does not exist"),
        (404, None, "model: m"),
        (400, "model_not_found", "no such thing"),
        (400, "invalid_model", "Invalid model: m"),
    ],
    ids=["code", "words", "status-400", "mistral"],
)
@pytest.mark.requirement("models:unknown-model")
async def test_an_unknown_model_is_not_found_by_its_name(
    status: int, code: str | None, said: str
) -> None:
    error, asked = await error_of(CHAT, failing(status, said, code))

    assert isinstance(error, NotFound)
    assert "'m'" in error.message
    assert asked == 1


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 9 > 8",
        "the request exceeds the available context size",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
        "This model's maximum prompt length is 8 but the request contains 9 tokens.",
        "input length and `max_tokens` exceed context limit: 5 + 4 > 8",
    ],
    ids=["openai", "anthropic", "llama.cpp", "gemini", "xai", "anthropic-sum"],
)
@pytest.mark.requirement("models:too-long")
async def test_a_conversation_that_is_too_long_says_so(said: str) -> None:
    error, _ = await error_of(CHAT, failing(400, said))

    assert isinstance(error, InvalidArgs)
    assert error.details["too_long"] is True
    assert "compact" in error.suggestion


@every_voice
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
@pytest.mark.requirement("models:retried")
async def test_what_may_pass_is_tried_again_and_the_wait_is_shown(
    voice: Voice, status: int
) -> None:
    naps = Naps()
    async with (
        answering(failing(status), says(voice)) as server,
        model_at(server, voice, naps) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == answer.shown == "Hello"
    assert naps.taken == [wait.seconds for wait in answer.waits] == [1.0]
    assert "because" in answer.waits[0].reason
    assert server.requests[0].body == server.requests[1].body


@every_voice
@pytest.mark.parametrize(
    ("status", "kind"), [(408, Unavailable), (429, QuotaExceeded), (500, Unavailable)]
)
@pytest.mark.requirement("models:attempts")
async def test_what_does_not_pass_is_an_error_after_the_last_attempt(
    voice: Voice, status: int, kind: type[WhenceError]
) -> None:
    error, asked = await error_of(voice, failing(status, "slow down"), attempts=4)

    assert type(error) is kind
    assert "slow down" in error.message
    assert asked == error.details["attempts"] == 4


@pytest.mark.requirement("models:backoff")
async def test_each_pause_is_twice_as_long_as_the_one_before() -> None:
    naps = Naps()
    async with answering(failing(500)) as server, model_at(server, CHAT, naps, attempts=5) as model:
        with pytest.raises(Unavailable):
            await heard(talk(model))

    assert naps.taken == [1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("headers", "pause"), [({"retry_after": "7"}, 7.0), ({"retry_after_ms": "250"}, 0.25)]
)
@pytest.mark.requirement("models:retry-after")
async def test_a_server_says_how_long_to_wait(headers: dict[str, str], pause: float) -> None:
    naps = Naps()
    async with (
        answering(failing(429, **headers), says(CHAT)) as server,
        model_at(server, CHAT, naps) as model,
    ):
        await heard(talk(model))

    assert naps.taken == [pause]


@pytest.mark.requirement("models:retry-after")
async def test_a_server_says_until_when_to_wait() -> None:
    naps = Naps()
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    async with (
        answering(failing(503, retry_after=until), says(CHAT)) as server,
        model_at(server, CHAT, naps) as model,
    ):
        await heard(talk(model))

    assert 30 < naps.taken[0] <= 60


@pytest.mark.requirement("models:retry-after")
async def test_a_pause_that_is_too_long_is_said_and_not_waited_for() -> None:
    error, asked = await error_of(CHAT, failing(429, retry_after="3600"))

    assert isinstance(error, QuotaExceeded)
    assert "3600 s" in error.suggestion
    assert asked == 1


async def test_an_account_without_money_is_not_asked_again() -> None:
    error, asked = await error_of(CHAT, failing(429, "no credit", "insufficient_quota"))

    assert isinstance(error, QuotaExceeded)
    assert "credit" in error.suggestion
    assert asked == 1


async def test_a_failure_under_a_good_status_counts_by_its_own_code() -> None:
    hidden = whole({"error": {"message": "slow down", "code": 429}})
    error, asked = await error_of(CHAT, hidden)

    assert isinstance(error, QuotaExceeded)
    assert asked == 3


@pytest.mark.parametrize(("advice", "asked_in_all"), [("false", 1), ("true", 3)])
async def test_a_server_may_say_itself_whether_to_come_back(advice: str, asked_in_all: int) -> None:
    status = 500 if advice == "false" else 400
    _, asked = await error_of(CHAT, failing(status, x_should_retry=advice))

    assert asked == asked_in_all


PAGE = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


@every_voice
@pytest.mark.requirement("models:page")
async def test_an_error_page_is_tried_again_and_told_by_its_title(voice: Voice) -> None:
    error, asked = await error_of(voice, whole(PAGE, 502, "text/html"))

    assert isinstance(error, Unavailable)
    assert "502 Bad Gateway" in error.message
    assert "nginx" not in error.message
    assert asked == 3


@every_voice
@pytest.mark.requirement("models:page")
async def test_a_page_in_the_place_of_an_answer_points_at_the_address(voice: Voice) -> None:
    page = "<html><title>Please log in</title></html>"
    error, asked = await error_of(voice, whole(page, 200, "text/html; charset=utf-8"))

    assert isinstance(error, Unavailable)
    assert "Please log in" in error.message
    assert "base URL" in error.suggestion
    assert asked == 1


@every_voice
async def test_an_answer_in_one_piece_may_come_under_the_name_of_events(voice: Voice) -> None:
    answer = whole(voice.whole("Hello"), content_type="text/event-stream")
    async with answering(answer) as server, model_at(server, voice) as model:
        assert (await heard(talk(model))).completion.text == "Hello"


@every_voice
async def test_an_error_under_the_name_of_events_is_told_in_its_own_words(voice: Voice) -> None:
    body = {"error": {"type": "invalid_request_error", "message": "no such voice"}}
    error, asked = await error_of(voice, whole(body, content_type="text/event-stream"))

    assert (type(error), asked) == (InvalidArgs, 1)
    assert "no such voice" in error.message


async def test_a_failure_in_a_field_of_its_own_is_told() -> None:
    said = b'error: {"code": 400, "message": "the context is full", "type": "invalid_request"}\n\n'
    error, asked = await error_of(CHAT, streamed([said]))

    assert (type(error), asked) == (InvalidArgs, 1)
    assert "the context is full" in error.message


async def test_a_request_that_is_too_large_by_its_type_is_too_long() -> None:
    body = {"type": "error", "error": {"type": "request_too_large", "message": "over 32 MB"}}
    error, _ = await error_of(ANTHROPIC, whole(body, 413))

    assert error.details["too_long"] is True


async def test_a_redirect_is_told_and_no_key_follows_it() -> None:
    answer = whole(b"", 307, None, location="https://elsewhere.example/v1")
    error, asked = await error_of(CHAT, answer)

    assert isinstance(error, Unavailable)
    assert "https://elsewhere.example/v1" in error.message
    assert asked == 1


@every_voice
@pytest.mark.parametrize(
    "nothing",
    [whole(b""), streamed([]), streamed([b": ping\n\n"]), whole(b"{}"), then_close(whole(b"x"))],
    ids=["no-body", "no-events", "ping", "object", "text"],
)
@pytest.mark.requirement("models:nothing")
async def test_an_answer_without_anything_is_asked_for_again(voice: Voice, nothing: Answer) -> None:
    async with answering(nothing, says(voice)) as server, model_at(server, voice) as model:
        answer = await heard(talk(model))

    assert answer.completion.text == "Hello"
    assert len(answer.waits) == 1


@every_voice
@pytest.mark.requirement("models:silence")
async def test_silence_before_the_first_word_is_tried_again(voice: Voice) -> None:
    short = Timeouts(silence_s=0.5)
    async with (
        answering(then_silence(), says(voice)) as server,
        model_at(server, voice, timeouts=short) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == "Hello"
    assert "said nothing for 0.5 s" in answer.waits[0].reason


@pytest.mark.requirement("models:silence")
async def test_a_server_that_stays_silent_is_unavailable() -> None:
    short = Timeouts(silence_s=0.05)
    async with (
        answering(then_silence()) as server,
        model_at(server, timeouts=short, attempts=2) as model,
    ):
        with pytest.raises(Unavailable, match="said nothing"):
            await heard(talk(model))


@every_voice
@pytest.mark.requirement("models:cut")
async def test_silence_after_words_keeps_the_words(voice: Voice) -> None:
    begun = streamed([events(*voice.words("So far"))], end=False)
    async with (
        answering(then_silence(begun)) as server,
        model_at(server, voice, timeouts=Timeouts(silence_s=0.5)) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == answer.shown == "So far"
    assert answer.completion.stop is StopReason.CUT
    assert answer.completion.failure is not None
    assert len(server.requests) == 1


async def test_an_answer_may_have_a_limit_as_a_whole() -> None:
    begun = streamed([events(*CHAT.words("So far"))], end=False)
    async with (
        answering(then_silence(begun)) as server,
        model_at(server, timeouts=Timeouts(total_s=1.0)) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == "So far"
    assert answer.completion.stop is StopReason.CUT


@every_voice
@pytest.mark.requirement("models:reset")
async def test_a_connection_that_breaks_before_the_answer_is_made_again(voice: Voice) -> None:
    async def hang_up(writer: object) -> None:
        """Says nothing."""

    async with (
        answering(then_reset(hang_up), says(voice)) as server,
        model_at(server, voice) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == "Hello"
    assert len(answer.waits) == 1


@every_voice
@pytest.mark.parametrize("ending", [then_reset, then_close], ids=["reset", "close"])
@pytest.mark.requirement("models:cut")
async def test_a_connection_that_breaks_in_the_middle_keeps_what_came(
    voice: Voice, ending: Callable[[Answer], Answer]
) -> None:
    begun = streamed([events(*voice.words("So far"))], end=False)
    async with answering(ending(begun)) as server, model_at(server, voice) as model:
        answer = await heard(talk(model))

    assert answer.completion.text == answer.shown == "So far"
    assert answer.completion.stop is StopReason.CUT
    assert answer.completion.failure is not None
    assert answer.waits == []
    assert len(server.requests) == 1


@every_voice
@pytest.mark.parametrize("ending", [then_reset, then_close], ids=["reset", "close"])
@pytest.mark.requirement("models:no-half-call")
async def test_half_a_call_is_never_given_out_as_a_whole_one(
    voice: Voice, ending: Callable[[Answer], Answer]
) -> None:
    begun = streamed([events(*voice.words("I look"), *voice.half_call)], end=False)
    async with answering(ending(begun)) as server, model_at(server, voice) as model:
        answer = await heard(talk(model))

    assert answer.completion.stop is StopReason.CUT
    assert answer.completion.text == "I look"
    (call,) = answer.completion.calls
    assert call.arguments is None
    assert call.problem
    assert '{"path": "notes.t' in call.text
    assert all(done.arguments is None for done in answer.calls_done)


@every_voice
@pytest.mark.requirement("models:half-line")
async def test_a_line_that_is_cut_in_half_loses_only_itself(voice: Voice) -> None:
    body = events(*voice.words("So far"), *voice.says(" and further"))
    at = body.index(b" and further") + 4
    async with (
        answering(then_close(streamed([body[:at]], end=False))) as server,
        model_at(server, voice) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == answer.shown == "So far"
    assert answer.completion.stop is StopReason.CUT


@every_voice
@pytest.mark.requirement("models:bad-utf8")
async def test_bytes_that_are_no_utf8_are_replaced_and_the_rest_is_kept(voice: Voice) -> None:
    body = events(*voice.says("caf@ open")).replace(b"caf@", b"caf\xe9")
    async with answering(streamed(cut(body, every(5)))) as server, model_at(server, voice) as model:
        answer = await heard(talk(model))

    assert answer.completion.text == answer.shown == "caf\ufffd open"


@every_voice
@pytest.mark.requirement("models:failure-in-stream")
async def test_a_failure_before_the_first_word_of_a_stream_is_tried_again(voice: Voice) -> None:
    overloaded = streamed([events(voice.failure("overloaded_error", "Overloaded"))])
    async with answering(overloaded, says(voice)) as server, model_at(server, voice) as model:
        answer = await heard(talk(model))

    assert answer.completion.text == "Hello"
    assert "Overloaded" in answer.waits[0].reason


@every_voice
@pytest.mark.requirement("models:failure-in-stream")
async def test_a_failure_in_a_stream_that_will_not_pass_is_an_error(voice: Voice) -> None:
    answer = streamed([events(voice.failure("invalid_request_error", "no such field"))])
    error, asked = await error_of(voice, answer)

    assert isinstance(error, InvalidArgs)
    assert "no such field" in error.message
    assert asked == 1


@every_voice
@pytest.mark.requirement("models:failure-in-stream")
async def test_a_failure_after_words_comes_with_the_words(voice: Voice) -> None:
    told = voice.failure("overloaded_error", f"Overloaded {KEY}")
    async with (
        answering(streamed([events(*voice.words("So far"), told)])) as server,
        model_at(server, voice) as model,
    ):
        answer = await heard(talk(model))

    assert answer.completion.text == "So far"
    assert answer.completion.stop is StopReason.ERROR
    assert answer.completion.failure is not None
    assert answer.completion.failure.message == "Overloaded …"
    assert len(server.requests) == 1


@every_voice
@pytest.mark.requirement("models:unreachable")
async def test_a_server_that_is_not_there_is_unavailable_at_its_address(voice: Voice) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        naps = Naps()
        async with model_at(base, voice, naps) as model:
            with pytest.raises(Unavailable) as raised:
                await heard(talk(model))

    assert base in raised.value.message
    assert len(naps.taken) == 2


@every_voice
@pytest.mark.requirement("models:secret")
async def test_a_key_that_a_server_repeats_is_not_shown(voice: Voice) -> None:
    error, _ = await error_of(voice, failing(401, f"Incorrect API key provided: {KEY}."))

    shown = f"{error} {error.message} {error.suggestion} {error.details}"
    assert KEY not in shown
    assert "Incorrect API key provided: …." in error.message


@pytest.mark.parametrize(
    "answer",
    [
        whole({"error": {"message": "no", "type": KEY, "param": KEY}}, 400),
        whole(b"", 307, None, location=f"https://elsewhere.example/{KEY}"),
        whole(b"", 200, None, **{f"no header {KEY}": "at all"}),
    ],
    ids=["type", "redirect", "head"],
)
@pytest.mark.requirement("models:secret")
async def test_a_key_is_not_shown_wherever_a_server_repeats_it(answer: Answer) -> None:
    error, _ = await error_of(CHAT, answer)

    assert KEY not in f"{error} {error.message} {error.suggestion} {error.details}"
    assert "…" in error.message


@every_voice
@pytest.mark.requirement("models:refused-once")
async def test_a_failure_whose_words_break_off_counts_by_its_status(voice: Voice) -> None:
    error, asked = await error_of(
        voice, then_close(whole(b'{"error": {"mess', 413, content_length="1000"))
    )

    assert isinstance(error, InvalidArgs)
    assert error.details["status"] == 413
    assert asked == 1


async def test_an_early_answer_to_a_long_request_is_heard() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await whole({"error": {"message": "too much"}}, 413, connection="close")(writer)
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with model_at(base) as model:
        conversation = talk(model)
        conversation.add([Message.of("user", "x" * 20_000_000)])
        with pytest.raises(InvalidArgs, match="too much"):
            await heard(conversation)
    server.close()


async def test_an_event_that_never_ends_breaks_off_instead_of_filling_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("whence.provider.sse.SseReader.__init__.__defaults__", (1000,))
    endless = streamed([events(*CHAT.words("So far")), b"data: " + b"x" * 5000, b"\n\n"])
    async with answering(endless) as server, model_at(server) as model:
        answer = await heard(talk(model))

    assert answer.completion.text == "So far"
    assert answer.completion.stop is StopReason.CUT
    assert "more than 1000 bytes" in str(answer.completion.failure)
