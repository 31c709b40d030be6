from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.conftest import SHARED

from whence.errors import Conflict, InvalidArgs, NotFound, PermissionDenied, WhenceError
from whence.execute.containment import Root
from whence.execute.files import WorkspaceFiles
from whence.execute.ports import Change
from whence.shapes.tool import Effect
from whence.work.apply_patch import Applied, apply_patch, touches

pytestmark = pytest.mark.anyio

SCENARIOS = SHARED / "apply_patch"
REFUSED_HERE = {
    "010_move_overwrites_existing_destination": "CONFLICT",
    "011_add_overwrites_existing_file": "CONFLICT",
    "015_failure_after_partial_success_leaves_changes": "NOT_FOUND",
    "016_pure_addition_update_chunk": "CONFLICT",
}
"""Where whence loses nothing and guesses nothing, and the code that says so."""
NAMES = sorted(path.name for path in SCENARIOS.glob("[0-9]*")) or ["absent"]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    litter = [path.name for path in tmp_path.rglob(".whence-*")]
    assert litter == []


async def run(workspace: Path, *lines: str) -> Applied:
    return await apply(workspace, "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""]))


async def apply(workspace: Path, text: str) -> Applied:
    return await apply_patch(WorkspaceFiles(Root(workspace), {}), text)


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".agent" not in path.parts
    }


async def refused(workspace: Path, kind: type[WhenceError], *lines: str) -> WhenceError:
    before = tree(workspace)
    with pytest.raises(kind) as caught:
        await run(workspace, *lines)
    assert tree(workspace) == before
    assert caught.value.suggestion
    return caught.value


@pytest.mark.requirement("v4a:scenarios")
@pytest.mark.parametrize("name", NAMES)
async def test_a_public_scenario_ends_as_its_notes_say(name: str, workspace: Path) -> None:
    scenario = SCENARIOS / name
    if not scenario.exists():
        pytest.skip("the scenarios are not here")
    if (scenario / "input").exists():
        shutil.copytree(scenario / "input", workspace, dirs_exist_ok=True)
    before = tree(workspace)
    expected = before if name in REFUSED_HERE else tree(scenario / "expected")
    patch = (scenario / "patch.txt").read_bytes().decode()
    code = None
    try:
        await apply(workspace, patch)
    except WhenceError as error:
        code = error.code

    assert tree(workspace) == expected
    assert (code is not None) == (name in REFUSED_HERE or "reject" in name or before == expected)
    assert REFUSED_HERE.get(name, code) == code


@pytest.mark.requirement("v4a:report")
async def test_every_kind_of_change_is_made_and_reported_by_path(workspace: Path) -> None:
    (workspace / "src.txt").write_text("line1\nline2\nline3\n")
    (workspace / "del.txt").write_text("x\n")
    done = await run(
        workspace,
        "*** Update File: src.txt", "*** Move to: deep/er/dest.txt", "@@", "-line1", "+first",
        "*** Delete File: del.txt",
        "*** Add File: new.txt", "+hello", "+world",
    )  # fmt: skip

    assert tree(workspace) == {
        "deep/er/dest.txt": b"first\nline2\nline3\n", "new.txt": b"hello\nworld\n",
    }  # fmt: skip
    assert [(one.path, one.deed, one.moved_from) for one in done.files] == [
        ("deep/er/dest.txt", "move", "src.txt"), ("del.txt", "delete", None),
        ("new.txt", "add", None),
    ]  # fmt: skip
    assert done.bytes_written == len(b"first\nline2\nline3\nhello\nworld\n")
    assert done.warnings == ()
    assert done.text.startswith(
        "✅ Patch applied successfully!\n\n┏━[ src.txt → deep/er/dest.txt ]-"
    )
    assert "Move of file successful. 1 insertion, 1 deletion, 1 hunk." in done.text


@pytest.mark.requirement("v4a:whole")
@pytest.mark.parametrize(
    "failing",
    [
        ("*** Update File: gone.txt", "-a"),
        ("*** Delete File: gone.txt",),
        ("*** Update File: b.txt", "-not there"),
        ("*** Add File: b.txt", "+x"),
        ("*** Add File: b.txt/c.txt", "+x"),
        ("*** Update File: a.txt", "*** Move to: b.txt", "-A"),
        ("*** Delete File: directory",),
        ("*** Update File: ../outside.txt", "-x"),
        ("*** Add File: ../outside.txt", "+x"),
    ],
    ids=range(9),
)
async def test_a_patch_that_fails_anywhere_changes_nothing(
    failing: tuple[str, ...], workspace: Path
) -> None:
    (workspace / "a.txt").write_text("a\n")
    (workspace / "b.txt").write_text("b\n")
    (workspace / "directory").mkdir()
    lines = ("*** Add File: new/file.txt", "+n", "*** Update File: a.txt", "-a", "+A")

    await refused(workspace, WhenceError, *lines, *failing)
    assert not (workspace / "new").exists()
    await refused(workspace, WhenceError, *failing, *lines)


