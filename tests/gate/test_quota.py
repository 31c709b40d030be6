"""Quotas and circles."""

from __future__ import annotations

import pytest

from whence.gate.quota import Usage, check, fingerprint
from whence.shapes.policy import Quotas


def used(*calls: bytes) -> Usage:
    usage = Usage()
    for call in calls:
        usage.begin(call)
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


def test_each_call_counts_once() -> None:
    usage = used(b"a", b"b", b"c")
    usage.end(0.5, 10)
    usage.end(0.25, 5)

    assert (usage.calls, usage.calls_this_turn) == (3, 3)
    assert (usage.seconds, usage.bytes_written) == (0.75, 15)
    assert (
        check(usage, Quotas(calls=4, calls_per_turn=4, bytes_written=16, seconds=1), b"d") is None
    )


def test_calls_that_ask_for_the_same_have_one_fingerprint_and_others_have_another() -> None:
    long = b"x" * 100_000

    assert fingerprint("a", b"{}") == fingerprint("a", b"{}")
    assert len({fingerprint("a", b"{}"), fingerprint("b", b"{}"), fingerprint("a", b"[]")}) == 3
    assert fingerprint("a", long) != fingerprint("a", long + b"y")
    assert len(fingerprint("a", long)) < 100
