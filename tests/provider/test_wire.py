"""The small things that every codec leans on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import ParseError
from whence.provider.exchange import Loss
from whence.provider.ids import CallIds
from whence.provider.media import audio_type, kind_of, source_of_url, text_of_data, url_of_source
from whence.provider.outcomes import mark, unmark
from whence.provider.wire import dumps, loads, mend
from whence.shapes.item import Image, Inline, Link, Message, Part, Stored, Text, Usage


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert loads(b'{"a": "\xff"}') == {"a": "\ufffd"}


def test_a_byte_order_mark_is_passed_over() -> None:
    assert loads("\ufeff{}") == {}


@pytest.mark.parametrize("data", [b"", b"<html>", b"{", b"NaN", b"[" * 200_000])
def test_what_is_no_json_is_an_error_that_shows_its_beginning(data: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        loads(data)

    assert repr(data[:20].decode())[1:-1] in caught.value.message
    assert caught.value.suggestion


def test_half_a_surrogate_pair_is_written_as_a_replacement_at_any_depth() -> None:
    assert loads(dumps({"a\ud83d": ["\ud83d", {"b": ("x", 1)}]})) == {
        "a\ufffd": ["\ufffd", {"b": ["x", 1]}]
    }


def test_two_halves_that_meet_are_one_character() -> None:
    assert mend("\ud83d" + "\ude00") == "😀"


def test_data_urls_and_links_are_the_same_both_ways() -> None:
    for url in (
        "data:image/png;base64,AA==",
        "data:text/plain;charset=utf-8;base64,aGk=",
        "https://x/",
    ):
        assert url_of_source(source_of_url(url)) == url
    assert source_of_url("data:,hello") == Link("data:,hello")


def test_media_are_known_by_their_type() -> None:
    assert kind_of(Inline("audio/wav", "")) == "audio"
    assert kind_of(Stored("f")) == "document"
    assert kind_of(Link("https://x/")) == "document"
    assert audio_type("mp3") == "audio/mpeg"


@pytest.mark.parametrize(
    "source", [Inline("text/plain", "!!"), Inline("text/plain", "/w=="), Inline("a/b", "aGk=")]
)
def test_what_is_no_plain_text_has_no_words(source: Inline) -> None:
    assert text_of_data(source) is None


def test_an_id_is_claimed_once() -> None:
    ids = CallIds(["a"], iter(["a", "b", "c"]).__next__)

    assert [ids.claim("a"), ids.claim("x"), ids.claim(None)] == ["b", "x", "c"]


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50, 0.5) == Usage(11, 22, 33, 44, 55, 0.5)
    assert (Usage() + Usage()).cost is None


def test_a_loss_reads_as_a_sentence() -> None:
    assert str(Loss(3, "image", "dropped", "no pictures")) == "item 3: image dropped: no pictures"


def test_only_the_words_of_a_message_are_its_text() -> None:
    assert Message("user", (Text("a"), Image(Link("https://x/")), Text("b"))).text == "ab"
    assert Message.of("user", "") == Message("user", ())


marked = st.lists(
    st.sampled_from(["<error>", "</error>", "<result>", "</result>", "x", " "]),
    min_size=1,
    max_size=6,
).map("".join)
parts: st.SearchStrategy[list[Part]] = st.lists(
    marked.map(Text) | st.just(Image(Link("https://x/"))), max_size=4
)


@settings(deadline=None)
@given(parts, st.booleans())
def test_the_mark_of_an_error_can_always_be_read_back(made: list[Part], is_error: bool) -> None:
    assert unmark(mark(tuple(made), is_error=is_error)) == (tuple(made), is_error)


def test_marks_within_marks_without_end_are_no_crash() -> None:
    deep = Text("<result>" * 5000 + "<error>x</error>" + "</result>" * 5000)

    assert unmark(mark((deep,), is_error=False)) == ((deep,), False)
