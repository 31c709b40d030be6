"""Error bodies of every kind become one clear failure."""

from __future__ import annotations

import pytest

from whence.provider import anthropic, openai_chat, openai_responses
from whence.provider.exchange import Failure
from whence.provider.failure import read_failure
from whence.shapes.item import StopReason


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (
            b'{"error":{"message":"no","type":"invalid_request_error","param":"model","code":"x"}}',
            Failure("no", "invalid_request_error", "x", "model", 400),
        ),
        (
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            Failure("Overloaded", "overloaded_error", status=400),
        ),
        (b'{"error":"model not found"}', Failure("model not found", status=400)),
        (
            b'{"object":"error","message":"no","type":"BadRequest","code":40}',
            Failure("no", "BadRequest", "40", status=400),
        ),
        (b'{"detail":"Not authenticated"}', Failure("Not authenticated", status=400)),
        (
            b'[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]',
            Failure("bad", "INVALID_ARGUMENT", "400", status=400),
        ),
        (
            b"<html><head><title>502 Bad\n Gateway</title></head><body>x</body></html>",
            Failure("502 Bad Gateway", status=400),
        ),
        (
            b"<p>Sorry,</p> <script>x()</script> we are closed",
            Failure("Sorry, we are closed", status=400),
        ),
        (b"", Failure("an empty answer with status 400", status=400)),
        (b"\xff\xfe", Failure("\ufffd\ufffd", status=400)),
        (b"[]", Failure("[]", status=400)),
        (b"null", Failure("null", status=400)),
        (b'{"detail":[{"msg":"short"}]}', Failure('[{"msg":"short"}]', status=400)),
    ],
)
def test_a_body_tells_what_went_wrong(body: bytes, failure: Failure) -> None:
    assert read_failure(body, 400) == failure


def test_a_long_page_is_cut() -> None:
    assert len(read_failure(b"x" * 10_000).message) == 501


def test_a_long_message_of_a_provider_is_kept_whole() -> None:
    body = b'{"error":{"message":"' + b"x" * 3000 + b'"}}'

    assert len(read_failure(body).message) == 3000


def test_a_failure_reads_as_a_sentence() -> None:
    assert str(Failure("slow down", code="rate_limit")) == "slow down (rate_limit)"
    assert str(Failure("slow down")) == "slow down"


@pytest.mark.parametrize("codec", [anthropic, openai_chat, openai_responses])
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"error":{"message":"no"}}', b"\xff"])
def test_an_error_body_in_place_of_an_answer_is_a_failure(codec: object, body: bytes) -> None:
    completion = codec.decode_response(body, status=500)  # type: ignore[attr-defined]

    assert completion.items == ()
    assert completion.stop is StopReason.ERROR
    assert completion.failure.status == 500
