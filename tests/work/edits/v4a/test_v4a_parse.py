from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import InvalidArgs
from whence.work.edits.v4a import APPLY_PATCH_GRAMMAR, Add, Delete, Patch, Update, parse


def wrapped(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def only_update(text: str) -> Update:
    (section,) = parse(text).sections
    assert isinstance(section, Update)
    return section


@pytest.mark.requirement("v4a:grammar")
def test_every_kind_of_section_is_read_in_order() -> None:
    patch = parse(
        wrapped(
            "*** Add File: new.txt", "+one", "+", "+two",
            "*** Delete File: old.txt",
            "*** Update File: a b.py", "*** Move to: c/d.py",
            "@@ class A:", "@@     def f(self):", " kept", "-gone", "+come", "*** End of File",
        )
    )  # fmt: skip

    add, delete, update = patch.sections
    assert add == Add("new.txt", 2, "one\n\ntwo\n")
    assert delete == Delete("old.txt", 6)
    assert isinstance(update, Update)
    assert (update.path, update.move_to, update.line) == ("a b.py", "c/d.py", 7)
    (hunk,) = update.hunks
    assert hunk.anchors == ("class A:", "    def f(self):")
    assert (hunk.signs, hunk.lines, hunk.ends_file) == (" -+", ["kept", "gone", "come"], True)
    assert (hunk.old, hunk.new, hunk.line) == (["kept", "gone"], ["kept", "come"], 11)


@pytest.mark.requirement("v4a:grammar")
@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "expected '*** Begin Patch'"),
        ("Sure! Here it is\n*** Begin Patch\n*** End Patch", 1, "'Sure! Here it is'"),
        ("*** Begin Patch\n*** Delete File: x", 2, "and not with '*** End Patch'"),
        (wrapped(), 2, "names no file"),
        (wrapped("*** Frobnicate File: foo"), 2, "'*** Frobnicate File: foo' is no file header"),
        (wrapped("*** Add File:"), 2, "names no file"),
        (wrapped("*** Add File: x", "+a", "", "+b"), 4, "'' stands inside the new file 'x'"),
        (wrapped("*** Add File: x", "+a", "b"), 4, "'b' stands inside"),
        (wrapped("*** Update File: foo.txt"), 2, "'foo.txt' changes nothing"),
        (wrapped("*** Update File: x", "stray"), 3, "'stray' begins with neither"),
        (wrapped("*** Update File: x", "@@ def f():"), 3, "no lines follow the anchor 'def f():'"),
        (wrapped("*** Update File: x", "*** End of File"), 3, "follows no lines"),
        (wrapped("*** Update File: x", "-a", "*** End of File", "-b"), 5, "follows the end"),
        (wrapped("*** Delete File: x", "-a"), 3, "no file is being changed"),
        (wrapped("*** Delete File: x", "*** End Patch", "*** Delete File: y"), 3, "lines follow"),
        (wrapped("*** Update File: x", "*** Move to:", "-a"), 3, "names no file"),
    ],
    ids=range(16),
)
def test_what_is_wrong_is_named_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(InvalidArgs) as caught:
        parse(text)

    assert caught.value.message.startswith(f"Syntax error at line {line}: ")
    assert says in caught.value.message
    assert caught.value.details["line"] == line
    assert caught.value.suggestion


CHANGE = ["*** Update File: x", "@@", "-a", "+b"]


