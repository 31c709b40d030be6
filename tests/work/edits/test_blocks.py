"""SEARCH/REPLACE blocks applied to text: where they go, what they leave, when they are refused."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from whence.errors import Conflict, InvalidArgs, WhenceError
from whence.work.edits.blocks import Applied, apply
from whence.work.edits.diff_blocks import Block, parse


def block(search: str, replace: str, line: int | None = None, number: int = 1) -> Block:
    new = tuple(replace.split("\n")) if replace else ()
    return Block(number, 1, tuple(search.split("\n")), new, line)


def applied(text: str, *blocks: Block) -> Applied:
    return apply(blocks, text)


def edited(text: str, search: str, replace: str, line: int | None = None) -> str:
    return applied(text, block(search, replace, line)).text


def refused(text: str, *blocks: Block) -> Any:
    with pytest.raises(Conflict) as caught:
        apply(blocks, text)
    assert caught.value.suggestion
    return caught.value


@pytest.mark.requirement("roo:apply-diff:exact")
@pytest.mark.parametrize(
    ("text", "search", "replace", "expected"),
    [
        ("a\nb\nc\n", "b", "B", "a\nB\nc\n"),
        ("a\nb\nc\n", "b", "", "a\nc\n"),
        ("a\nb\nc\n", "b", "B   ", "a\nB   \nc\n"),
        ("a\nb\nc\n", "b\nc", "b\nx\nc", "a\nb\nx\nc\n"),
        ("a\r\nb\r\nc\r\n", "b", "B\nBB", "a\r\nB\r\nBB\r\nc\r\n"),
        ("a\nb\r\nc\n", "b", "B", "a\nB\r\nc\n"),
        ("a\nb\r\nc\n", "a\nb\nc", "a\nb\nC", "a\nb\r\nC\n"),
        ("a\nb", "b", "B", "a\nB"),
        ("a\nb", "b", "", "a"),
        ("a\nb", "b", "b\nc", "a\nb\nc"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        ("a", "a", "", ""),
        ("a\n\n\nb\n", "a\n\n\nb", "a\nb", "a\nb\n"),
    ],
)
def test_an_edit_changes_its_lines_and_not_a_byte_more(
    text: str, search: str, replace: str, expected: str
) -> None:
    assert edited(text, search, replace) == expected


@pytest.mark.requirement("roo:apply-diff:exact")
@pytest.mark.parametrize(
    ("text", "search", "replace", "expected"),
    [
        ("    def f():\n        return 1\n", "def f():\n    return 1", "def f():\n    return 2",
         "    def f():\n        return 2\n"),
        ("\tif x:\n\t\ty()\n", "if x:\n\ty()", "if x:\n\tz()", "\tif x:\n\t\tz()\n"),
        ("def f():\n    a()\n    if a:\n        b()\n", "def f():\na()\nif a:\nb()",
         "def f():\n    a()\n    if a:\n        c()",
         "def f():\n    a()\n    if a:\n        c()\n"),
        ("def f():\n    if x:\n        y()\n", "def f():\n  if x:\n    y()",
         "def f():\n  if x:\n    z()\n    if w:\n      v()",
         "def f():\n    if x:\n        z()\n        if w:\n            v()\n"),
        ("f() {\n\tif (x)\n\t\ty()\n}\n", "f() {\n  if (x)\n    y()\n}",
         "f() {\n  if (z)\n    y()\n}", "f() {\n\tif (z)\n\t\ty()\n}\n"),
        ("    a()\n    b()\n", "        a()\n        b()", "    a()\nb()", "a()\nb()\n"),
        ("  a()\n", "    a()", "b()", "b()\n"),
        ("x  =   1\n", "x = 1", "x = 2", "x = 2\n"),
        ("say(“hi”)  # kept…\nx\n", 'say("hi") # kept...\nx', 'say("hi") # kept...\ny',
         "say(“hi”)  # kept…\ny\n"),
        ("a = 1   \nb\n", "a = 1\nb", "a = 1\nc", "a = 1   \nc\n"),
    ],
    ids=["spaces", "tabs", "wrong inner indentation", "narrower steps",
         "spaces for tabs", "dedent", "never left of column 0",
         "inner spaces", "typography kept in context", "trailing white space kept in context"],
)  # fmt: skip
def test_white_space_may_differ_and_the_file_decides_about_indentation(
    text: str, search: str, replace: str, expected: str
) -> None:
    done = applied(text, block(search, replace))

    assert done.text == expected
    assert done.placed[0].note
    assert "white space" in done.placed[0].note


def test_lines_are_compared_one_by_one() -> None:
    assert refused("a b\n\nc\n", block("a\nb", "x")).details["failed"][0]["reason"] == "missing"


@pytest.mark.requirement("roo:apply-diff:place")
def test_the_stated_line_decides_between_equal_lines() -> None:
    text = "x\n" * 9

    assert edited(text, "x", "y", 5) == "x\n" * 4 + "y\n" + "x\n" * 4


@pytest.mark.requirement("roo:apply-diff:place")
def test_without_a_line_equal_places_are_refused_with_their_numbers() -> None:
    text = 'f() {\n  return "target";\n}\n' * 5

    error = refused(text, block('  return "target";', '  return "new";'))

    assert error.details["failed"][0]["candidates"] == [2, 5, 8, 11, 14]
    assert "lines 2, 5, 8, 11 and 14" in error.message


@pytest.mark.requirement("roo:apply-diff:place")
def test_a_line_that_is_far_off_does_no_harm_where_the_text_is_unique() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 301))

    done = applied(text, block("line 250", "changed", 3))

    assert done.text == text.replace("line 250\n", "changed\n")
    assert done.placed[0].note == "applied at line 250, not at line 3"


@pytest.mark.requirement("roo:apply-diff:place")
def test_a_line_off_by_one_means_the_nearest_if_the_others_are_far() -> None:
    text = "x\n" + "-\n" * 20 + "x\n" + "-\n" * 20

    assert edited(text, "x", "y", 23).splitlines().index("y") == 21
    assert refused(text, block("x", "y", 12)).details["failed"][0]["candidates"] == [1, 22]
    assert refused("x\n-\nx\n", block("x", "y", 2)).details["failed"][0]["candidates"] == [1, 3]


@pytest.mark.requirement("roo:apply-diff:place")
def test_an_exact_fit_elsewhere_and_a_loose_one_at_the_line_are_ambiguous() -> None:
    text = "return x\n" + "-\n" * 30 + "    return x\n"

    assert refused(text, block("return x", "y", 32)).details["failed"][0]["candidates"] == [1, 32]


@pytest.mark.requirement("roo:apply-diff:place")
def test_a_missing_text_is_refused_with_the_closest_lines() -> None:
    text = "def one():\n    return 1\n\ndef two():\n    return 2\n"

    error = refused(text, block("def two():\n    return 3", "x", 4))
    failed = error.details["failed"][0]

    assert failed["closest"]["start"] == 4
    assert failed["first_difference"] == {
        "line": 5, "expected": "    return 3", "found": "    return 2",
    }  # fmt: skip
    assert "line 5" in error.message
    assert "nothing was applied" in error.message


@pytest.mark.requirement("roo:apply-diff:all-or-nothing")
def test_blocks_are_placed_by_the_lines_before_the_call() -> None:
    text = "".join(f"{number}\n" for number in range(1, 10))
    blocks = [block("7", "seven", 7, 1), block("2", "two\ntwo", 2, 2), block("4", "", 4, 3)]

    assert applied(text, *blocks).text == "1\ntwo\ntwo\n3\n5\n6\nseven\n8\n9\n"


@pytest.mark.requirement("roo:apply-diff:all-or-nothing")
def test_one_wrong_block_stops_all_and_each_failure_is_reported() -> None:
    blocks = [block("a", "A", number=1), block("q", "Q", number=2), block("b", "B", number=3)]

    error = refused("a\nb\nb\n", *blocks)

    assert [each["block"] for each in error.details["failed"]] == [2, 3]
    assert error.details["blocks"] == 3
    assert "and 1 more of 3 blocks" in error.message


@pytest.mark.requirement("roo:apply-diff:all-or-nothing")
def test_blocks_that_overlap_are_refused() -> None:
    error = refused("a\nb\nc\n", block("a\nb", "x", number=1), block("b\nc", "y", number=2))

    assert error.details["blocks"] == [1, 2]


def test_a_block_that_changes_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgs, match="identical"):
        apply([block("a", "a")], "a\n")
    with pytest.raises(InvalidArgs, match="identical"):
        apply([block("1 | a", "1 | a")], "a\n")


@pytest.mark.requirement("roo:apply-diff:place")
@pytest.mark.parametrize(
    ("search", "replace", "expected"),
    [
        ("2 | two\n3 | three", "2 | zwei\n3 | drei", "one\nzwei\ndrei\n"),
        ("2 | two", "zwei", "one\nzwei\nthree\n"),
        ("2 | two", "", "one\nthree\n"),
        ("1002 | two", "1002 | zwei", "one\nzwei\nthree\n"),
        ("  2 | two\n  3 | three", "  2 | two\nnew\n  3 | three", "one\ntwo\nnew\nthree\n"),
        ("| two", "| zwei", "one\nzwei\nthree\n"),
    ],
    ids=["both", "search only", "deletion", "four digits", "partly", "bars alone"],
)
def test_copied_line_numbers_never_reach_the_file(search: str, replace: str, expected: str) -> None:
    done = applied("one\ntwo\nthree\n", block(search, replace))

    assert done.text == expected
    assert "line numbers" in (done.placed[0].note or "")


def test_numbers_that_are_in_the_file_are_text() -> None:
    assert edited("1 | a\n2 | b\n", "2 | b", "2 | c") == "1 | a\n2 | c\n"
    assert edited("a\n| x | y |\n", "2 | | x | y |", "| x | z |") == "a\n| x | z |\n"


def test_a_copied_number_tells_the_line() -> None:
    assert edited("x\ny\nx\n", "3 | x", "3 | z") == "x\ny\nz\n"


def test_ten_thousand_blocks_and_a_repetitive_file_take_no_quadratic_time() -> None:
    text = "same\n" * 20_000 + "".join(f"line {n}\n" for n in range(10_000))
    blocks = [block(f"line {n}", f"new {n}", 20_001 + n, n + 1) for n in range(10_000)]

    assert applied(text, *blocks).text.endswith("new 9999\n")
    assert refused(text, block("same\nsame\nother", "x")).details["failed"]


# Random files and edits

content = st.text(alphabet="ab =<>-\\:", max_size=6) | st.sampled_from(
    ["", "a", "    a", "=======", "<<<<<<< SEARCH", ">>>>>>> REPLACE", ":start_line:3", "7 | a"]
)
ending = st.sampled_from(["\n", "\r\n"])


@st.composite
def files(draw: st.DrawFn) -> list[str]:
    """Lines with endings: all alike or mixed; the last one with or without."""
    one = draw(ending)
    is_mixed: bool = draw(st.booleans())
    ends = ending if is_mixed else st.just(one)
    lines = [line + end for line, end in draw(st.lists(st.tuples(content, ends), max_size=16))]
    is_cut: bool = draw(st.booleans())
    if lines and is_cut:
        lines[-1] = lines[-1].rstrip("\r\n")
    return [line for line in lines if line]


def escaped(line: str) -> str:
    if line.lstrip("\\").startswith(("<<<<<<<", "=======", ">>>>>>>", "-------")):
        return "\\" + line
    body = line.lstrip()
    if body.lstrip("\\").startswith((":start_line", ":end_line")):
        return line[: len(line) - len(body)] + "\\" + body
    return line


def as_diff(old: Sequence[str], new: Sequence[str], context: int) -> str:
    """What a model would write for this change, with the lines stated."""
    blocks = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        (_, first, _, new_first, _), (_, _, last, _, new_last) = group[0], group[-1]
        blocks += [
            "<<<<<<< SEARCH", f":start_line:{first + 1}", "-------",
            *map(escaped, old[first:last]), "=======",
            *map(escaped, new[new_first:new_last]), ">>>>>>> REPLACE",
        ]  # fmt: skip
    return "\n".join(blocks)


@pytest.mark.requirement("roo:apply-diff:exact")
@settings(deadline=None, max_examples=200)
@given(files(), st.data(), st.integers(1, 3))
def test_an_edit_written_as_blocks_is_made_exactly(
    lines: list[str], data: st.DataObject, context: int
) -> None:
    keys = [line.rstrip("\n").removesuffix("\r") for line in lines]
    changed = list(keys)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(changed)))
        end = data.draw(st.integers(start, min(len(changed), start + 2)))
        changed[start:end] = data.draw(st.lists(content, max_size=2))
    assume(changed != keys)
    text = "".join(lines)
    assume(keys)  # an insertion into an empty file has nothing to search for

    blocks = parse(as_diff(keys, changed, context))
    result = apply(blocks, text).text

    expected = "".join([f"{line}\n" for line in changed])
    if not text.endswith("\n"):
        expected = expected.removesuffix("\n")
    assert result.replace("\r\n", "\n") == expected
    if "\r\n" not in text:
        assert "\r" not in result
    if text.count("\n") == text.count("\r\n") and text.count("\n"):
        assert result.count("\n") == result.count("\r\n")


@settings(deadline=None, max_examples=200)
@given(files(), st.lists(content, min_size=1, max_size=3), st.lists(content, max_size=3))
def test_any_block_changes_only_lines_that_look_like_its_search_or_nothing(
    lines: list[str], search: list[str], replace: list[str]
) -> None:
    text = "".join(lines)
    try:
        done = apply([Block(1, 1, tuple(search), tuple(replace))], text)
    except WhenceError:
        return

    (placed,) = done.placed
    before, after = lines[: placed.start], lines[placed.end :]
    assert done.text.startswith("".join(before).removesuffix("\n").removesuffix("\r"))
    assert done.text.endswith("".join(after))
    found = [line.rstrip("\r\n") for line in lines[placed.start : placed.end]]
    assert ["".join(line.split()) for line in found] == [
        "".join(line.split()) for line in placed.block.search
    ]


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_lines_that_two_blocks_add_at_one_place_stand_in_the_order_of_the_blocks(
    ending: str,
) -> None:
    text = ending.join(["above", "below", ""])
    blocks = block("above", "above\nz", 1), block("below", "a\nbelow", 2, number=2)

    assert applied(text, *blocks).text == ending.join(["above", "z", "a", "below", ""])
