from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import pytest

from whence.errors import Conflict
from whence.work.edits.unified import Applied, apply, make, parse

MARKER = "\\ No newline at end of file\n"


def patched(diff: str, text: str | None) -> str | None:
    return apply(parse(diff), text).text


def refused(diff: str, text: str | None) -> Conflict:
    with pytest.raises(Conflict) as caught:
        apply(parse(diff), text)
    assert caught.value.suggestion
    return caught.value


def part(details: Mapping[str, object], key: str) -> dict[str, Any]:
    value = details[key]
    assert isinstance(value, dict)
    return value


def numbered(count: int, first: int = 1) -> str:
    return "".join(f"line {number}\n" for number in range(first, first + count))


# --- counts and placement


def test_the_outcome_counts_hunks_and_lines() -> None:
    diff = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n@@ -8,2 +9,1 @@\n h\n-i\n"

    assert apply(parse(diff), "a\nb\nc\nd\ne\nf\ng\nh\ni\n") == Applied(
        text="a\nB\nB2\nc\nd\ne\nf\ng\nh\n",
        hunks_applied=2,
        added=2,
        removed=2,
        offsets=(0, 0),
        warnings=(),
    )


def test_a_hunk_that_moved_is_applied_where_it_fits_and_the_offset_reported() -> None:
    old, new = numbered(30), numbered(30).replace("line 20\n", "line twenty\n")
    done = apply(parse(make(old, new, "x")), numbered(17, 100) + old)

    assert done.text == numbered(17, 100) + new
    assert done.offsets == (17,)
    assert done.warnings == ("hunk 1 applied 17 lines below where it says",)


def test_a_hunk_that_moved_up_says_so() -> None:
    old, new = numbered(30), numbered(30).replace("line 20\n", "line twenty\n")
    done = apply(parse(make(old, new, "x")), old.removeprefix("line 1\n"))

    assert done.warnings == ("hunk 1 applied 1 line above where it says",)


def test_hunks_that_moved_together_are_reported_together() -> None:
    old = numbered(60)
    new = old.replace("line 5\n", "five\n").replace("line 30\n", "").replace("line 50\n", "fifty\n")
    shifted = old.replace("line 15\n", "line 15\nmore\nand more\n")
    done = apply(parse(make(old, new, "x")), shifted)

    assert done.offsets == (0, 2, 2)
    assert done.warnings == ("hunks 2 to 3 applied 2 lines below where they say",)


def test_the_stated_line_wins_over_equal_places() -> None:
    text = "x\ny\n" * 10

    assert patched("@@ -9,2 +9,2 @@\n x\n-y\n+Y\n", text) == "x\ny\n" * 4 + "x\nY\n" + "x\ny\n" * 5


def test_a_hunk_that_fits_in_several_places_but_not_where_it_says_is_ambiguous() -> None:
    error = refused("@@ -2,2 +2,2 @@\n x\n-y\n+Y\n", "x\ny\n" * 3)

    assert error.message == (
        "hunk 1 (line 1 of the diff) is ambiguous: it fits at lines 1, 3 and 5, "
        "and line 2, where it is due, is none of them"
    )
    assert error.details["reason"] == "ambiguous"
    assert error.details["candidates"] == [1, 3, 5]
    assert "Add context lines" in error.suggestion


def test_many_places_are_not_all_listed() -> None:
    error = refused("@@\n x\n-y\n+Y\n", "x\ny\n" * 1000)

    assert "lines 1, 3, 5, 7, 9, 11, 13, 15, 17 and more" in error.message
    assert "does not say at which line" in error.message


def test_a_hunk_without_numbers_is_found_by_its_content() -> None:
    assert patched("@@\n x\n-y\n+Y\n", "y\nx\ny\ny\n") == "y\nx\nY\ny\n"


def test_hunks_without_numbers_are_looked_for_after_one_another() -> None:
    diff = "@@\n b\n-x\n+1\n@@\n-x\n+2\n"

    assert patched(diff, "a\nb\nx\nc\nx\n") == "a\nb\n1\nc\n2\n"


