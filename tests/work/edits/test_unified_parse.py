from __future__ import annotations

import pytest

from whence.errors import InvalidArgs
from whence.work.edits.unified import Patch, make, parse

BODY = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"


def refused(diff: str) -> InvalidArgs:
    with pytest.raises(InvalidArgs) as caught:
        parse(diff)
    assert caught.value.suggestion
    return caught.value


def sides(patch: Patch) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(hunk.old, hunk.new) for hunk in patch.hunks]


@pytest.mark.parametrize(
    ("header", "paths"),
    [
        ("", (None, None)),
        ("--- a/x.py\n+++ b/x.py\n", ("x.py", "x.py")),
        ("--- a/x.py\r\n+++ b/x.py\r\n", ("x.py", "x.py")),
        ("--- x.py\n+++ x.py\n", ("x.py", "x.py")),
        ("--- a/x.py\n+++ a/x.py\n", ("a/x.py", "a/x.py")),
        ("--- i/x.py\n+++ w/x.py\n", ("x.py", "x.py")),
        ("--- old/x.py\n+++ new/x.py\n", ("old/x.py", "new/x.py")),
        ("--- a/x y.py\t2024-01-01 00:00:00\n+++ b/x y.py\t\n", ("x y.py", "x y.py")),
        ('--- "a/\\303\\244\\t\\"q\\".py"\n+++ "b/\\303\\244\\t\\"q\\".py"\n', ('ä\t"q".py',) * 2),
        ("diff --git a/x b/x\nindex 12ab..34cd 100644\n--- a/x\n+++ b/x\n", ("x", "x")),
        ("diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n", ("x", "y")),
        ("Index: x.py\n=======\n--- x.py\t(revision 1)\n+++ x.py\t(copy)\n", ("x.py", "x.py")),
        ("From: somebody\nSubject: a change\n\n---\n x | 2 +-\n\n--- a/x\n+++ b/x\n", ("x", "x")),
    ],
)
def test_headers_of_every_kind_give_the_paths(
    header: str, paths: tuple[str | None, str | None]
) -> None:
    patch = parse(header + BODY)

    assert (patch.old_path, patch.new_path) == paths
    assert sides(patch) == [(("a", "b", "c"), ("a", "B", "c"))]
    assert (patch.creates, patch.deletes, patch.warnings) == (False, False, ())


def test_a_name_that_needs_quotes_survives_make_and_parse() -> None:
    for name in ["x", "dir/x y", 'q"\\', "tab\tnewline\n", "ä/ü", "\udc80raw", "a/b"]:
        for old, new in [("1\n", "2\n"), (None, "")]:
            patch = parse(make(old, new, name))

            assert (patch.old_path, patch.new_path) == (name, name)


def test_dev_null_and_git_modes_say_creation_and_deletion() -> None:
    created = parse("--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n")
    deleted = parse("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n")
    empty = parse("diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n")
    gone = parse("diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n")

    assert (created.creates, created.deletes) == (True, False)
    assert (created.old_path, created.new_path) == (None, "x")
    assert (deleted.creates, deleted.deletes) == (False, True)
    assert (deleted.old_path, deleted.new_path) == ("x", None)
    assert (empty.creates, empty.new_path, empty.hunks) == (True, "x", ())
    assert (gone.deletes, gone.old_path, gone.hunks) == (True, "x", ())


@pytest.mark.parametrize(
    "text",
    [
        f"```diff\n--- a/x\n+++ b/x\n{BODY}```\n",
        f"Here is the change:\n\n```diff\n{BODY}```\n\nIt renames b.\n- and that is all\n",
        f"~~~~ diff\n{BODY}~~~~",
        f"```\n{BODY}\n```",
        f"{BODY}\nThat is all.\n",
        f"{BODY}-- \n2.39.5\n\n",
        f"{BODY}\n\n   \n",
        f"```python\nprint()\n```\nand\n```diff\n{BODY}```",
    ],
)
def test_a_fence_and_prose_around_the_diff_are_ignored(text: str) -> None:
    assert sides(parse(text)) == [(("a", "b", "c"), ("a", "B", "c"))]
    assert parse(text).warnings == ()


