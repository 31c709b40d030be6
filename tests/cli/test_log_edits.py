"""`whence log undo` and `whence log diff`, as a user runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from tests.cli.conftest import Command

UNDO = pytest.mark.requirement("edits:undo")
DIFF = pytest.mark.requirement("edits:diff")


@pytest.fixture
def edited(whence: Command) -> Command:
    """A session `s` that changed a.txt twice and made d/b.txt."""
    (whence.workspace / "a.txt").write_text("".join(f"{n}\n" for n in range(30)))
    s = ("--session", "s")
    whence.call("fs.read", *s, path="a.txt")
    for line, why in ((2, "Spell out the two"), (25, "Spell out \x1b[31mthe\n25")):
        diff = f"@@ -{line + 1} +{line + 1} @@\n-{line}\n+new {line}\n"
        assert whence.call("fs.patch", *s, path="a.txt", diff=diff, why=why).code == 0
    assert whence.call("fs.write", *s, path="d/b.txt", content="b\n").json["warnings"] == []
    return whence


@DIFF
def test_the_diff_shows_each_hunk_with_its_call_and_its_why(edited: Command) -> None:
    shown = edited("log", "diff", "--session", "s")

    assert shown.code == 0
    assert "#   call-002 fs.patch: Spell out the two\n" in shown.out
    assert "@@ -1,6 +1,6 @@ call-002: Spell out the two\n" in shown.out
    assert "call-003: Spell out \N{REPLACEMENT CHARACTER}[31mthe 25\n" in shown.out
    assert "new file mode 100644\n--- /dev/null\n+++ b/d/b.txt\n@@ -0,0 +1 @@" in shown.out


@DIFF
@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch program here")
def test_patch_takes_the_diff_as_it_is(edited: Command) -> None:
    shown = edited("log", "diff")
    back = ["patch", "-p1", "--reverse", "--no-backup-if-mismatch"]
    done = subprocess.run(
        back, input=shown.out.encode(), cwd=edited.workspace, capture_output=True, check=False
    )

    assert done.returncode == 0, done.stdout
    assert (edited.workspace / "a.txt").read_text() == "".join(f"{n}\n" for n in range(30))
    assert not (edited.workspace / "d/b.txt").exists()


@DIFF
def test_the_diff_as_json_has_one_file_per_line(edited: Command) -> None:
    first, second = map(json.loads, edited("log", "diff", "--format", "json").out.splitlines())

    assert (first["path"], second["path"]) == ("a.txt", "d/b.txt")
    assert [hunk["causes"][0]["call_id"] for hunk in first["hunks"]] == ["call-002", "call-003"]
    assert first["changed_since"] is False


@DIFF
def test_a_session_that_changed_nothing_has_no_diff(whence: Command) -> None:
    whence.call("fs.ls", path=".")

    shown = whence("log", "diff")

    assert (shown.code, shown.out) == (0, "")
    assert "left no file changed" in shown.err


@UNDO
def test_undo_takes_a_call_back_and_is_a_call_itself(edited: Command) -> None:
    done = edited("log", "undo", "call-004", "--session", "s")

    assert done.code == 0, done.err
    assert done.out == "removed d/b.txt\nremoved d\n✓ call-004 was taken back by call-005\n"
    assert not (edited.workspace / "d").exists()
    assert "log.undo d d/b.txt — Take back call-004" in edited("log", "show").out
    assert edited("log", "verify").code == 0
    assert edited("log", "undo", "call-005", "--reason", "It was needed after all").code == 0
    assert (edited.workspace / "d/b.txt").read_text() == "b\n"


@pytest.mark.requirement("edits:undo-refused")
def test_undo_says_what_is_in_the_way(edited: Command) -> None:
    refused = edited("log", "undo", "call-002")
    missing = edited("log", "undo", "call-099")
    nothing = edited("log", "undo", "call-001")
    forced = edited("log", "undo", "call-002", "--force", "--format", "json")

    assert refused.code == 1
    assert (
        "'a.txt' has changed since call-002; nothing was undone\nTake back call-003" in refused.err
    )
    assert missing.code == nothing.code == 1
    assert "there is no call 'call-099'" in missing.err
    assert "changed no file" in nothing.err
    assert forced.json["result"]["restored"] == ["a.txt"]
    assert (edited.workspace / "a.txt").read_text() == "".join(f"{n}\n" for n in range(30))


@UNDO
def test_undo_asks_about_secret_files_like_any_other_call(whence: Command) -> None:
    allow = ("--allow", "fs.write(.env)", "--session", "s")
    assert whence.call("fs.write", *allow, path=".env", content="A=1\n").code == 0

    refused = whence("log", "undo", "call-001", "--session", "s")
    allowed = whence("log", "undo", "call-001", "--session", "s", "--allow", "log.undo(.env)")

    assert refused.code == 1
    assert "log.undo(.env)" in refused.err
    assert allowed.code == 0
    assert not (whence.workspace / ".env").exists()


@UNDO
def test_a_session_that_had_ended_ends_again(whence: Command) -> None:
    whence.call("fs.write", path="a.txt", content="x")

    assert whence("log", "undo", "call-001").code == 0

    last = whence("log", "show", "--last", "1", "--format", "json")
    assert last.json["type"] == "session_end"


@UNDO
def test_undoing_twice_says_that_there_is_nothing_left_to_do(edited: Command) -> None:
    assert "removed d/b.txt" in edited("log", "undo", "call-004").out
    again = edited("log", "undo", "call-004")

    assert again.code == 0
    assert again.out == "nothing to take back: the files are as they were before call-004\n"


@DIFF
def test_a_name_that_is_no_unicode_is_escaped_in_json_and_quoted_in_the_diff(
    whence: Command,
) -> None:
    (whence.workspace / "d").mkdir()
    (whence.workspace / "d" / os.fsdecode(b"odd\xff.txt")).write_text("x\n")
    assert whence.call("fs.copy", src="d", dst="e").code == 0

    (change,) = map(json.loads, whence("log", "diff", "--format", "json").out.splitlines())

    assert os.fsencode(change["path"]) == b"e/odd\xff.txt"
    assert '+++ "b/e/odd\\377.txt"' in whence("log", "diff").out


@UNDO
def test_an_edit_outside_the_workspace_can_be_undone_where_a_rule_allows_it(
    whence: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    made = outside / "new.txt"
    rule = f"fs.write({outside}/**)"
    assert whence.call("fs.write", "--allow", rule, path=str(made), content="x\n").code == 0
    assert made.read_text() == "x\n"

    refused = whence("log", "undo", "call-001")
    assert refused.code == 1
    assert made.exists()

    assert whence("log", "undo", "call-001", "--allow", f"log.undo({outside}/**)").code == 0
    assert not made.exists()
