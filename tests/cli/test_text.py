"""Words of strangers on a person's terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whence.cli.text import json_bytes

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.requirement("cli:json-harmless")
@settings(deadline=None)
@given(values, st.sampled_from([0, 2]))
@example({"\u009b31m": "\x7f\u202e"}, 2)
@example("\ud800\u009b", 0)
def test_json_says_the_same_and_holds_nothing_that_a_terminal_obeys(
    value: Any, indent: int
) -> None:
    written = json_bytes(value, indent).decode()

    assert json.loads(written) == value
    assert not {"\x7f", "\u009b", "\u202e", "\u2066", "\x1b"} & set(written)