def test_the_shift_of_an_earlier_hunk_moves_the_later_ones() -> None:
    diff = "@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -4,2 +4,2 @@\n-x\n+X\n y\n"
    text = "new\na\nb\nc\nx\ny\nd\nx\ny\n"

    assert patched(diff, text) == "new\nA\nb\nc\nX\ny\nd\nx\ny\n"


def test_a_shift_and_a_number_that_point_to_different_fits_are_ambiguous() -> None:
    diff = "@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -4,1 +4,1 @@\n-x\n+X\n"
    error = refused(diff, "new\na\nb\nx\nx\n")

    assert error.details["reason"] == "ambiguous"
    assert error.details["candidates"] == [4, 5]
    assert "line 5, where it is due, is not the only one" in error.message


def test_a_hunk_that_also_fits_as_far_away_as_the_next_one_moved_is_ambiguous() -> None:
    diff = "@@ -2 +2 @@\n-x\n+y\n@@ -4,2 +4,2 @@\n x\n-end\n+END\n"
    assert patched(diff, "a\nx\na\nx\nend\n") == "a\ny\na\nx\nEND\n"

    error = refused(diff, "b\nx\na\nx\na\nx\nend\n")

    assert error.details["reason"] == "ambiguous"
    assert "lines 2 and 4" in error.message


def test_contexts_of_neighbouring_hunks_may_overlap() -> None:
    diff = "@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n@@ -2,3 +2,3 @@\n b\n c\n-d\n+D\n"

    assert patched(diff, "a\nb\nc\nd\n") == "A\nb\nc\nD\n"


def test_hunks_in_the_wrong_order_are_refused_as_such() -> None:
    error = refused("@@\n-d\n+D\n@@\n-a\n+A\n", "a\nb\nc\nd\n")

    assert error.details["reason"] == "out_of_order"
    assert "hunk 2 (line 4 of the diff) fits only at line 1" in error.message
    assert "before the end of hunk 1" in error.message


def test_blank_lines_alone_are_no_reason_to_move_a_hunk() -> None:
    error = refused("@@ -3,1 +3,2 @@\n \n+new\n", "a\n\nb\n")

    assert error.details["reason"] == "stale"
    assert patched("@@ -2,1 +2,2 @@\n \n+new\n", "a\n\nb\n") == "a\n\nnew\nb\n"


def test_wrong_counts_do_not_hinder_the_application() -> None:
    done = apply(parse("@@ -1,7 +1,9 @@\n a\n-b\n+B\n"), "a\nb\nc\n")

    assert done.text == "a\nB\nc\n"
    assert done.warnings == ("hunk 1 (line 1 of the diff) says -7 +9 lines and has -2 +2",)


def test_context_is_never_dropped() -> None:
    for wrong in range(3):
        context = ["a", "b", "c"]
        context[wrong] = "z"
        diff = "@@ -1,4 +1,4 @@\n" + "".join(f" {line}\n" for line in context) + "-d\n+D\n"
        assert refused(diff, "a\nb\nc\nd\n").details["reason"] == "stale"


def test_a_context_line_is_compared_as_a_whole() -> None:
    diff = "@@ -2,3 +2,3 @@\n a\n-b\n+B\n c\n"

    assert refused(diff, "0\nxa\nb\nc\n").details["reason"] == "stale"
    assert refused(diff, "0\na\nb\ncx\n").details["reason"] == "stale"
    assert patched(diff, "0\nxa\nb\nc\na\nb\nc\n") == "0\nxa\nb\nc\na\nB\nc\n"


# --- insertions without context


def test_an_insertion_without_context_goes_after_its_stated_line() -> None:
    assert patched("@@ -2,0 +3,2 @@\n+x\n+y\n", "a\nb\nc\n") == "a\nb\nx\ny\nc\n"
    assert patched("@@ -3,0 +4 @@\n+x\n", "a\nb\nc\n") == "a\nb\nc\nx\n"


