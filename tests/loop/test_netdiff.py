"""A session comes to one diff, and each hunk knows whose it is."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loop.editing import directory, edit, opened, tree, undo
from whence.loop.netdiff import NetChange, net_changes

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("edits:diff")]


def net(root: Path) -> list[NetChange]:
    return list(net_changes(directory(root), str(root)))


def numbered(**replaced: str) -> bytes:
    lines = {str(n): str(n) for n in range(40)} | {k[1:]: v for k, v in replaced.items()}
    return "".join(f"{line}\n" for line in lines.values() if line).encode()


async def test_each_hunk_names_the_calls_that_made_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(numbered())
    with opened(tmp_path) as session:
        for content in (numbered(_3="three"), numbered(_3="three", _30="")):
            await edit(session, ("set", "a", content))
        await edit(session, ("append", "a", b"end\n"))

    (change,) = net(tmp_path)

    causes = [[cause.call_id for cause in hunk.causes] for hunk in change.hunks]
    assert causes == [["call-001"], ["call-002"], ["call-003"]]
    assert all(cause.why == "Try what the port can do" for cause in change.causes)


async def test_a_line_that_was_changed_twice_is_due_to_the_last_call(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(numbered())
    with opened(tmp_path) as session:
        await edit(session, ("set", "a", numbered(_3="three")))
        await edit(session, ("set", "a", numbered(_3="drei")))

    (hunk,) = net(tmp_path)[0].hunks

    assert [cause.call_id for cause in hunk.causes] == ["call-001", "call-002"]
    assert "three" not in hunk.text


async def test_what_was_taken_back_is_no_net_change(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        done = await edit(session, ("set", "a", b"x\n"))
    await undo(tmp_path, done.call_id)

    assert net(tmp_path) == []


async def test_somebody_elses_lines_are_nobodys(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(numbered())
    with opened(tmp_path) as session:
        await edit(session, ("set", "a", numbered(_3="three")))
        (tmp_path / "a").write_bytes(numbered(_3="three", _20="mine"))
        await edit(session, ("replace", "a", numbered(_3="three", _20="mine", _35="x\x00")))
        (tmp_path / "a").unlink()

    (change,) = net(tmp_path)

    assert change.changed_since
    assert change.note == "not all of its versions are kept"
    assert [cause.call_id for cause in change.causes] == ["call-001", "call-002"]


async def test_versions_are_found_again_when_the_file_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(numbered())
    with opened(tmp_path) as session:
        for word in ("one", "two", "three"):
            await edit(session, ("set", "a", numbered(_3=word)))
        await edit(session, ("append", "a", b"end\n"))
        await edit(session, ("set", "b", b"new\n"))
    (tmp_path / "a").unlink()
    (tmp_path / "b").unlink()

    first, second = net(tmp_path)

    assert first.changed_since
    assert "+three" in first.hunks[0].text
    assert "+end" in first.hunks[1].text
    assert second.hunks[0].text == "@@ -0,0 +1 @@\n+new\n"


async def test_a_binary_file_is_named_without_a_diff(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        await edit(session, ("set", "a", b"\xff\xfe"))

    (change,) = net(tmp_path)

    assert (change.note, change.hunks, change.before) == ("binary", (), None)


TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d"]), max_size=8).map("".join)
CALLS = st.lists(st.dictionaries(st.sampled_from(["x", "y", "n/z"]), TEXTS, min_size=1), max_size=4)


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the diff")
@settings(max_examples=25, deadline=None)
@given(start=st.dictionaries(st.sampled_from(["x", "y"]), TEXTS), calls=CALLS)
async def test_the_diff_leads_from_the_old_files_to_the_new(
    start: dict[str, str], calls: list[dict[str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as copy:
        root = Path(name)
        for path, text in start.items():
            (root / path).write_bytes(text.encode())
            (Path(copy) / path).write_bytes(text.encode())
        with opened(root) as session:
            for contents in calls:
                await edit(session, *(("set", p, t.encode()) for p, t in contents.items()))
        diff = "".join(
            change.header + "".join(hunk.text for hunk in change.hunks) for change in net(root)
        )
        if diff:
            done = subprocess.run(
                ["git", "apply", "--whitespace=nowarn", "-"],
                input=diff.encode(), cwd=copy, capture_output=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr.decode() + diff
        assert tree(Path(copy)) == tree(root)
