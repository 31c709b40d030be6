from __future__ import annotations

import pytest

from whence.work.edits import v4a
from whence.work.edits.v4a import report
from whence.work.edits.v4a.apply import spans
from whence.work.edits.v4a.scopes import Scopes

pytestmark = pytest.mark.requirement("v4a:report")


def snippet(text: str, *lines: str, path: str = "f.py") -> str:
    patch = "\n".join(["*** Begin Patch", f"*** Update File: {path}", *lines, "*** End Patch"])
    (section,) = v4a.parse(patch).sections
    assert isinstance(section, v4a.Update)
    edited = v4a.apply(section, text)
    places = spans(section.hunks, edited.spots)
    old, new = text.splitlines(), edited.text.splitlines()
    return report.updated(path, old, new, places, moved=False).snippet


def test_a_whole_text_has_a_block_for_each_file() -> None:
    assert report.whole_text([("a.txt", "A"), ("b.txt", "B")]) == (
        f"✅ Patch applied successfully!\n\n┏━[ a.txt ]{'-' * 70}\nA\n\n┏━[ b.txt ]{'-' * 70}\nB\n"
    )


def test_a_small_new_file_is_shown_and_a_large_one_is_not() -> None:
    assert report.added(["apple", "banana"]).snippet == (
        "Addition of file successful.\no:   - n:   1 | +apple\no:   - n:   2 | +banana"
    )
    assert report.added(["x"] * 21).snippet == "Addition of file successful."
    assert report.deleted().snippet == "Deletion of file successful."


def test_two_changes_are_two_hunks_with_what_lies_between() -> None:
    text = "".join(f"{letter}\n" for letter in "abcdefghi")

    assert snippet(text, "@@", "-d", "+D", "@@", "-h", "+H").split("\n") == [
        "Update of file successful. 2 insertions, 2 deletions, 2 hunks.",
        "[hunk 1/2]",
        "o:   3 n:   3 |  c",
        "o:   4 n:   - | -d",
        "o:   - n:   - | ~ replaced by ~",
        "o:   - n:   4 | +D",
        "o:   5 n:   5 |  e",
        "o:   - n:   - | ... 1 unchanged line ...",
        "[hunk 2/2]",
        "o:   7 n:   7 |  g",
        "o:   8 n:   - | -h",
        "o:   - n:   - | ~ replaced by ~",
        "o:   - n:   8 | +H",
        "o:   9 n:   9 |  i",
    ]


def test_changes_whose_context_touches_are_one_hunk() -> None:
    assert snippet("a\nb\nc\nd\n", "@@", "-a", "@@", "+x", " d").split("\n") == [
        "Update of file successful. 1 insertion, 1 deletion, 1 hunk.",
        "[hunk 1/1]",
        "o:   1 n:   - | -a",
        "o:   2 n:   1 |  b",
        "o:   3 n:   2 |  c",
        "o:   - n:   3 | +x",
        "o:   4 n:   4 |  d",
    ]


def test_lines_that_a_hunk_removes_and_adds_again_are_no_change() -> None:
    assert snippet("a\nb\n", "-a", "-b", "+a", "+c") == (
        "Update of file successful. 1 insertion, 1 deletion, 1 hunk.\n"
        "[hunk 1/1]\n"
        "o:   1 n:   1 |  a\n"
        "o:   2 n:   - | -b\n"
        "o:   - n:   - | ~ replaced by ~\n"
        "o:   - n:   2 | +c"
    )
    assert snippet("a\nb\n", "-a", "+a") == "Update of file successful."


@pytest.mark.parametrize(
    ("text", "scopes"),
    [
        ("class A:\n    def f(self):\n        x\n", ["class A:", "def f(self):"]),
        (
            "export class A {\n  run(a: T): void {\n    x\n",
            ["export class A {", "run(a: T): void {"],
        ),
        (
            "public class A {\n    public int f(int a) {\n        x\n",
            ["public class A {", "public int f(int a) {"],
        ),
        ("package main\n\nfunc f() {\n\tx\n", ["package main", "func f() {"]),
        ("int f(void) {\n    x\n", ["int f(void) {"]),
        (
            "class A {\npublic:\n    int f() const {\n        x\n",
            ["class A {", "int f() const {"],
        ),
        ("export default class A {\n  x\n", ["export default class A {"]),
        ("def f():\n    pass\n\n\nx\n", []),
        (
            "class A:\n    def f(self):\n        if (a):\n            x\n",
            ["class A:", "def f(self):"],
        ),
        ("# not a heading here\nx\n", []),
    ],
    ids=range(10),
)
def test_scopes_are_named_outermost_first(text: str, scopes: list[str]) -> None:
    changed = text.splitlines()[-1]
    shown = snippet(text, f"-{changed}", f"+{changed}y").split("\n")

    assert [line for line in shown if line.startswith("@")] == [
        f"@ scope[{number}]: {scope}" for number, scope in enumerate(scopes, 1)
    ]


def test_headings_are_scopes_in_markdown() -> None:
    shown = snippet("# Top\n\n## Use\n\nx\n", "-x", "+y", path="README.md")

    assert "@ scope[1]: ## Use" in shown


def test_long_lines_are_cut() -> None:
    assert len(snippet("a\n", "-a", "+" + "x" * 100_000)) < 1_000


@pytest.mark.requirement("v4a:bounded")
def test_the_scopes_of_many_hunks_are_found_by_reading_each_line_once() -> None:
    class Counted(list[str]):
        reads = 0

        def __getitem__(self, key: object) -> object:  # type: ignore[override]
            self.reads += isinstance(key, int)
            return super().__getitem__(key)  # type: ignore[call-overload]

    lines = Counted([f"    x{number}" for number in range(10_000)])
    scopes = Scopes(lines)

    assert all(scopes.enclosing(at, at + 1) == [] for at in range(0, 10_000, 5))
    assert lines.reads <= len(lines)


def test_scopes_are_the_same_in_whatever_order_they_are_asked_for() -> None:
    lines = [
        ("class C:", "    def f(self):", "        x", "", "y = 1")[at % 5] for at in range(100)
    ]
    forwards, backwards = Scopes(lines), Scopes(lines)
    places = range(len(lines))

    found = {at: forwards.enclosing(at, at + 1) for at in places}

    assert {at: backwards.enclosing(at, at + 1) for at in reversed(places)} == found
    assert [scope.text for scope in found[52]] == ["class C:", "def f(self):"]