def test_an_insertion_beyond_the_end_is_refused() -> None:
    error = refused("@@ -4,0 +5 @@\n+x\n", "a\nb\nc\n")

    assert error.message == (
        "hunk 1 (line 1 of the diff) adds lines after line 4 without any context, "
        "and the file has only 3 lines"
    )


@pytest.mark.parametrize("first", [True, False])
def test_an_insertion_without_context_is_refused_when_another_hunk_moved(*, first: bool) -> None:
    insertion, change = "@@ -{} +9 @@\n+x\n", "@@ -{} +5 @@\n-e\n+E\n"
    diff = (
        insertion.format("2,0") + change.format(4)
        if first
        else change.format(4) + insertion.format("7,0")
    )
    error = refused(diff, "a\nb\nc\nd\ne\nf\ng\n")

    assert error.details["reason"] == "unchecked"
    assert "another hunk fits only elsewhere" in error.message


def test_a_diff_without_context_may_insert_at_the_top_and_elsewhere() -> None:
    assert patched("@@ -0,0 +1 @@\n+x\n@@ -2 +3 @@\n-b\n+B\n", "a\nb\n") == "x\na\nB\n"


# --- stale hunks


def test_a_stale_hunk_is_refused_with_the_closest_region() -> None:
    old = numbered(50)
    diff = make(old, old.replace("line 30\n", "line thirty\n"), "x")
    error = refused(diff, numbered(4, 90) + old.replace("line 29\n", "line XXIX\n"))

    assert error.message == (
        "hunk 1 (line 3 of the diff) does not fit: line 33 should be 'line 29' and is 'line XXIX'"
    )
    assert error.suggestion == (
        "Read lines 28-40 again and rebuild the hunk from what stands there now."
    )
    assert error.details["reason"] == "stale"
    assert error.details["hunk"] == 1
    assert error.details["expected"] == [f"line {number}" for number in range(27, 34)]
    closest = part(error.details, "closest")
    assert (closest["start"], closest["end"]) == (31, 37)
    assert closest["text"].split("\n")[:3] == ["line 27", "line 28", "line XXIX"]
    assert closest["similarity"] > 90
    assert error.details["first_difference"] == {
        "line": 33,
        "expected": "line 29",
        "found": "line XXIX",
    }


def test_the_closest_region_may_stand_far_above() -> None:
    error = refused("@@ -80,2 +80,2 @@\n line 7\n-line VIII\n+8\n", numbered(90))

    assert error.details["first_difference"] == {
        "line": 8,
        "expected": "line VIII",
        "found": "line 8",
    }


def test_a_difference_in_white_space_is_pointed_out() -> None:
    error = refused("@@ -1,2 +1,2 @@\n a\n-    b = 1\n+    b = 2\n", "a\n\tb = 1\n")

    assert "line 2 should be '    b = 1' and is '\\tb = 1'" in error.message
    assert error.message.endswith("(they differ only in white space)")


def test_a_similar_line_is_found_when_none_is_equal() -> None:
    text = numbered(500) + "def compute_the_total(items):\n" + numbered(500, 1000)
    diff = "@@ -480 +480 @@\n-def compute_total(items):\n+def total(items):\n"
    error = refused(diff, text)

    assert part(error.details, "first_difference")["line"] == 501


def test_a_hunk_that_reaches_beyond_the_end_says_so() -> None:
    error = refused("@@ -1,3 +1,3 @@\n a\n b\n-c\n+C\n", "a\nb\n")

    assert "'c' should be line 3, after the end of the file" in error.message
    assert part(error.details, "first_difference")["found"] is None


def test_a_hunk_that_resembles_nothing_says_so() -> None:
    error = refused("@@ -1 +1 @@\n-some words\n+other words\n", "1\n2\n3\n")

    assert "nothing around it resembles the 1 line that it expects" in error.message
    assert "closest" not in error.details
    assert refused("@@ -1 +1 @@\n-a\n+b\n", "").details["reason"] == "stale"