@pytest.mark.requirement("v4a:whole")
async def test_missing_and_existing_files_are_named(workspace: Path) -> None:
    (workspace / "there.txt").write_text("x\n")

    update = await refused(workspace, NotFound, "*** Update File: their.txt", "-x")
    assert update.message == "Update file missing: their.txt"
    assert "there.txt" in update.suggestion
    delete = await refused(workspace, NotFound, "*** Delete File: gone.txt")
    assert delete.message == "Delete file missing: gone.txt"
    add = await refused(workspace, Conflict, "*** Add File: there.txt", "+y")
    assert add.message == "Add file already exists: there.txt"


@pytest.mark.requirement("v4a:compose")
async def test_sections_for_one_file_see_one_another(workspace: Path) -> None:
    (workspace / "a.txt").write_text("1\n2\n3\n")
    await run(
        workspace,
        "*** Update File: a.txt", "-3", "+three",
        "*** Update File: ./a.txt", "-1", "+one", " 2", "-three", "+THREE",
        "*** Add File: b.txt", "+b",
        "*** Update File: b.txt", "*** Move to: c.txt", "-b", "+c",
        "*** Delete File: a.txt",
        "*** Add File: a.txt", "+again",
    )  # fmt: skip

    assert tree(workspace) == {"a.txt": b"again\n", "c.txt": b"c\n"}


@pytest.mark.requirement("v4a:compose")
async def test_a_file_that_the_patch_took_away_is_missing_afterwards(workspace: Path) -> None:
    (workspace / "a.txt").write_text("1\n")

    for first in (("*** Delete File: a.txt",), ("*** Update File: a.txt", "*** Move to: b.txt")):
        error = await refused(workspace, NotFound, *first, "*** Update File: a.txt", "-1")
        assert "An earlier section" in error.suggestion


@pytest.mark.requirement("v4a:no-overwrite")
async def test_a_move_onto_itself_changes_the_file_in_place(workspace: Path) -> None:
    (workspace / "a.txt").write_text("1\n")
    done = await run(
        workspace, "*** Update File: a.txt", "*** Move to: ./a.txt", "-1", "+2"
    )  # fmt: skip

    assert tree(workspace) == {"a.txt": b"2\n"}
    assert done.files[0].deed == "update"


@pytest.mark.requirement("v4a:no-overwrite")
async def test_a_move_onto_another_file_is_a_conflict(workspace: Path) -> None:
    (workspace / "a.txt").write_text("1\n")
    (workspace / "b.txt").write_text("2\n")

    lines = ("*** Update File: a.txt", "*** Move to: b.txt")
    error = await refused(workspace, Conflict, *lines)
    assert error.message == "Move target already exists: b.txt"
    await run(workspace, "*** Delete File: b.txt", *lines)
    assert tree(workspace) == {"b.txt": b"1\n"}


@pytest.mark.requirement("v4a:no-overwrite")
async def test_a_name_can_change_in_case_only(workspace: Path) -> None:
    (workspace / "readme.md").write_text("1\n")
    await run(workspace, "*** Update File: readme.md", "*** Move to: README.md")

    assert os.listdir(workspace).count("README.md") == 1
    assert "readme.md" not in os.listdir(workspace)


@pytest.mark.requirement("v4a:endings")
async def test_byte_order_mark_endings_and_mode_are_kept(workspace: Path) -> None:
    file = workspace / "run.ps1"
    file.write_bytes("\ufeffecho 1\r\necho 2".encode())
    file.chmod(0o750)
    await run(workspace, "*** Update File: run.ps1", "-echo 1", "+echo “ä”", " echo 2", "+echo 3")

    assert file.read_bytes() == "\ufeffecho “ä”\r\necho 2\r\necho 3".encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    await run(workspace, "*** Update File: run.ps1", "*** Move to: bin/run.ps1")
    assert stat.S_IMODE((workspace / "bin/run.ps1").stat().st_mode) == 0o750


@pytest.mark.requirement("v4a:odd-files")
@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a\n".encode("utf-16"), "UTF-16"),
        (b"a\n\xff\n", "0xff in line 2"),
        (b"a\n\0\n", "binary"),
    ],
    ids=["utf-16", "utf-8", "binary"],
)
async def test_what_is_no_text_can_be_moved_and_deleted_but_not_edited(
    content: bytes, says: str, workspace: Path
) -> None:
    (workspace / "f").write_bytes(content)

    error = await refused(workspace, InvalidArgs, "*** Update File: f", "-a")
    assert says in error.message
    await run(workspace, "*** Update File: f", "*** Move to: g")
    assert tree(workspace) == {"g": content}
    await run(workspace, "*** Delete File: g")
    assert tree(workspace) == {}