@pytest.mark.requirement("v4a:forgiving")
@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + wrapped(*CHANGE),
        wrapped(*CHANGE).replace("\n", "\r\n"),
        "\n\n  " + wrapped(*CHANGE).replace("End Patch", "End Patch \t") + "\n\t\n",
        wrapped("  *** Update File: x  ", *CHANGE[1:]),
        "<<'EOF'\n" + wrapped(*CHANGE) + "EOF\n",
        'apply_patch <<"END"\n' + wrapped(*CHANGE) + "END",
        "```diff\n" + wrapped(*CHANGE) + "```\n",
        "```\n<<EOF\n" + wrapped(*CHANGE) + "EOF\n```",
        wrapped("", *CHANGE, ""),
        wrapped(*CHANGE, "***"),
        wrapped(*CHANGE, "@@"),
        wrapped("*** Update File: x", "@@", "@@", "-a", "+b", "@@", "@@"),
        wrapped("*** Update File: x", "", "-a", "+b"),
        wrapped("*** Update File: x", "@@ -1,2 +1,2 @@ def f():", "-a", "+b"),
        wrapped(*CHANGE, "\\ No newline at end of file"),
    ],
    ids=range(15),
)
def test_what_is_around_the_lines_is_forgiven(text: str) -> None:
    update = only_update(text)

    assert (update.path, update.move_to) == ("x", None)
    (hunk,) = update.hunks
    assert (hunk.signs, hunk.lines, hunk.anchors) == ("-+", ["a", "b"], ())


@pytest.mark.requirement("v4a:forgiving")
def test_an_anchor_needs_no_space_and_may_be_closed() -> None:
    update = only_update(wrapped("*** Update File: x", "@@def f():", "-a", "@@ class B @@", "-b"))

    assert [hunk.anchors for hunk in update.hunks] == [("def f():",), ("class B",)]


@pytest.mark.requirement("v4a:forgiving")
def test_an_empty_line_inside_a_hunk_is_blank_context_and_below_it_a_gap() -> None:
    update = only_update(wrapped("*** Update File: x", "@@", " a", "", "-b", "", "", "@@", "-c"))

    first, second = update.hunks
    assert (first.signs, first.old) == ("  -", ["a", "", "b"])
    assert second.old == ["c"]


@pytest.mark.requirement("v4a:forgiving")
def test_a_line_without_a_sign_goes_on_like_the_one_before_with_a_warning() -> None:
    patch = parse(wrapped("*** Update File: w.txt", "@@", "-beta", "+BE", "TA", "@@"))

    (section,) = patch.sections
    assert isinstance(section, Update)
    assert (section.hunks[0].signs, section.hunks[0].new) == ("-++", ["BE", "TA"])
    assert patch.warnings == (
        "line 6 of the patch, 'TA', has no sign; it was taken as added, like the line before it",
    )


def test_markers_with_a_sign_are_lines_of_a_file() -> None:
    lines = ["@@", " *** Begin Patch", "-*** End Patch", "+*** Update File: y", " @@ x"]
    (hunk,) = only_update(wrapped("*** Update File: x", *lines)).hunks

    assert hunk.old == ["*** Begin Patch", "*** End Patch", "@@ x"]
    assert hunk.new == ["*** Begin Patch", "*** Update File: y", "@@ x"]


PARTS = """\
*** Begin Patch|*** End Patch|*** Add File: a|*** Update File: b|*** Delete File: c|*** Move to: d\
|*** End of File|***||@@|@@ x|@@x| |+1|-2| 3|4|+\r| \r\r|\\ No newline|```|<<EOF|EOF"""


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(PARTS.split("|")), max_size=12))
def test_any_text_is_a_patch_or_a_syntax_error(lines: list[str]) -> None:
    for text in ("\n".join(lines), wrapped(*lines)):
        try:
            found: object = parse(text)
        except InvalidArgs as error:
            found = error
        assert isinstance(found, Patch) or str(found).startswith("Syntax error at line ")


@pytest.mark.requirement("v4a:grammar")
def test_the_grammar_names_every_marker_and_every_rule_that_it_uses() -> None:
    for marker in ("Begin Patch", "End Patch", "Add File: ", "Delete File: ", "Update File: ",
                   "Move to: ", "End of File"):  # fmt: skip
        assert f'"*** {marker}"' in APPLY_PATCH_GRAMMAR
    defined = {line.partition(":")[0] for line in APPLY_PATCH_GRAMMAR.splitlines() if ":" in line}
    assert {"start", "section", "creation", "removal", "revision", "hunks", "LF"} <= defined