def test_huge_lines_are_shown_in_part() -> None:
    error = refused("@@ -1,2 +1,2 @@\n a\n-" + "b" * 5000 + "\n+c\n", "a\n" + "d" * 5000 + "\n")

    assert len(error.message) < 800
    assert len(str(error.details)) < 3000


def test_nothing_is_applied_when_a_later_hunk_fails() -> None:
    text = "a\nb\nc\nd\n"
    error = refused("@@ -1 +1 @@\n-a\n+A\n@@ -4 +4 @@\n-z\n+Z\n", text)

    assert error.details["hunk"] == 2


# --- already applied


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (numbered(9), numbered(9).replace("line 5\n", "five\n")),
        (numbered(9), numbered(9).replace("line 5\n", "")),
        (numbered(9), numbered(9).replace("line 5\n", "line 5\nmore\n")),
        (numbered(9), "top\n" + numbered(9)),
        (numbered(9), numbered(9) + "bottom\n"),
        (numbered(9), numbered(9) + "bottom"),
        (numbered(99), numbered(99).replace("3\n", "three\n")),
        ("a\n", "a"),
        ("a", "a\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("", "a\n"),
        (None, "a\n"),
        ("a\n", None),
    ],
)
def test_a_patch_that_was_applied_before_is_refused_as_such(
    old: str | None, new: str | None
) -> None:
    error = refused(make(old, new, "x"), new)

    assert error.details["reason"] == "already_applied"
    assert "the change is already there" in error.message


def test_a_change_is_not_made_elsewhere_when_it_is_already_there() -> None:
    error = refused("@@ -1 +1 @@\n-a\n+b\n", "b\nx\na\n")

    assert error.details["reason"] == "already_applied"
    assert "the change is already there" in error.message


def test_one_hunk_that_is_already_there_is_named() -> None:
    old = numbered(40)
    half = old.replace("line 30\n", "thirty\n")
    error = refused(make(old, half.replace("line 5\n", "five\n"), "x"), half)

    assert error.message == (
        "hunk 2 (line 12 of the diff): the change is already there, at line 27"
    )


def test_a_hunk_that_is_already_there_but_moved_is_named() -> None:
    old = numbered(40)
    half = "top\n" + old.replace("line 30\n", "thirty\n")
    error = refused(make(old, old.replace("line 30\n", "thirty\n") + "end\n", "x"), half)

    assert error.message == ("hunk 1 (line 3 of the diff): the change is already there, at line 28")


def test_lines_without_context_below_are_not_added_twice() -> None:
    error = refused("@@ -1,1 +1,2 @@\n import a\n+import b\n", "import a\nimport b\nx\n")

    assert error.details["reason"] == "already_applied"
    assert "context lines above and below" in error.suggestion


def test_context_that_remains_does_not_make_a_stale_deletion_look_applied() -> None:
    error = refused("@@ -1,2 +1 @@\n a\n-b\n", "a\nb2\n")

    assert error.details["reason"] == "stale"


def test_equal_lines_elsewhere_do_not_make_a_stale_change_look_applied() -> None:
    error = refused("@@ -1 +1 @@\n-call_one()\n+call_two()\n", "call_1()\nx\ncall_two()\n")

    assert error.details["reason"] == "stale"
    assert part(error.details, "first_difference")["found"] == "call_1()"


# --- creation and deletion


CREATION = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n"


@pytest.mark.parametrize("diff", [CREATION, "@@ -0,0 +1,2 @@\n+a\n+b\n", "@@\n+a\n+b\n"])
@pytest.mark.parametrize("text", [None, ""])
def test_a_file_is_created(diff: str, text: str | None) -> None:
    assert patched(diff, text) == "a\nb\n"
    assert patched(diff + MARKER, text) == "a\nb"


@pytest.mark.parametrize("diff", [CREATION, "@@ -0,0 +1,2 @@\n+a\n+b\n", "@@\n+a\n+b\n"])
def test_a_file_with_content_is_not_created_again(diff: str) -> None:
    error = refused(diff, "x\n")

    assert error.details["reason"] == "exists"
    assert "it exists and has 1 line" in error.message