@pytest.mark.requirement("v4a:odd-files")
async def test_directories_and_fifos_are_refused(workspace: Path) -> None:
    (workspace / "dir").mkdir()
    os.mkfifo(workspace / "fifo")

    for name in ("dir", "fifo"):
        for lines in ((f"*** Delete File: {name}",), (f"*** Update File: {name}", "-a")):
            assert name in (await refused(workspace, InvalidArgs, *lines)).message
        await refused(workspace, Conflict, f"*** Add File: {name}", "+a")
        (workspace / "a").write_text("a\n")
        await refused(workspace, Conflict, "*** Update File: a", f"*** Move to: {name}")


@pytest.mark.requirement("v4a:odd-files")
async def test_a_link_is_edited_through_and_otherwise_left_alone(workspace: Path) -> None:
    (workspace / "real.txt").write_text("a\n")
    (workspace / "link.txt").symlink_to("real.txt")
    (workspace / "dangling").symlink_to("nowhere")

    await run(
        workspace,
        "*** Update File: link.txt", "-a", "+b",
        "*** Update File: real.txt", "-b", "+c",
    )  # fmt: skip
    assert (workspace / "link.txt").is_symlink()
    assert (workspace / "real.txt").read_text() == "c\n"
    for lines in (("*** Delete File: link.txt",), ("*** Update File: link.txt", "*** Move to: x")):
        error = await refused(workspace, InvalidArgs, *lines)
        assert "'real.txt'" in error.suggestion
    await refused(workspace, Conflict, "*** Add File: dangling", "+x")


@pytest.mark.requirement("v4a:odd-files")
async def test_a_hard_link_keeps_its_other_name_as_it_was(workspace: Path) -> None:
    (workspace / "one").write_text("a\n")
    os.link(workspace / "one", workspace / "other")
    await run(workspace, "*** Update File: one", "-a", "+b")

    assert tree(workspace) == {"one": b"b\n", "other": b"a\n"}


@pytest.mark.requirement("v4a:odd-files")
async def test_names_with_quotes_and_spaces_are_taken_as_they_are(workspace: Path) -> None:
    name = 'it\'s "so" (1) – ü.txt'
    await run(workspace, f"*** Add File: {name}", "+x")

    assert tree(workspace) == {name: b"x\n"}


@pytest.mark.requirement("v4a:unchanged-meanwhile")
async def test_a_file_that_changes_meanwhile_is_noticed(workspace: Path) -> None:
    class Busy(WorkspaceFiles):
        def change(self, changes: Sequence[Change]) -> None:
            (workspace / "a.txt").write_text("somebody else\n")
            super().change(changes)

    (workspace / "a.txt").write_text("a\n")
    (workspace / "b.txt").write_text("b\n")
    patch = """*** Begin Patch
*** Update File: b.txt
-b
+B
*** Update File: a.txt
-a
+A
*** End Patch"""
    with pytest.raises(Conflict, match="has changed since it was read"):
        await apply_patch(Busy(Root(workspace), {}), patch)

    assert tree(workspace) == {"a.txt": b"somebody else\n", "b.txt": b"b\n"}


async def test_a_patch_that_changes_nothing_writes_nothing_and_says_so(workspace: Path) -> None:
    (workspace / "a.txt").write_text("a\n")
    before = (workspace / "a.txt").stat().st_ino
    done = await run(workspace, "*** Update File: a.txt", "-a\r", "+a")

    assert done.warnings == ("a.txt: the hunks leave the file as it was",)
    assert done.bytes_written == 0
    assert (workspace / "a.txt").stat().st_ino == before


@pytest.mark.requirement("v4a:levels")
async def test_warnings_name_the_file(workspace: Path) -> None:
    (workspace / "a.txt").write_text("a  \n")
    done = await run(workspace, "*** Update File: a.txt", "-a", "+b")

    (warning,) = done.warnings
    assert warning.startswith("a.txt: hunk 1 was found at line 1 only when white space")


@pytest.mark.requirement("v4a:odd-files")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_directory_that_may_not_be_written_is_refused(workspace: Path) -> None:
    closed = workspace / "closed"
    closed.mkdir()
    (closed / "a.txt").write_text("a\n")
    closed.chmod(0o500)
    try:
        await refused(workspace, PermissionDenied, "*** Update File: closed/a.txt", "-a", "+b")
    finally:
        closed.chmod(0o700)


@pytest.mark.requirement("v4a:touches")
def test_the_gate_is_told_every_path() -> None:
    patch = """*** Begin Patch
*** Add File: a/b.txt
+x
*** Update File: ../c "d".txt
*** Move to: /etc/e
-x
  *** Delete File: f
*** Delete File: a/b.txt
*** End Patch"""

    assert touches(patch) == [
        (Effect.WRITE, "a/b.txt"), (Effect.WRITE, '../c "d".txt'), (Effect.WRITE, "/etc/e"),
    ]  # fmt: skip


@pytest.mark.requirement("v4a:touches")
@pytest.mark.parametrize(
    "text", ["", "nonsense", "*** Begin Patch\n*** Delete File: x", "\0\ud800"]
)
def test_a_broken_patch_touches_nothing(text: str) -> None:
    assert touches(text) == []
