"""When to ask again, as a pure question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.errors import Unavailable
from whence.provider.exchange import Failure
from whence.provider.refusal import status_of
from whence.provider.retry import Patience, Setback, asked_pause, is_passing

ERROR = Unavailable("gone", "Wait.")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "milliseconds", "pause"),
    [
        ("", "", None),
        ("5", "", 5.0),
        ("0", "", 0.0),
        ("1.5", "", 1.5),
        ("5", "20", 0.02),
        ("Thu, 01 Jan 2026 12:00:30 GMT", "", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", "", 0.0),
        ("Thu, 01 Jan 2026 12:00:30 -0000", "", 30.0),
        ("soon", "", None),
        ("-1", "", None),
        ("٣", "", None),
        ("1e9", "", None),
        ("Thu, 99 Xxx 2026", "", None),
        (".", "", None),
        ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", "", None),
    ],
)
def test_a_pause_is_seconds_milliseconds_or_a_date(
    seconds: str, milliseconds: str, pause: float | None
) -> None:
    assert asked_pause(seconds, milliseconds, NOW) == pause


@given(st.text(), st.text())
def test_any_header_gives_a_pause_or_none(seconds: str, milliseconds: str) -> None:
    pause = asked_pause(seconds, milliseconds, NOW)

    assert pause is None or pause >= 0


@given(st.integers(1, 8), st.floats(0, 1, exclude_max=True))
def test_a_pause_grows_with_each_attempt_and_never_beyond_its_limit(
    attempt: int, chance: float
) -> None:
    patience = Patience(attempts=10, first_s=1, longest_s=30, chance=lambda: chance)
    pause = patience.pause_s(attempt, Setback(ERROR, passing=True))

    full = min(30, 2 ** (attempt - 1))
    assert pause is not None
    assert full / 2 <= pause <= full


def test_nobody_waits_for_what_does_not_pass_or_after_the_last_attempt() -> None:
    patience = Patience(attempts=3)

    assert patience.pause_s(1, Setback(ERROR, passing=False)) is None
    assert patience.pause_s(3, Setback(ERROR, passing=True)) is None
    assert patience.pause_s(1, Setback(ERROR, passing=True, asked_s=9)) == 9
    assert patience.pause_s(1, Setback(ERROR, passing=True, asked_s=1e6)) is None


def test_who_may_come_back_at_once_waits_all_the_same() -> None:
    patience = Patience(first_s=1.0, chance=lambda: 1.0)

    assert patience.pause_s(2, Setback(ERROR, passing=True, asked_s=0)) == 2.0


def test_advice_of_the_server_wins_over_its_status() -> None:
    assert is_passing(503)
    assert not is_passing(503, "false")
    assert not is_passing(404)
    assert is_passing(404, "true")
    assert not is_passing(501)


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (Failure("no", status=418), 418),
        (Failure("no", code="503", status=200), 503),
        (Failure("no", "rate_limit_error"), 429),
        (Failure("no", code="rate_limit_exceeded"), 429),
        (Failure("no", "RESOURCE_EXHAUSTED"), 429),
        (Failure("no", "overloaded_error"), 529),
        (Failure("no", "authentication_error"), 401),
        (Failure("no", "permission_error"), 403),
        (Failure("no", "not_found_error"), 404),
        (Failure("no", "invalid_request_error"), 400),
        (Failure("no", code="server_error"), 500),
        (Failure("no"), 500),
    ],
)
def test_the_words_of_a_failure_stand_for_a_status(failure: Failure, status: int) -> None:
    assert status_of(failure) == status
