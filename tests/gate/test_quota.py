"""Quotas and circles."""

from __future__ import annotations

import pytest

from whence.gate.quota import Usage, check
from whence.shapes.policy import Quotas


def used(*fingerprints: bytes) -> Usage:
    usage = Usage()
    for fingerprint in fingerprints:
        usage.begin(fingerprint)
    return usage


@pytest.mark.requirement("gate:quotas")
@pytest.mark.parametrize(
    ("usage", "quotas"),
    [
        (Usage(calls=3), Quotas(calls=3)),
        (Usage(calls_this_turn=2), Quotas(calls_per_turn=2)),
        (Usage(bytes_written=100), Quotas(bytes_written=100)),
        (Usage(seconds=1.5), Quotas(seconds=1.0)),
    ],
)
def test_a_quota_that_is_used_up_stops_the_call(usage: Usage, quotas: Quotas) -> None:
    fault = check(usage, quotas, b"a")

    assert fault is not None
    assert fault.code == "QUOTA_EXCEEDED"
    assert fault.details["used"] >= fault.details["limit"]


def test_no_limit_is_no_limit() -> None:
    quotas = Quotas(calls=None, calls_per_turn=None, bytes_written=None, seconds=None, repeats=None)

    assert check(used(*[b"a"] * 50), quotas, b"a") is None


@pytest.mark.requirement("gate:loops")
def test_the_same_call_in_a_row_is_stopped() -> None:
    assert check(used(*[b"a"] * 4), Quotas(repeats=5), b"a") is None
    assert check(used(*[b"a"] * 5), Quotas(repeats=5), b"a") is not None
    assert check(used(*[b"a"] * 5, b"b"), Quotas(repeats=5), b"a") is None


@pytest.mark.requirement("gate:loops")
def test_two_calls_by_turns_are_stopped() -> None:
    assert check(used(*[b"a", b"b"] * 4), Quotas(repeats=5), b"a") is None
    fault = check(used(*[b"a", b"b"] * 5), Quotas(repeats=5), b"a")
    assert fault is not None
    assert "by turns" in fault.message
    assert check(used(*[b"a", b"b"] * 5, b"c"), Quotas(repeats=5), b"a") is None


def test_a_new_turn_has_its_own_count() -> None:
    usage = used(b"a", b"b")
    usage.next_turn()

    assert (usage.calls, usage.calls_this_turn) == (2, 0)