def test_omitted_counts_mean_one_and_a_section_is_ignored() -> None:
    patch = parse("@@ -7 +7 @@ def f(): @@\n-a\n+b\n")

    assert (patch.hunks[0].old_at, patch.hunks[0].new_at) == (6, 6)
    assert patch.warnings == ()


@pytest.mark.parametrize("header", ["@@", "@@ @@", "@@ ... @@", "@@ def f():"])
def test_an_at_line_without_numbers_leaves_the_place_open(header: str) -> None:
    patch = parse(f"{header}\n a\n-b\n+B\n\n{header}\n c\n-d\n")

    assert [hunk.old_at for hunk in patch.hunks] == [None, None]
    assert sides(patch) == [(("a", "b"), ("a", "B")), (("c", "d"), ("c",))]
    assert patch.warnings == ()


@pytest.mark.parametrize("counts", ["-1,9 +1,9", "-1,2 +1,2", "-1 +1", "-1,0 +1,0", "-1,3 +1,7"])
def test_wrong_counts_are_accepted_with_a_warning(counts: str) -> None:
    patch = parse(f"--- a/x\n+++ b/x\n@@ {counts} @@\n a\n-b\n+B\n c\n@@ -9,2 +9 @@\n d\n-e\n")

    assert sides(patch) == [(("a", "b", "c"), ("a", "B", "c")), (("d", "e"), ("d",))]
    assert len(patch.warnings) == 1
    assert "hunk 1 (line 3 of the diff) says" in patch.warnings[0]
    assert "has -3 +3" in patch.warnings[0]


def test_counts_decide_what_looks_like_a_header() -> None:
    patch = parse("@@ -1,3 +1,3 @@\n a\n--- x\n+++ y\n c\n@@ -9 +9 @@\n-- \n+2.0\n")

    assert sides(patch) == [(("a", "-- x", "c"), ("a", "++ y", "c")), (("- ",), ("2.0",))]


def test_empty_lines_are_blank_context_while_the_counts_want_them() -> None:
    patch = parse("@@ -1,5 +1,5 @@\n a\n\n-b\n+B\n c\n\n\n\n")

    assert patch.hunks[0].old == ("a", "", "b", "c", "")
    assert patch.warnings == ()


def test_empty_lines_at_the_end_are_no_context_when_the_counts_are_wrong() -> None:
    patch = parse("@@ -1,9 +1,9 @@\n a\n\n-b\n+B\n\n\n@@ -20 +20 @@\n-x\n+y\n\n")

    assert patch.hunks[0].old == ("a", "", "b")
    assert patch.hunks[1].old == ("x",)


def test_a_stripped_blank_line_at_the_end_of_the_diff_is_only_a_warning() -> None:
    patch = parse("@@ -1,3 +1,3 @@\n-a\n+A\n b\n".rstrip("\n"))

    assert patch.hunks[0].old == ("a", "b")
    assert len(patch.warnings) == 1


def test_no_newline_markers_are_kept_apart_for_old_and_new() -> None:
    marker = "\\ No newline at end of file\n"
    both = parse(f"@@ -1 +1 @@\n-a\n{marker}+b\n{marker}").hunks[0]
    old = parse(f"@@ -1 +1 @@\n-a\n{marker}+b\n").hunks[0]
    new = parse(f"@@ -1 +1 @@\n-a\n+b\n{marker}").hunks[0]
    context = parse(f"@@ -1,2 +1 @@\n-a\n b\n{marker}").hunks[0]

    found = [(hunk.old_unterminated, hunk.new_unterminated) for hunk in (both, old, new, context)]
    assert found == [(True, True), (True, False), (False, True), (True, True)]


