"""Long outputs, read in parts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import InvalidArgs
from whence.work.exec.output import part_of, preview, search

TEXT = "one\ntwo ümläut\r\nTHREE\n\nlast without end"


@pytest.mark.requirement("exec:roo-read")
def test_lines_keep_their_numbers_wherever_reading_begins() -> None:
    data = TEXT.encode()
    whole = part_of(data, 0, 1000)
    assert whole.lines == [
        (1, "one"), (2, "two ümläut"), (3, "THREE"), (4, ""), (5, "last without end"),
    ]  # fmt: skip
    assert (whole.start, whole.end, whole.total) == (0, len(data), len(data))
    assert part_of(data, 6, 5).lines == [(2, "o üm")]
    assert part_of(data, 6, 3).lines == [(2, "o ")]
    assert part_of(b"", 0, 10).lines == []


def test_an_offset_beyond_the_end_is_refused() -> None:
    with pytest.raises(InvalidArgs, match="offset is 5, and the output has 5 bytes"):
        part_of(b"12345", 5, 10)


@given(st.text(), st.integers(1, 7))
@settings(deadline=None)
def test_parts_that_follow_one_another_are_the_whole(text: str, limit: int) -> None:
    data, at, pieces = text.encode(), 0, []
    while at < len(data):
        part = part_of(data, at, limit)
        assert part.start == at
        assert part.end > at
        pieces.append(data[part.start : part.end])
        at = part.end
    assert b"".join(pieces) == data


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(1, 50))
@settings(deadline=None)
def test_bytes_that_are_no_text_can_be_read_too(data: bytes, offset: int, limit: int) -> None:
    if offset and offset >= len(data):
        return
    part = part_of(data, offset, limit)
    assert part.start <= offset
    assert part.end <= max(offset + limit, part.start + 4)
    assert part.end > part.start or not data


@pytest.mark.requirement("exec:roo-read")
def test_a_search_ignores_case_and_takes_a_broken_pattern_for_text() -> None:
    data = b"Error one\nfine\nan error (two\n"
    assert search(data, "ERROR", 1000).lines == [(1, "Error one"), (3, "an error (two")]
    assert search(data, "e.*\\bone", 1000).lines == [(1, "Error one")]
    assert search(data, "error (two", 1000).lines == [(3, "an error (two")]
    assert search(data, "absent", 1000).lines == []
    few = search(data, "error", 5)
    assert few.lines == [(1, "Error one")]
    assert few.more == 1
    assert search(b"a" * 30 + b"\n", "(a+)+$", 10).lines


def test_a_preview_has_the_beginning_and_the_end() -> None:
    assert preview(b"short", 10) == "short"
    long = preview("é".encode() * 5000, 100)
    assert long.startswith("é" * 25 + "\n[...9900 bytes omitted...]\n")
    assert long.endswith("é" * 25)
