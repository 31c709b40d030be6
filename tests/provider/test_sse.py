"""Server-sent events, however the bytes arrive."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import ParseError
from whence.provider.sse import SseEvent, SseReader


def events(*chunks: bytes) -> list[SseEvent]:
    reader = SseReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()


def test_an_event_ends_with_a_blank_line() -> None:
    reader = SseReader()

    assert reader.feed(b"event: ping\ndata: 1\n") == []
    assert reader.feed(b"\n") == [SseEvent(b"1", "ping")]


@pytest.mark.parametrize("newline", [b"\n", b"\r", b"\r\n"])
def test_every_kind_of_line_end_is_understood(newline: bytes) -> None:
    body = newline.join([b"data: a", b"", b"data: b", b"", b""])

    assert events(body) == [SseEvent(b"a"), SseEvent(b"b")]
    assert events(*(body[at : at + 1] for at in range(len(body)))) == events(body)


def test_several_data_lines_are_joined() -> None:
    assert events(b"data: {\ndata:  1\ndata\ndata: }\n\n") == [SseEvent(b"{\n 1\n\n}")]


def test_one_space_after_the_colon_is_not_part_of_the_value() -> None:
    assert events(b"data:a\ndata:  b\n\n") == [SseEvent(b"a\n b")]


def test_comments_and_unknown_fields_are_passed_over() -> None:
    assert events(b": OPENROUTER PROCESSING\n\n: ping\nfoo: bar\ndata: x\n\n") == [SseEvent(b"x")]


def test_an_event_without_data_is_none() -> None:
    assert events(b"event: ping\n\ndata: x\n\n") == [SseEvent(b"x")]


def test_the_name_of_an_event_is_not_that_of_the_next() -> None:
    assert events(b"id: 7\nretry: 2500\nevent: a\ndata: x\n\ndata: y\n\n") == [
        SseEvent(b"x", "a"),
        SseEvent(b"y"),
    ]


def test_a_byte_order_mark_at_the_beginning_is_passed_over() -> None:
    assert events(b"\xef", b"\xbb", b"\xbfdata: x\n\n") == [SseEvent(b"x")]
    assert events(b"\xefdata: x\n\n") == []


def test_bytes_that_are_no_text_are_handed_on() -> None:
    assert events(b"data: \xff\xfe\n\n") == [SseEvent(b"\xff\xfe")]


def test_a_line_separator_within_a_text_is_no_line_end() -> None:
    data = "a\u2028b\x85c".encode()

    assert events(b"data: " + data + b"\n\n") == [SseEvent(data)]


def test_the_last_event_may_lack_its_blank_line() -> None:
    assert events(b"data: [DONE]\n") == [SseEvent(b"[DONE]")]


def test_an_event_that_was_cut_in_half_says_so() -> None:
    assert events(b'data: {"a": ') == [SseEvent(b'{"a": ', whole=False)]


def test_an_event_without_end_is_refused_before_it_fills_the_memory() -> None:
    reader = SseReader(max_event_bytes=100)

    reader.feed(b"data: " + b"0" * 60)

    with pytest.raises(ParseError, match="100 bytes"):
        reader.feed(b"0" * 60)


def test_keep_alive_comments_may_go_on_for_ever() -> None:
    reader = SseReader(max_event_bytes=100)

    for _ in range(50):
        reader.feed(b": still here\n")

    assert reader.feed(b"data: x\n\n") == [SseEvent(b"x")]


pieces = st.sampled_from(
    [
        b"data: a",
        b"data:",
        b":c",
        b"event: e",
        b"id: 1",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"x",
        b"\xc3",
    ]
)


@settings(deadline=None)
@given(st.lists(pieces, max_size=30).map(b"".join), st.randoms())
def test_events_do_not_depend_on_how_the_bytes_are_cut(body: bytes, random: object) -> None:
    cuts = sorted({random.randint(0, len(body)) for _ in range(6)})  # type: ignore[attr-defined]
    chunks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]

    assert events(*chunks) == events(body)
