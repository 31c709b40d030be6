"""Characters that are not what they look like."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.shapes.glyph import is_hidden, misleading, named, visible

HIDDEN = (
    "\0\x07\x08\t\n\r\x1b\x7f\x85\xa0\xad\u034f\u061c\u115f\u180e\u200b\u200d\u200e\u2028\u202e\u2066"
    "\u2800\u3000\u3164\ufe0f\ufeff\uffa0\U000e0001\U000e0100\ue000"
)


@pytest.mark.parametrize("char", HIDDEN, ids=ascii)
def test_what_cannot_be_seen_is_shown_by_its_number(char: str) -> None:
    assert is_hidden(char)
    assert visible(f"a{char}b") == f"a<U+{ord(char):04X}>b"


@settings(max_examples=300, deadline=None)
@given(text=st.text())
@pytest.mark.requirement("rules:prompt")
def test_shown_text_is_one_line_that_a_terminal_obeys_nowhere(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert not any(is_hidden(char) for char in shown)
    assert " " * 17 not in shown


@pytest.mark.parametrize(
    "word",
    ["plain", "日本語", "Привет", "café", "naïve", "x=1", "a\tb\nc", "Ελλάδα", "привет-world"],
)
def test_ordinary_words_of_any_language_mislead_nobody(word: str) -> None:
    assert misleading(word) is None


@pytest.mark.parametrize(
    ("word", "char"),
    [("раypal", "р"), ("ρwd", "ρ"), ("a\u200db", "\u200d"), ("a\x1b[1m", "\x1b"),
     ("x\ue000", "\ue000")],
    ids=ascii,
)  # fmt: skip
def test_the_character_that_misleads_is_named(word: str, char: str) -> None:
    found = misleading(word)
    assert found == char
    assert named(char).startswith(f"U+{ord(char):04X} ")


def test_a_programs_name_is_ascii() -> None:
    assert misleading("日本", program=True) == "日"
    assert misleading("git-x_1.2+", program=True) is None