def test_a_diff_sent_with_crlf_means_the_same() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n a\n\n-b\n\\ No newline at end of file\n"
    patch = parse(diff.replace("\n", "\r\n"))

    assert patch.hunks[0].old == ("a\r", "\r", "b")
    assert patch.hunks[0].old_keys == ("a", "", "b")
    assert patch.new_path == "x"


@pytest.mark.parametrize(
    ("diff", "line", "problem"),
    [
        (f"--- a/x\n+++ b/x\n{BODY}--- a/y\n+++ b/y\n{BODY}", 8, "second file header"),
        (f"--- a/x\n+++ b/x\n{BODY}--- a/x\n+++ b/x\n{BODY}", 8, "second file header"),
        (f"--- a/x\n+++ b/x\n--- a/y\n+++ b/y\n{BODY}", 3, "second file header"),
        (f"diff --git a/x b/x\n{BODY}diff --git a/y b/y\n{BODY}", 7, "second file header"),
        ("diff --git a/x b/x\nnew file mode 1\ndiff --git a/y b/y\n", 3, "second file header"),
        ("@@ -1,9 +1,9 @@\n a\n-b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", 4, "second file"),
        ("@@ -1,3 +1,3 @@\n a\nb\n-c\n+d\n", 3, "inside a hunk"),
        ("@@ -1,3 +1,3 @@\n a\n\rb\n-c\n+d\n", 3, "inside a hunk"),
        (f"{BODY}unprefixed\n", 6, "follows a hunk"),
        (f"{BODY}\nand then\n\n{BODY}", 7, "between two parts"),
        (f"```\n{BODY}```\n```\n{BODY}```\n", 7, "between two parts"),
        ("--- a/x\n+++ b/x\n-a\n+b\n", 3, "between the file header and the first @@"),
        ("@@ -1,x +1 @@\n-a\n+b\n", 1, "not a hunk header"),
        ("@@@ -1,2 -1,2 +1,3 @@@\n- a\n", 1, "not a hunk header"),
        ("@@ -1,2 +1,2 @@\n a\n b\n", 1, "changes nothing"),
        ("@@ -1 +1 @@\n-a\n+a\n", 1, "changes nothing"),
        ("@@ -1 +1 @@\n", 1, "changes nothing"),
        ("@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", 2, "follows no line"),
        ("@@ -1,2 +1 @@\n a\n\\ No newline at end of file\n-b\n", 4, "said to end the file"),
        ("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", 1, "names no file"),
        ("--- /dev/null\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n", 3, "the file is new"),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n@@ -0,0 +3 @@\n+b\n", 5, "only one"),
        ("--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n a\n-b\n", 3, "the file is deleted"),
        ("@@ -1 +1 @@\n-a\n+b\n@@\n+c\n", 4, "neither context nor a usable position"),
        ("@@ -1 +1 @@\n-a\n+b\n@@ -5,2 +5,3 @@\n+c\n", 4, "neither context nor a usable"),
        ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", 2, "binary"),
    ],
)
def test_a_malformed_diff_is_refused_and_its_line_named(diff: str, line: int, problem: str) -> None:
    error = refused(diff)

    assert error.details["line"] == line
    assert f"line {line} of the diff" in error.message
    assert problem in error.message
    assert repr(diff.split("\n")[line - 1]) in error.message


@pytest.mark.parametrize("diff", ["", "\n\n", "just words", "--- a/x\n+++ b/x\n"])
def test_a_diff_without_hunks_is_refused(diff: str) -> None:
    assert repr(diff) in refused(diff).message


def test_a_diff_that_only_renames_is_refused_as_such() -> None:
    diff = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"

    assert "only renames or copies" in refused(diff).message


def test_equal_texts_make_no_diff() -> None:
    assert make("a\n", "a\n", "x") == make(None, None, "x") == ""


def test_a_very_long_bad_line_is_shown_in_part() -> None:
    error = refused("@@ -1 +1 @@\n" + "z" * 10_000 + "\n")

    assert len(error.message) < 300
