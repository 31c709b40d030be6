"""SEARCH/REPLACE blocks as text: what is read, and what is wrong with the rest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import InvalidArgs
from whence.work.edits.diff_blocks import Block, parse


def diff(*lines: str) -> str:
    return "\n".join(lines)


def one(*lines: str) -> Block:
    (block,) = parse(diff(*lines))
    return block


def refused(*lines: str) -> InvalidArgs:
    with pytest.raises(InvalidArgs) as caught:
        parse(diff(*lines))
    assert caught.value.suggestion
    return caught.value


@pytest.mark.requirement("roo:apply-diff:grammar")
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<<<<<<< SEARCH", ">>>>>>> REPLACE"),
        ("<<<<<<< SEARCH>", ">>>>>>> REPLACE"),
        ("<<<<<<< SEARCH>  ", ">>>>>>> REPLACE"),
        ("<<<<<<< SEARCH  ", ">>>>>>> REPLACE   "),
        ("<<<<<<< SEARCH\r", ">>>>>>> REPLACE\r"),
    ],
    ids=["plain", "bracket", "bracket and spaces", "spaces after both", "carriage returns"],
)
def test_a_block_is_read_with_the_slips_that_are_forgiven(opening: str, closing: str) -> None:
    assert one(opening, "a", "=======", "b", closing) == Block(1, 1, ("a",), ("b",))


@pytest.mark.requirement("roo:apply-diff:grammar")
def test_text_around_blocks_is_ignored_and_blocks_are_counted() -> None:
    blocks = parse(
        diff(
            "Here is the change:",
            "<<<<<<< SEARCH", ":start_line:7", "-------", "a", "", "=======", ">>>>>>> REPLACE",
            "and another", "",
            "<<<<<<< SEARCH", ":start_line: 3", ":end_line:4", "b",
            "=======", "", ">>>>>>> REPLACE",
            "Done.",
        )
    )  # fmt: skip

    assert blocks == (Block(1, 2, ("a", ""), (), 7), Block(2, 11, ("b",), ("",), 3))


@pytest.mark.requirement("roo:apply-diff:grammar")
@pytest.mark.parametrize("opening", ["<<<<<<< SEARCH>>", "<<<<<<< SEARCH  >", "<<<<<<< FIND"])
def test_other_openings_are_refused(opening: str) -> None:
    error = refused(opening, "a", "=======", "b", ">>>>>>> REPLACE")

    assert "line 1" in error.message
    assert "<<<<<<< SEARCH" in error.message


@pytest.mark.requirement("roo:apply-diff:grammar")
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("=======", "<<<<<<< SEARCH", "a", ">>>>>>> REPLACE"), "line 1 of the diff, '======='"),
        (("<<<<<<< SEARCH", "a", ">>>>>>> REPLACE"), "where '=======' is expected"),
        (("<<<<<<< SEARCH", "a", "=======", "b", "<<<<<<< SEARCH"), "'>>>>>>> REPLACE' is exp"),
        (("<<<<<<< SEARCH", "a"), "ends where '=======' is expected"),
        (("<<<<<<< SEARCH", "a", "=======", "b"), "ends where '>>>>>>> REPLACE' is expected"),
        (("<<<<<<< SEARCH", "=======", "b", ">>>>>>> REPLACE"), "empty"),
        (("just words",), "no SEARCH/REPLACE block"),
        ((), "no SEARCH/REPLACE block"),
        (("<<<<<<< SEARCH", ":start_line=18", "a", "=======", ">>>>>>> REPLACE"), "no line marker"),
        (("<<<<<<< SEARCH", ":start_line:x", "a", "=======", ">>>>>>> REPLACE"), "no line marker"),
        (
            ("<<<<<<< SEARCH", ":start_line:1", "-------a", "=======", "b", ">>>>>>> REPLACE"),
            "dashes that end the header",
        ),
        (
            ("<<<<<<< SEARCH", "-------", "a", "=======", "-------", "b", ">>>>>>> REPLACE"),
            "may end a header or belong to the text",
        ),
    ],
    ids=[
        "separator first", "no separator", "search in replacement", "cut in search",
        "cut in replacement", "empty search", "prose", "nothing", "equals sign", "no number",
        "text after dashes", "dashes on both sides",
    ],
)  # fmt: skip
def test_a_slip_in_the_grammar_is_named(lines: tuple[str, ...], said: str) -> None:
    assert said in refused(*lines).message


@pytest.mark.requirement("roo:apply-diff:grammar")
@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", ">>>>>>>", ">>>>>>> theirs", "======="])
def test_a_bare_conflict_marker_asks_for_a_backslash_and_takes_it(marker: str) -> None:
    error = refused("<<<<<<< SEARCH", "a", "=======", "b", marker, "c", ">>>>>>> REPLACE")
    assert "backslash" in error.suggestion
    assert error.details["line"] == 5

    block = one("<<<<<<< SEARCH", "a", "=======", "b", "\\" + marker, "c", ">>>>>>> REPLACE")
    assert block.replace == ("b", marker, "c")


@pytest.mark.requirement("roo:apply-diff:grammar")
@pytest.mark.parametrize("line", [":start_line:3", "   :start_line:3", ":end_line:3"])
def test_a_line_marker_in_the_replacement_is_refused_unless_escaped(line: str) -> None:
    error = refused("<<<<<<< SEARCH", "a", "=======", "b", line, "c", ">>>>>>> REPLACE")
    assert "inside the replacement" in error.message

    escaped = line.replace(":", "\\:", 1)
    block = one("<<<<<<< SEARCH", "a", "=======", escaped, ">>>>>>> REPLACE")
    assert block.replace == (line,)


@pytest.mark.requirement("roo:apply-diff:grammar")
def test_markers_that_do_not_begin_their_line_are_text_and_explained() -> None:
    error = refused("  <<<<<<< SEARCH", "  a", "  =======", "  b", "  >>>>>>> REPLACE")

    assert "white space before" in error.suggestion
    block = one("<<<<<<< SEARCH", "  =======", "=======", "========", ">>>>>>> REPLACE")
    assert (block.search, block.replace) == (("  =======",), ("========",))


def escaped(line: str) -> str:
    markers = ("<<<<<<<", "=======", ">>>>>>>", "-------")
    if line.lstrip("\\").startswith(markers):
        return "\\" + line
    body = line.lstrip()
    if body.lstrip("\\").startswith((":start_line", ":end_line")):
        return line[: len(line) - len(body)] + "\\" + body
    return line


tricky = st.sampled_from(
    ["", "a", "=======", "\\=======", "<<<<<<< SEARCH", ">>>>>>> REPLACE", "-------", "------- x",
     ":start_line:1", "  :end_line:2", "\\\\:start_line:3", "<<<<<<<<", "N | x", "\\n"]
)  # fmt: skip
texts = st.lists(tricky | st.text(alphabet="ab \t\\=<>-:", max_size=9), max_size=6)


@pytest.mark.requirement("roo:apply-diff:grammar")
@settings(deadline=None, max_examples=150)
@given(texts.filter(bool), texts)
def test_whatever_is_escaped_comes_back_as_it_was(search: list[str], replace: list[str]) -> None:
    block = one(
        "<<<<<<< SEARCH", ":start_line:1", "-------", *map(escaped, search),
        "=======", *map(escaped, replace), ">>>>>>> REPLACE",
    )  # fmt: skip

    assert (list(block.search), list(block.replace)) == (search, replace)


@settings(deadline=None, max_examples=150)
@given(st.lists(tricky, max_size=14))
def test_no_text_is_more_than_blocks_or_an_error(lines: list[str]) -> None:
    try:
        blocks = parse("\n".join(lines))
    except InvalidArgs:
        return

    assert all(block.search for block in blocks)
