"""The arguments of calls, as models really write them."""

from __future__ import annotations

import pytest

from whence.provider.arguments import (
    call_with,
    make_call,
    read_arguments,
    recorded_call,
    replayed_text,
)


@pytest.mark.parametrize("text", ["", " \n", "null", "{}", " {} "])
def test_nothing_is_no_arguments(text: str) -> None:
    assert read_arguments(text).arguments == {}


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ('{"a": ', 6, "cut off"),
        ('{"a": "b', 6, "cut off"),
        ('{"a" 1}', 5, "malformed"),
        ('{"a": 1} trailing', 9, "malformed"),
        ("{'a': 1}", 1, "malformed"),
        ("nonsense", 0, "malformed"),
        ("[1]", 0, "an array"),
        ('"text"', 0, "not a JSON object"),
        ('{"a": NaN}', 6, "NaN"),
    ],
)
def test_a_problem_has_its_position(text: str, at: int, words: str) -> None:
    reading = read_arguments(text)

    assert reading.arguments is None
    assert words in reading.problem
    assert f"character {at}" in reading.problem


def test_a_number_out_of_range_is_a_problem() -> None:
    assert "out of range" in read_arguments('{"a": 1e999}').problem


def test_deep_nesting_is_a_problem_and_not_a_crash() -> None:
    assert "nested too deeply" in read_arguments('{"a":' + "[" * 200_000).problem


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert read_arguments('{"a": "\\ud83d"}').arguments == {"a": "\ufffd"}


def test_large_numbers_keep_every_digit() -> None:
    assert read_arguments('{"a": 123456789012345678901234567890}').arguments == {
        "a": 123456789012345678901234567890
    }


def test_a_call_keeps_the_text_that_the_model_wrote() -> None:
    call = make_call("c", "read", '{"b" : 1.50,\n"a":2}')

    assert call.text == '{"b" : 1.50,\n"a":2}'
    assert list(call.arguments or {}) == ["b", "a"]


def test_a_whole_call_is_what_the_gate_is_given() -> None:
    call = call_with("c", "read", {"path": "x"}).as_call(parent="p")

    assert (call.tool, call.arguments, call.id, call.parent) == ("read", {"path": "x"}, "c", "p")
    assert call.unparsed is None


def test_a_broken_call_is_given_to_the_gate_with_its_text_and_problem() -> None:
    call = make_call("", "read", "{").as_call()

    assert (call.arguments, call.id, call.unparsed) == (None, None, "{")
    assert "cut off" in call.parse_problem


def test_a_broken_call_goes_back_as_json_and_is_recognised_again() -> None:
    call = make_call("c", "read", '{"a": ')

    assert replayed_text(call) == '{"unparsed_arguments":"{\\"a\\": "}'
    assert recorded_call("c", "read", replayed_text(call)) == call


def test_an_argument_that_only_looks_like_a_broken_call_stays_an_argument() -> None:
    call = call_with("c", "read", {"unparsed_arguments": 5})

    assert recorded_call("c", "read", replayed_text(call)) == call
