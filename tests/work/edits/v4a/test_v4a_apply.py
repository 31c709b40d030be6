from __future__ import annotations

import pytest

from whence.errors import Conflict
from whence.work.edits.v4a import Edited, Update, apply, parse


def attempt(text: str, *lines: str) -> Edited:
    patch = "\n".join(["*** Begin Patch", "*** Update File: f.py", *lines, "*** End Patch", ""])
    (section,) = parse(patch).sections
    assert isinstance(section, Update)
    return apply(section, text)


def refused(text: str, *lines: str) -> Conflict:
    with pytest.raises(Conflict) as caught:
        attempt(text, *lines)
    assert caught.value.suggestion.startswith("Nothing was changed. ")
    return caught.value


@pytest.mark.requirement("v4a:levels")
@pytest.mark.parametrize(
    ("text", "old", "level", "says"),
    [
        ("a\nb\nc\n", "b", 0, ""),
        ("a\nb  \nc\n", "b", 1, "white space at the ends of lines"),
        ("a\nb\nc\n", "b\t", 1, "white space at the ends of lines"),
        ("a\n\tb\nc\n", "b", 2, "white space around lines"),
        ("a\n“b” – c\nc\n", '"b" - c', 3, "quotes, dashes"),
        ("a\nb\u00a0b\nc\n", "b b", 3, "quotes, dashes"),
        ("a\nbe\u0301\nc\n", "b\u00e9", 3, "quotes, dashes"),
    ],
    ids=range(7),
)
def test_the_least_forgiving_level_that_fits_is_used_and_reported(
    text: str, old: str, level: int, says: str
) -> None:
    edited = attempt(text, "@@", f"-{old}")

    assert edited.text == "a\nc\n"
    assert [spot.level for spot in edited.spots] == [level]
    assert len(edited.warnings) == (level > 0)
    assert all(says in warning for warning in edited.warnings)


@pytest.mark.requirement("v4a:levels")
def test_an_exact_place_wins_over_one_that_is_only_alike() -> None:
    assert attempt("  x\nx\n", "-x", "+y").text == "  x\ny\n"


@pytest.mark.requirement("v4a:levels")
def test_context_keeps_the_lines_of_the_file() -> None:
    edited = attempt("def f():  \n\tx = “1”\n", " def f():", '-    x = "1"', "+    x = 2")

    assert edited.text == "def f():  \n\tx = 2\n"


@pytest.mark.requirement("v4a:levels")
@pytest.mark.parametrize(
    ("text", "lines", "result"),
    [
        ("    a\n    b\n", (" a", "-b", "+c", "+    d"), "    a\n    c\n        d\n"),
        ("a\nb\n", ("   a", "-  b", "+  c", "+    d"), "a\nc\n  d\n"),
        ("\ta\n\t\tb\n", ("   a", "-    b", "+    c"), "\ta\n\t\tc\n"),
        ("  a\n   b\n", (" a", "-b", "+c"), "  a\nc\n"),
    ],
    ids=["less", "more", "tabs", "unclear"],
)
def test_added_lines_are_indented_as_the_file_is_where_that_is_clear(
    text: str, lines: tuple[str, ...], result: str
) -> None:
    edited = attempt(text, *lines)

    assert edited.text == result
    (warning,) = edited.warnings
    assert ("check their indentation" if lines[0] == " a" and "\n   b" in text else "indented as"
            ) in warning  # fmt: skip


@pytest.mark.requirement("v4a:ambiguous")
def test_a_hunk_that_fits_twice_is_refused_with_the_candidate_lines() -> None:
    error = refused("x = 1\ny\nx = 1\n", "-x = 1", "+x = 2")

    assert "hunk 1 (line 3 of the patch) fits at lines 1 and 3" in error.message
    assert error.details["candidates"] == [1, 3]
    assert error.details["reason"] == "ambiguous"


@pytest.mark.requirement("v4a:ambiguous")
@pytest.mark.parametrize(
    ("text", "lines", "result"),
    [
        ("x\nm\nx\n", ("@@", "-m", "+M", "@@", "-x", "+X"), "x\nM\nX\n"),
        ("x\nm\nx\n", ("@@", "-x", "+X", "@@", "-m", "+M"), "X\nM\nx\n"),
        ("x\nx\n", ("@@", "-x", "+1", "@@", "-x", "+2"), "1\n2\n"),
    ],
    ids=["below", "above", "all"],
)
def test_the_order_of_the_hunks_can_leave_one_place_only(
    text: str, lines: tuple[str, ...], result: str
) -> None:
    assert attempt(text, *lines).text == result


