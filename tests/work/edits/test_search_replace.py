"""Replacing text by text: literally, as often as expected, and with the file's line endings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import Conflict, InvalidArgs, WhenceError
from whence.work.edits.search_replace import Wanted, replace


def edited(text: str, old: str, new: str, times: int | None = 1, *, tolerant: bool = False) -> str:
    return replace(text, Wanted(old, new, times, tolerant=tolerant))[0]


def refused(text: str, old: str, times: int | None = 1, *, tolerant: bool = False) -> Any:
    with pytest.raises(Conflict) as caught:
        edited(text, old, "replacement", times, tolerant=tolerant)
    assert caught.value.suggestion
    return caught.value


@pytest.mark.requirement("roo:edit-family")
@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a b c", "b", "$&", "a $& c"),
        ("a b c", "b", "\\1 $1 $$", "a \\1 $1 $$ c"),
        ("a.c abc", "a.c", "x", "x abc"),
        ("a b c", " b", "", "a c"),
        ("a\r\nb\r\nc\r\n", "a\nb", "1\n2\n3", "1\r\n2\r\n3\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "c\r\nd", "c\r\nd\r\n"),
        ("a\nb\n", "a\r\nb", "c\r\nd", "c\nd\n"),
        ("a\r\nb\nc\n", "a\nb", "x\ny", "x\r\ny\nc\n"),
        ("a\r\nb\nc\n", "c", "c\nd", "a\r\nb\nc\nd\n"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("ab", "b", "b\r\nc", "ab\r\nc"),
        ("a\rb\n", "b", "c", "a\rc\n"),
        ("a\r\n\r\nb\r\n", "\n\nb", "\nb", "a\r\nb\r\n"),
    ],
)
def test_the_new_text_goes_in_literally_and_line_endings_stay(
    text: str, old: str, new: str, expected: str
) -> None:
    assert edited(text, old, new) == expected


@pytest.mark.requirement("roo:edit-family")
def test_all_occurrences_are_replaced_without_overlap_where_asked() -> None:
    assert edited("aaaa b", "aa", "x", None) == "xx b"
    assert edited("a b a", "a", "x", 2) == "x b x"
    _, (done,) = replace("a a a", Wanted("a", "b", None))
    assert done.count == 3


@pytest.mark.requirement("roo:edit-family")
def test_a_wrong_count_is_refused_with_the_lines() -> None:
    error = refused("x\ny\nx\nx\n", "x")

    assert error.details["found"] == 3
    assert error.details["lines"] == [1, 3, 4]
    assert "lines 1, 3 and 4" in error.message
    assert error.message.startswith("Found 3 matches for old_string 'x', expected 1")
    assert "expected 4: line 1" in refused("x x x", "x", 4).message


@pytest.mark.requirement("roo:edit-family")
def test_a_text_that_fits_in_two_ways_that_overlap_is_ambiguous() -> None:
    assert refused("}\n}\n}\n", "}\n}\n").details["reason"] == "ambiguous"


@pytest.mark.requirement("roo:edit-family")
def test_a_missing_text_is_refused_with_the_closest_lines() -> None:
    error = refused("def one():\n    return 1\n", "def one():\n  return 1")

    assert error.details["first_difference"]["line"] == 2
    assert "white space" in error.message
    assert "nothing" in refused("", "something else").message
    assert "line numbers" in refused("a\nb\n", "1 | a\n2 | b").suggestion


@pytest.mark.requirement("roo:edit-family")
def test_nothing_to_look_for_and_nothing_to_change_are_invalid() -> None:
    for old, new in (("", "x"), ("a", "a"), ("a\r\nb", "a\nb")):
        with pytest.raises(InvalidArgs):
            edited("a\nb", old, new)


@pytest.mark.requirement("roo:edit-file:ladder")
@pytest.mark.parametrize(
    ("text", "old", "new", "expected", "how"),
    [
        ("if x:\n\treturn  1\n", "if x:\n    return 1", "if x:\n    return 2",
         "if x:\n\treturn 2\n", "whitespace"),
        ("def f():\n    if x:\n        y()\n", "if x:\n  y()", "if x:\n  z()\nelse:\n  w()",
         "def f():\n    if x:\n        z()\n    else:\n        w()\n", "whitespace"),
        ("a = {x  :\n\t\t1}\n", "{x :\n  1}", "{y :\n  2}", "a = {y :\n\t\t2}\n", "whitespace"),
        ("a = 1  \nb = 2\n", "a = 1\nb = 2", "c", "c\n", "whitespace"),
        ("Line 1\nLine 2\n", " Line 2", "Line $100", "Line 1\nLine $100\n", "tokens"),
        ("f(a,\n   b)\n", "f(a, b)", "f(b)", "f(b)\n", "tokens"),
        ("x\n    y\n", "x\ny", "z", "z\n", "tokens"),
    ],
    ids=["tabs and spaces", "narrower", "in a line", "trailing", "leading", "other lines",
         "no indentation"],
)  # fmt: skip
def test_a_tolerant_search_finds_other_white_space(
    text: str, old: str, new: str, expected: str, how: str
) -> None:
    result, (done,) = replace(text, Wanted(old, new, tolerant=True))

    assert (result, done.matched) == (expected, how)
    refused(text, old)


@pytest.mark.requirement("roo:edit-file:ladder")
def test_a_tolerant_search_swallows_neither_blank_lines_nor_indentation() -> None:
    assert edited("a \n    b\n", "a\n", "x\n", tolerant=True) == "x\n    b\n"
    _, (done,) = replace("a\n\n\nb\n", Wanted("a\nb", "x", tolerant=True))
    assert done.matched == "tokens"
    assert refused("a  b\na   b\n", "a b", tolerant=True).details["found"] == 2


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.sampled_from(["a", "b", " ", "\t", "\n", "\r\n"]), max_size=30).map("".join),
    st.text(alphabet="ab\n \t", min_size=1, max_size=5),
    st.text(alphabet="ab\n \t$", max_size=5),
    st.booleans(),
)
def test_what_is_replaced_is_what_was_found_and_nothing_else_changes(
    text: str, old: str, new: str, tolerant: bool
) -> None:
    try:
        whole, (done,) = replace(text, Wanted(old, new, tolerant=tolerant))
    except WhenceError:
        return

    plain, result = text.replace("\r\n", "\n"), whole.replace("\r\n", "\n")
    if done.matched == "exact":
        assert result == plain.replace(old, new, 1) or "\n" not in plain
    else:
        assert "".join(old.split()) in "".join(plain.split())
    if "\n" in text and text.count("\n") == text.count("\r\n"):
        assert whole.count("\n") == whole.count("\r\n")


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["if a:", "b()", "c = 1"])), min_size=2,
             max_size=6),
    st.sampled_from(["  ", "    ", "\t"]),
    st.sampled_from(["  ", "    ", "\t"]),
)  # fmt: skip
def test_an_edit_in_other_steps_changes_the_words_and_no_indentation(
    lines: list[tuple[int, str]], there: str, here: str
) -> None:
    def laid_out(step: str, last: str = "") -> str:
        return "".join(f"{step * depth}{last or words}\n" for depth, words in lines)

    text, old = laid_out(there), laid_out(here)
    if old == text:
        return

    assert edited(text, old, laid_out(here, "new()"), tolerant=True) == laid_out(there, "new()")
