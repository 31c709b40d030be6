"""Cutting outputs."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.execute.limit import MARK, cut_text, cut_value, size_of


def test_short_text_is_untouched() -> None:
    assert cut_text("short", 100) == "short"


def test_long_text_keeps_its_head_and_tail_and_says_what_is_missing() -> None:
    text = "a" * 5000 + "b" * 5000
    cut = cut_text(text, 1000)

    assert len(cut) <= 1000
    assert cut.startswith("aaa")
    assert cut.endswith("bbb")
    assert MARK in cut


def test_small_fields_of_an_object_stay_whole() -> None:
    cut = cut_value({"content": "x" * 9000, "lines": 12, "name": "a.py"}, 500)

    assert (cut["lines"], cut["name"]) == (12, "a.py")
    assert MARK in cut["content"]
    assert list(cut) == ["content", "lines", "name"]


def test_a_long_list_loses_its_end() -> None:
    cut = cut_value([{"n": n} for n in range(1000)], 200)

    assert cut == [{"n": n} for n in range(len(cut))]
    assert 10 < len(cut) < 50


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=40,
)


@settings(max_examples=200, deadline=None)
@given(value=VALUES, limit=st.integers(100, 3000))
def test_a_cut_value_is_json_of_the_same_kind(value: Any, limit: int) -> None:
    cut = cut_value(value, limit)

    assert type(cut) is type(value)
    msgspec.json.encode(cut)
    if size_of(value) <= limit and isinstance(value, str):
        assert cut == value