@pytest.mark.requirement("v4a:ambiguous")
def test_an_order_that_leaves_a_choice_is_ambiguous() -> None:
    error = refused("x\nm\nx\nx\n", "@@", "-m", "+M", "@@", "-x", "+X")

    assert error.details["candidates"] == [3, 4]
    assert error.details["hunk"] == 2


def test_hunks_that_are_not_in_the_order_of_the_file_are_refused() -> None:
    error = refused("a\nb\n", "@@", "-b", "+B", "@@", "-a", "+A")

    assert "fits only at line 1, which is not below the change of hunk 1" in error.message


def test_contexts_may_overlap() -> None:
    lines = ("@@", "-a", "+A", " b", " c", "@@", " a", " b", "-c", "+C")

    assert attempt("a\nb\nc\n", *lines).text == "A\nb\nC\n"


CLASSES = """\
class A:
    def run(self):
        x = 1
        return x

    def stop(self):
        return x


class B:
    def run(self):
        x = 1
        return x
"""


@pytest.mark.requirement("v4a:anchors")
@pytest.mark.parametrize(
    ("anchors", "line"),
    [
        (("@@ class A:", "@@ def run(self):"), 4),
        (("@@ class A:", "@@     def stop(self):"), 7),
        (("@@ class B:",), 13),
        (("@@ class A", "@@ def stop"), 7),
        (("@@ def stop(self):",), 7),
    ],
    ids=range(5),
)
def test_an_anchor_holds_a_hunk_to_its_scope(anchors: tuple[str, ...], line: int) -> None:
    lines = CLASSES.splitlines(keepends=True)
    lines[line - 1] = "        return y\n"

    assert attempt(CLASSES, *anchors, "-        return x", "+        return y").text == (
        "".join(lines)
    )


@pytest.mark.requirement("v4a:anchors")
def test_an_anchor_whose_scope_has_several_places_is_ambiguous() -> None:
    error = refused(CLASSES, "@@ class A:", "-        return x", "+        return y")

    assert error.details["candidates"] == [4, 7]
    assert refused(CLASSES, "@@ def run(self):", "-        x = 1").details["candidates"] == [3, 12]


@pytest.mark.requirement("v4a:anchors")
def test_an_anchor_that_begins_no_scope_holds_the_rest_of_the_file() -> None:
    text = "# one\nx\n# two\nx\n# three\nx\n"

    assert attempt(text, "@@ # three", "-x", "+y").text == "# one\nx\n# two\nx\n# three\ny\n"
    assert refused(text, "@@ # two", "-x", "+y").details["candidates"] == [4, 6]


@pytest.mark.requirement("v4a:anchors")
def test_an_anchor_that_does_not_exist_is_refused_with_lines_that_look_like_it() -> None:
    error = refused(CLASSES, "@@ def strop(self):", "-        return x")

    assert "anchored to 'def strop(self):'" in error.message
    assert "'def stop(self):' (line 6)" in error.suggestion


@pytest.mark.requirement("v4a:anchors")
def test_anchors_that_are_not_below_one_another_are_refused() -> None:
    error = refused(CLASSES, "@@ class B:", "@@ def stop(self):", "-        return x")

    assert "'class B:' › 'def stop(self):'" in error.message


@pytest.mark.requirement("v4a:anchors")
def test_a_hunk_outside_of_its_anchor_is_refused_with_its_place() -> None:
    error = refused(CLASSES, "@@ def stop(self):", "-        x = 1")

    assert "fits at lines 3 and 12, but not below 'def stop(self):'" in error.message


@pytest.mark.requirement("v4a:insertion")
def test_lines_are_added_below_an_anchor_at_an_end_or_to_an_empty_file() -> None:
    assert attempt("a\nb\n", "@@ a", "+x", "+y").text == "a\nx\ny\nb\n"
    assert attempt("a\nb\n", "@@", "+x", "*** End of File").text == "a\nb\nx\n"
    assert attempt("", "@@", "+x").text == "x\n"
    assert attempt("a\nb\n", "@@", " a", "+x").text == "a\nx\nb\n"
    assert attempt("a\nb\n", "@@", "+x", " b").text == "a\nx\nb\n"
    (warning,) = attempt("a\nb\n", "@@ a", "+x").warnings
    assert warning == "hunk 1 was put right below line 1, 'a'"


