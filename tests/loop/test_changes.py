"""Every edit is recorded with what taking it back needs, and says so when it was made blindly."""

from __future__ import annotations

import asyncio
import hashlib
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loop.editing import changes_of, directory, edit, opened, tree
from whence.catalogs.moollm import TOOLS
from whence.execute.ports import Ports
from whence.journal.read import read_entries
from whence.loop.changes import reverse_patch
from whence.loop.session import Session
from whence.shapes.call import Call
from whence.shapes.tool import Effect, Tool
from whence.work.edits import unified

pytestmark = pytest.mark.anyio
RECORDED = pytest.mark.requirement("edits:recorded")
UNREAD = pytest.mark.requirement("edits:unread")
WHY = "Give the test something to look at"


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def kept(root: Path) -> list[Path]:
    return sorted(Path(directory(root), "tool/undo").glob("*-*"))


@RECORDED
async def test_an_edit_has_its_hashes_and_a_reverse_patch(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    with opened(tmp_path) as session:
        done = await session.call("fs.write", WHY, path="a.txt", content="one\r\n2\r\n")
    (change,) = changes_of(tmp_path, done.call_id)
    patch = Path(directory(tmp_path), "tool/undo", change["patch"])

    assert (change["before"], change["after"]) == (sha(b"one\r\ntwo\r\n"), sha(b"one\r\n2\r\n"))
    assert (change["size_before"], change["size_after"], change["mode"]) == (10, 8, "0644")
    undone = unified.apply(unified.parse(patch.read_bytes().decode()), "one\r\n2\r\n")
    assert undone.text == "one\r\ntwo\r\n"


@RECORDED
async def test_only_the_first_edit_of_a_text_keeps_it_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path) as session:
        first = await edit(session, ("set", "a.txt", b"two\n"))
        second = await edit(session, ("set", "a.txt", b"three\n"))
        third = await edit(session, ("set", "a.txt", b"\x00"))

    has = [set(changes_of(tmp_path, c.call_id)[0]) & {"kept", "patch"} for c in (first, second)]
    assert has == [{"kept", "patch"}, {"patch"}]
    assert "kept" in changes_of(tmp_path, third.call_id)[0]


@RECORDED
async def test_what_is_written_as_it_was_is_no_change(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path) as session:
        done = await edit(session, ("replace", "a.txt", b"one\n"))

    assert changes_of(tmp_path, done.call_id) == []
    assert kept(tmp_path) == []


@RECORDED
async def test_appending_reads_a_file_once(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"start\n")
    content = b"start\n"
    with opened(tmp_path) as session:
        for number in range(3):
            done = await edit(session, ("append", "log", b"%d\n" % number))
            (change,) = changes_of(tmp_path, done.call_id)
            assert change["before"] == sha(content)
            content += b"%d\n" % number
            assert change["after"] == sha(content)
        (tmp_path / "log").write_bytes(b"mine")
        done = await edit(session, ("append", "log", b"!"))

    assert changes_of(tmp_path, done.call_id)[0]["before"] == sha(b"mine")


@RECORDED
async def test_a_copied_tree_is_recorded_under_its_final_names(tmp_path: Path) -> None:
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / "src/deep/a").write_text("a")
    (tmp_path / "src/l").symlink_to("deep/a")
    with opened(tmp_path) as session:
        done = await session.call("fs.copy", WHY, src="src", dst="dst")

    found = {(c["path"], c["action"]) for c in changes_of(tmp_path, done.call_id)}
    assert found == {(p, "created") for p in ("dst", "dst/deep", "dst/deep/a", "dst/l")}