def test_an_empty_file_is_created_and_deleted() -> None:
    assert patched(make(None, "", "x"), None) == ""
    assert patched(make("", None, "x"), "") is None
    assert refused(make(None, "", "x"), "").details["reason"] == "already_applied"
    assert refused(make("", None, "x"), "a\n").details["reason"] == "stale"


def test_an_absent_file_is_not_changed() -> None:
    assert refused("@@ -1 +1 @@\n-a\n+b\n", None).details["reason"] == "missing"
    assert refused("@@ -1,0 +2 @@\n+b\n", None).details["reason"] == "missing"


def test_a_file_is_deleted_when_all_of_it_is_shown() -> None:
    diff = "--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    done = apply(parse(diff), "a\r\nb")

    assert (done.text, done.removed) == (None, 2)
    error = refused(diff, "a\nb\nc\n")
    assert error.message == (
        "the diff deletes a file of 2 lines, but the file has 3 lines and differs from line 3 on"
    )
    assert refused(diff, "a\n").details["reason"] == "stale"


def test_removing_all_lines_leaves_an_empty_file() -> None:
    assert patched("--- a/x\n+++ b/x\n@@ -1,2 +0,0 @@\n-a\n-b\n", "a\nb\n") == ""


# --- line endings


@pytest.mark.parametrize(
    ("diff", "text", "result"),
    [
        # an LF diff leaves a CRLF file a CRLF file
        (" a\n-b\n+B\n+B2\n c\n", "a\r\nb\r\nc\r\n", "a\r\nB\r\nB2\r\nc\r\n"),
        (" a\n+x\n b\n", "a\r\nb\r\n", "a\r\nx\r\nb\r\n"),
        ("+x\n a\n", "a\r\nb\r\n", "x\r\na\r\nb\r\n"),
        # a CRLF diff leaves an LF file an LF file
        (" a\r\n-b\r\n+B\r\n c\r\n", "a\nb\nc\n", "a\nB\nc\n"),
        # in a mixed file the replaced line decides, else the line above, else the one below
        (" a\n-b\n+B\n+B2\n c\n", "a\nb\r\nc\n", "a\nB\r\nB2\r\nc\n"),
        (" a\n+x\n b\n", "a\r\nb\n", "a\r\nx\r\nb\n"),
        # a diff that knows the endings of the file is taken at its word
        (" a\r\n-b\r\n+b\n c\r\n", "a\r\nb\r\nc\r\n", "a\r\nb\nc\r\n"),
        (" a\n+x\r\n b\n", "a\nb\n", "a\nx\r\nb\n"),
        # a change of nothing but the ending is made although the context is wrong about its own
        (" a\n-b\r\n+b\n c\n", "a\r\nb\r\nc\r\n", "a\r\nb\nc\r\n"),
        (" a\r\n-b\n+b\r\n", "a\nb\n", "a\nb\r\n"),
        # only LF ends a line
        (
            " a\x0cb\u2028c\x85d\n-e\rf\n+g\rh\n",
            "a\x0cb\u2028c\x85d\ne\rf\n",
            "a\x0cb\u2028c\x85d\ng\rh\n",
        ),
        (" a\r\r\n-b\r\n", "a\r\r\nb\r\n", "a\r\r\n"),
    ],
)
def test_line_endings_follow_the_file_unless_the_diff_knows_them(
    diff: str, text: str, result: str
) -> None:
    assert patched("@@\n" + diff, text) == result