@pytest.mark.requirement("v4a:insertion")
def test_lines_that_are_added_nowhere_in_particular_are_refused() -> None:
    error = refused("a\nb\n", "@@", "+x")

    assert "adds lines and does not say where" in error.message
    for way in ("context line", "@@ line", "*** End of File"):
        assert way in error.suggestion
    assert refused("a\nb\na\n", "@@ a", "+x").details["candidates"] == [2, 4]
    inside = refused("def f():\n    one()\n    two()\n", "@@ def f():", "+    three()")
    assert "does not say where in it" in inside.message


def test_a_hunk_that_ends_the_file_fits_only_there() -> None:
    assert attempt("x\ny\nx\n", "-x", "+z", "*** End of File").text == "x\ny\nz\n"
    error = refused("x\ny\n", "-x", "+z", "*** End of File")
    assert "fits at line 1, but not at the end of the file, line 2" in error.message


@pytest.mark.requirement("v4a:endings")
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nx\r\nc\r\n"),
        ("a\rb\rc\r", "a\rB\rx\rc\r"),
        ("a\r\nb\nc\r\n", "a\r\nB\r\nx\r\nc\r\n"),
        ("a\nb\nc", "a\nB\nx\nc"),
        ("a\r\nb\r\nc", "a\r\nB\r\nx\r\nc"),
        ("a\nb", "a\nB\nx"),
        ("b", "B\nx"),
    ],
    ids=range(7),
)
def test_endings_and_a_missing_final_newline_are_kept(text: str, result: str) -> None:
    assert attempt(text, "-b", "+B", "+x").text == result


@pytest.mark.requirement("v4a:endings")
def test_a_file_without_a_final_newline_stays_without_one_when_its_end_goes() -> None:
    assert attempt("a\nb", " a", "-b").text == "a"
    assert attempt("a\nb", " b", "+c").text == "a\nb\nc"
    assert attempt("a\nb\n", " a", "-b").text == "a\n"
    assert attempt("a\n", "-a").text == ""


@pytest.mark.requirement("v4a:endings")
def test_a_carriage_return_inside_a_line_is_found_and_kept() -> None:
    text = "one\ntwo\rtwo\nthree\n"

    assert attempt(text, " one", "-two\rtwo", "+2\r2", " three").text == "one\n2\r2\nthree\n"


@pytest.mark.requirement("v4a:stale")
def test_a_stale_hunk_is_refused_with_the_closest_region_and_the_first_difference() -> None:
    text = "".join(f"line {n}\n" for n in range(50)) + "def f(a):\n    return a + 1\n"
    error = refused(text, "@@", " def f(a):", "-    return a + 2", "+    return a + 3")

    first = error.message.partition("\n")[0]
    assert first == (
        "Context mismatch in f.py: hunk 1 (line 4 of the patch) does not fit; lines 51-52 are "
        "closest: line 52 should be '    return a + 2' and is '    return a + 1'"
    )
    assert "--- expected ---\ndef f(a):\n    return a + 2\n--- actual, lines 48-52" in error.message
    assert error.details["first_difference"] == {
        "line": 52, "expected": "    return a + 2", "found": "    return a + 1",
    }  # fmt: skip


@pytest.mark.requirement("v4a:stale")
def test_where_nothing_is_alike_the_lines_that_are_there_are_shown() -> None:
    error = refused("foo\nbar\nbaz\n", "-old")

    assert "--- expected ---\nold\n" in error.message
    assert error.message.endswith("--- actual, lines 1-3 of 3 ---\nfoo\nbar\nbaz")


@pytest.mark.requirement("v4a:stale")
def test_a_hunk_that_was_applied_before_says_so() -> None:
    error = refused("a\nB\nc\n", " a", "-b", "+B", " c")

    assert "had been applied already, at line 1" in error.message