@RECORDED
async def test_many_changes_are_listed_beside_the_journal(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        done = await edit(session, *[("set", f"d/{n}", b"%d" % n) for n in range(120)])
    entry = next(e for e in read_entries(directory(tmp_path)) if e.type == "tool_result")

    assert entry.fields["changes"]["count"] == 121
    assert len(changes_of(tmp_path, done.call_id)) == 121


@RECORDED
async def test_what_a_call_did_before_it_was_stopped_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    started = asyncio.Event()

    async def endless(arguments: object, ports: object) -> None:
        assert isinstance(ports, Ports)
        with ports.files.replacing("a.txt") as out:
            out.write(b"two\n")
        started.set()
        await asyncio.Event().wait()

    tool = Tool("test.endless", "Never ends", {"type": "object"}, endless)
    with opened(tmp_path, tool) as session:
        task = asyncio.create_task(session.call("test.endless", WHY))
        await asyncio.wait_for(started.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    entry = next(e for e in read_entries(directory(tmp_path)) if e.type == "tool_error")
    assert entry.fields["error"]["code"] == "CANCELLED"
    assert [change["path"] for change in entry.fields["changes"]] == ["a.txt"]


@RECORDED
async def test_two_calls_of_one_id_and_odd_ids_keep_apart(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00")
    with opened(tmp_path) as session:
        for content in ("1", "2"):
            arguments = {"path": "a.bin", "content": content * 9000, "why": WHY}
            done = await session.perform(Call("fs.write", arguments, id="x/../../../../../y"))
            assert done.ok

    assert len({path.name.partition(".")[0] for path in kept(tmp_path)}) == 2
    assert all(path.name.startswith("x_y-") for path in kept(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] in (["a.bin", ".agent"], [".agent", "a.bin"])


@RECORDED
@settings(max_examples=300, deadline=None)
@given(old=st.none() | st.binary(max_size=60), new=st.binary(max_size=60))
async def test_a_reverse_patch_is_exact_or_there_is_none(old: bytes | None, new: bytes) -> None:
    patch = reverse_patch(old, new, "a b\n\"c'")

    if patch is not None and old != new:
        text = unified.apply(unified.parse(patch.decode()), new.decode()).text
        assert (text.encode() if text is not None else None) == old


@pytest.mark.requirement("edits:private")
async def test_what_undo_needs_is_private_and_closed_to_tools(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("password = hunter2hunter2\n")
    with opened(tmp_path) as session:
        done = await edit(session, ("set", "a.txt", b"x\n"))
        (change,) = changes_of(tmp_path, done.call_id)
        relative = f".agent/sessions/s/tool/undo/{change['patch']}"
        read = await session.call("fs.read", WHY, path=relative)
        listed = await session.call("fs.ls", WHY, path=".agent/sessions/s/tool/undo")

    assert b"hunter2hunter2" in (tmp_path / relative).read_bytes()
    assert stat.S_IMODE((tmp_path / relative).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / relative).parent.stat().st_mode) == 0o700
    for outcome in (read, listed):
        assert outcome.fault is not None
        assert outcome.fault.code == "PERMISSION_DENIED"
    assert "hunter2" not in Path(directory(tmp_path), "session-log.md").read_text()


@UNREAD
async def test_an_edit_of_a_file_that_was_never_read_warns(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path) as session:
        blind = await session.call("fs.write", WHY, path="a.txt", content="two\n")
        own = await session.call("fs.write", WHY, path="a.txt", content="three\n")
        new = await session.call("fs.write", WHY, path="b.txt", content="new\n")
        (tmp_path / "log").write_text("one\n")
        added = await session.call("fs.append", WHY, path="log", text="two\n")

    assert blind.warnings == ("a.txt was edited without having been read in this session",)
    assert own.warnings == new.warnings == added.warnings == ()


@UNREAD
async def test_an_edit_of_a_file_that_somebody_else_changed_warns(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path) as session:
        await session.call("fs.read", WHY, path="a.txt", range={"start": 1, "end": 1})
        (tmp_path / "a.txt").write_text("mine\n")
        stale = await session.call("fs.write", WHY, path="a.txt", content="two\n")
        await session.call("fs.read", WHY, path="./a.txt")
        fresh = await session.call("fs.write", WHY, path="a.txt", content="three\n")

    assert stale.warnings == ("a.txt had changed since it was last read in this session",)
    assert fresh.warnings == ()


@UNREAD
async def test_what_a_writing_tool_reads_for_itself_was_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path) as session:
        patch = await session.call("fs.patch", WHY, path="a.txt", diff="@@ -1 +1 @@\n-one\n+two\n")

    assert "without having been read" in patch.warnings[0]


@UNREAD
async def test_what_was_read_is_remembered_by_the_next_process(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path) as session:
        await session.call("fs.read", WHY, path="a.txt")
    with opened(tmp_path) as session:
        done = await session.call("fs.write", WHY, path="a.txt", content="two\n")
    with opened(tmp_path, session="other") as session:
        other = await session.call("fs.write", WHY, path="a.txt", content="three\n")

    assert done.warnings == ()
    assert len(other.warnings) == 1


@UNREAD
async def test_a_list_of_readings_that_makes_no_sense_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    opened(tmp_path).close()
    Path(directory(tmp_path), "seen.json").write_text('["a.txt", 1]')
    with opened(tmp_path) as session:
        done = await session.call("fs.write", WHY, path="a.txt", content="two\n")

    assert done.ok
    assert len(done.warnings) == 1


@pytest.mark.requirement("edits:crash")
async def test_a_session_takes_back_what_a_crash_left_and_says_so(tmp_path: Path) -> None:
    from tests.execute.test_transaction import half_done, make

    make(tmp_path / "work").close()
    before = tree(tmp_path / "work")
    half_done(tmp_path / "work")
    with Session(tmp_path / "work", TOOLS, session="s") as session:
        assert session.id == "s"

    entries = read_entries(directory(tmp_path / "work"))
    said = [entry.fields["message"] for entry in entries if entry.type == "warning"]
    assert len(said) == 1
    assert "a.txt" in said[0]
    assert tree(tmp_path / "work") == before


@RECORDED
async def test_a_tool_that_declares_no_effect_is_recorded_all_the_same(tmp_path: Path) -> None:
    async def sly(arguments: object, ports: object) -> None:
        assert isinstance(ports, Ports)
        ports.files.append("a.txt", b"x")

    tool = Tool("test.sly", "Looks harmless", {"type": "object"}, sly)
    assert Effect.WRITE not in tool.effects
    with opened(tmp_path, tool) as session:
        done = await session.call("test.sly", WHY)

    assert [change["path"] for change in changes_of(tmp_path, done.call_id)] == ["a.txt"]


@UNREAD
async def test_adding_to_a_file_does_not_make_it_known(tmp_path: Path) -> None:
    for name in ("read.txt", "unread.txt"):
        (tmp_path / name).write_text("one\n")
    warned = {}
    with opened(tmp_path) as session:
        await session.call("fs.read", WHY, path="read.txt")
        for name in ("read.txt", "unread.txt", "new.txt"):
            added = await session.call("fs.append", WHY, path=name, text="two\n")
            assert added.warnings == ()
            done = await session.call("fs.write", WHY, path=name, content="three\n")
            warned[name] = done.warnings

    unread = "unread.txt was edited without having been read in this session"
    assert warned == {"read.txt": (), "unread.txt": (unread,), "new.txt": ()}


@RECORDED
async def test_other_names_of_a_file_are_told_and_cannot_spoil_what_is_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0old")
    (tmp_path / "twin").hardlink_to(tmp_path / "a.bin")
    with opened(tmp_path) as session:
        done = await edit(session, ("set", "a.bin", b"\0new"))
        again = await edit(session, ("set", "a.bin", b"\0newer"))
    with open(tmp_path / "twin", "ab") as twin:
        twin.write(b" and more")

    (change,) = changes_of(tmp_path, done.call_id)
    said = "a.bin has another name, which keeps the old content (hard links)"
    assert said in done.warnings
    assert said not in again.warnings
    assert Path(directory(tmp_path), "tool/undo", change["kept"]).read_bytes() == b"\0old"