@pytest.mark.parametrize(
    ("diff", "text", "result"),
    [
        (f" a\n-b\n{MARKER}+c\n{MARKER}", "a\nb", "a\nc"),
        (f" a\n-b\n{MARKER}+c\n", "a\nb", "a\nc\n"),
        (f" a\n-b\n+c\n{MARKER}", "a\nb\n", "a\nc"),
        (f"-a\n b\n{MARKER}", "a\nb", "b"),
        (f" a\n-b\n{MARKER}", "a\nb", "a\n"),
        # a diff without markers leaves the end of the file as it is
        (" a\n-b\n+c\n", "a\nb", "a\nc"),
        (" a\n b\n+c\n", "a\nb", "a\nb\nc"),
        (" a\n b\n+c\n", "a\r\nb", "a\r\nb\r\nc"),
        (" a\n-b\n", "a\nb", "a\n"),
        ("-a\n+A\n b\n", "a\nb", "A\nb"),
        ("-a\n-b\n", "a\nb", ""),
        (" a\n+x\n b\n", "a\r\nb", "a\r\nx\r\nb"),
        # markers that are wrong about the old file still say what the new one ends with
        (f" a\n-b\n{MARKER}+c\n", "a\nb\n", "a\nc\n"),
        (f" a\n-b\n{MARKER}+c\n{MARKER}", "a\nb\n", "a\nc"),
        (f" a\n-b\n+c\n{MARKER}", "a\nb", "a\nc"),
        (f" a\n-b\n{MARKER}+c\n{MARKER}", "a\r\nb\r\n", "a\r\nc"),
        # a CR at the very end belongs to the text
        (f" a\n-b\r\n{MARKER}+c\r\n{MARKER}", "a\nb\r", "a\nc\r"),
        (f" a\n-b\n+c\r\n{MARKER}", "a\r\nb", "a\r\nc\r"),
    ],
)
def test_a_missing_newline_at_the_end_is_kept_made_or_filled_as_said(
    diff: str, text: str, result: str
) -> None:
    assert patched("@@\n" + diff, text) == result


def test_a_marker_pins_the_hunk_to_the_end_of_the_file() -> None:
    error = refused(f"@@ -1 +1 @@\n-a\n+b\n{MARKER}", "a\nx\n")

    assert error.details["reason"] == "not_at_end"
    assert "its lines stand at line 1 of 2 lines" in error.message
    assert patched(f"@@ -1 +1 @@\n-a\n+b\n{MARKER}", "a\nx\na\n") == "a\nx\nb"


def test_an_insertion_without_context_ends_like_the_line_above() -> None:
    assert patched("@@ -1,0 +2 @@\n+x\n", "a\r\nb\n") == "a\r\nx\r\nb\n"
    assert patched("@@ -2,0 +3 @@\n+x\n", "a\r\nb") == "a\r\nb\r\nx"


def test_a_new_file_gets_the_endings_of_the_diff() -> None:
    assert patched("--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\r\n+b\n", None) == "a\r\nb\n"


# --- cost


def calls(action: Callable[[], object]) -> int:
    """How many function calls, of Python and C, an action makes."""
    count = 0

    def tick(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(tick)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("body", [" x\n-y\n+z\n x\n", " x\n-x\n+z\n x\n", "-w\n+z\n"])
@pytest.mark.parametrize("header", ["@@ -{0},3 +{0},3 @@\n", "@@\n"])
def test_a_repetitive_file_costs_a_failing_patch_no_more_calls_than_a_small_one(
    header: str, body: str
) -> None:
    hunks = "".join(header.format(10**6 + 9 * number) + body for number in range(200))
    patch = parse(hunks)

    def attempt(lines: int) -> Callable[[], object]:
        text = "x\n" * lines
        return lambda: refused_patch(text)

    def refused_patch(text: str) -> None:
        with pytest.raises(Conflict):
            apply(patch, text)

    assert calls(attempt(20_000)) <= 2 * calls(attempt(2_000))


def test_hunks_that_all_moved_cost_no_more_calls_in_a_longer_file() -> None:
    def moved(gap: int) -> Callable[[], object]:
        old = [f"line {number}" for number in range(100 * gap)]
        new = [f"{line}!" if number % gap == gap // 2 else line for number, line in enumerate(old)]
        patch = parse(make("\n".join(old), "\n".join(new), "x"))
        shifted = [
            part for line in old for part in ([line, "-"] if line.endswith("00") else [line])
        ]
        text = "\n".join(shifted)
        return lambda: apply(patch, text)

    assert calls(moved(100)) <= 2 * calls(moved(20))