def test_a_later_hunk_that_fails_leaves_nothing_of_the_first() -> None:
    assert refused("a\nb\n", "@@", "-a", "+A", "@@", "-x", "+y").details["hunk"] == 2


@pytest.mark.requirement("v4a:bounded")
def test_lines_of_a_megabyte_are_matched_and_shown_in_part() -> None:
    long = "x" * 1_000_000

    assert attempt(f"a\n{long}\nb\n", f"-{long}", "+y").text == "a\ny\nb\n"
    assert len(refused(f"a\n{long}\nb\n", f"-{long}z").message) < 5_000


@pytest.mark.requirement("v4a:bounded")
def test_ten_thousand_hunks_are_applied() -> None:
    lines = [f"line {n}" for n in range(30_000)]
    hunks = [part for n in range(0, 30_000, 3) for part in ("@@", f"-line {n}", f"+changed {n}")]
    changed = [f"changed {n}" if n % 3 == 0 else f"line {n}" for n in range(30_000)]

    for ending in ("\n", "\r\n"):
        text = ending.join([*lines, ""])
        assert attempt(text, *hunks).text == ending.join([*changed, ""])


@pytest.mark.requirement("v4a:bounded")
def test_a_repetitive_file_is_refused_at_once() -> None:
    text = "x\n" * 200_000
    block = [" x"] * 2_000

    assert refused(text, *block, "-x").details["reason"] == "ambiguous"
    assert refused(text, *block, "-y").details["reason"] == "stale"
    assert refused(text, "-y", *block).details["reason"] == "stale"


@pytest.mark.requirement("v4a:forgiving")
def test_a_blank_line_below_the_last_one_stands_for_the_end_of_the_file() -> None:
    edited = attempt("a\nb\n", "@@", " a", "-b", "+c", " ")

    assert edited.text == "a\nc\n"
    assert edited.warnings == ("the blank line below hunk 1 was taken for the end of the file",)
    assert attempt("    b\n", "@@", "-b", "+c", " ").text == "    c\n"
    assert attempt("a\nb\n\na\nb\n", "@@", " a", "-b", "+c", " ").text == "a\nc\n\na\nb\n"
    assert refused("a\nb\nx\n", "@@", " a", "-b", "+c", " ").details["reason"] == "stale"


def test_a_hunk_whose_context_begins_above_the_hunk_before_it_is_placed_by_its_own_lines() -> None:
    text = "head\nhead\nmark\nhead\n"
    first = ("@@", " head", "+one", " mark")
    second = ("@@", " head", " head", "-mark")

    edited = attempt(text, *first, *second, "@@", " mark ", " head", "+end")

    assert edited.text == "head\nhead\none\nhead\nend\n"


def test_a_hunk_that_begins_above_the_one_before_it_is_refused_where_it_fits_twice() -> None:
    hunks = ("@@", "+b", "-a", "-a", "@@", " a", "+c", "@@", " a", " a", "+d")

    assert "line" in refused("a\na\na\n", *hunks).message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    if x:\n        y()\n", "        z()\n        if w:\n            v()\n"),
        ("def f():\n\tif x:\n\t\ty()\n", "\t\tz()\n\t\tif w:\n\t\t\tv()\n"),
    ],
    ids=["wider", "tabs"],
)
def test_lines_that_are_deeper_than_any_old_one_are_indented_in_the_steps_of_the_file(
    text: str, expected: str
) -> None:
    hunk = (" def f():", "   if x:", "-    y()", "+    z()", "+    if w:", "+      v()")

    edited = attempt(text, "@@", *hunk)

    assert edited.text == text[: text.index("y()")].rstrip("\t ") + expected
    assert "indented as the file is" in edited.warnings[0]


def test_an_added_line_of_unknown_depth_is_told() -> None:
    hunk = ("@@", "     if x:", "-      y()", "+   z()")

    edited = attempt("  if x:\n\ty()\n", *hunk)

    assert edited.text == "  if x:\n   z()\n"
    assert "check their indentation" in edited.warnings[0]


def test_a_hunk_whose_lines_all_stand_above_its_anchor_is_refused() -> None:
    assert "line 1" in refused("a\nmark\nb\n", "@@ mark", " a", "+new").message
    assert attempt("a\nmark\nb\n", "@@ mark", " a", "+new", " mark").text == "a\nnew\nmark\nb\n"
