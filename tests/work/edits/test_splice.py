"""Changing a text by place, once and again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from whence.work.edits.splice import Edit, Source


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from(["a", "\r", "\n", "\r\n", "\r\n"]), max_size=6).map("".join),
    st.integers(0, 6),
    st.integers(0, 6),
    st.sampled_from(["", "b", "\n", "a\nb", "\r", "\r\n"]),
)
def test_a_changed_source_is_the_source_of_the_changed_text(
    original: str, start: int, length: int, new: str
) -> None:
    source = Source(original)
    start = min(start, len(source.text))
    edits = [Edit(start, min(start + length, len(source.text)), new)]

    after, read_again = source.after(edits), Source(source.changed(edits))

    assert after.original == read_again.original == source.changed(edits)
    assert after.text == read_again.text
    more = [Edit(0, 0, "c\nd")]
    assert after.changed(more) == read_again.changed(more)
