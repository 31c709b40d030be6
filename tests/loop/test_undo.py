"""Every edit can be taken back, exactly."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.execute.forks import forked
from tests.loop.editing import changes_of, directory, edit, opened, tree, undo
from whence.errors import NotFound
from whence.journal.verify import verify
from whence.loop.undo import plan

pytestmark = pytest.mark.anyio
UNDO = pytest.mark.requirement("edits:undo")
REFUSED = pytest.mark.requirement("edits:undo-refused")

LINES = st.lists(st.sampled_from(["a", "b", "", "ä\u2028x", "}", "\ufeff1"]), max_size=12)
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])
TEXTS = st.builds(
    lambda lines, end, last: (end.join(lines) + (end if last else "")).encode(),
    LINES, ENDS, st.booleans(),
)  # fmt: skip
MIXED = st.lists(st.sampled_from([b"a\n", b"b\r\n", b"c\r", b"\xff\x00", b"x"]), max_size=8)
CONTENTS = TEXTS | MIXED.map(b"".join) | st.binary(max_size=40)
PATHS = st.sampled_from(["a.txt", "b.txt", "sub/c.txt", "new/deep/d"])
SETS = st.lists(
    st.tuples(PATHS, CONTENTS | st.none()), min_size=1, max_size=4, unique_by=lambda pair: pair[0]
)
APPENDS = st.tuples(PATHS, CONTENTS)


@UNDO
@settings(max_examples=40, deadline=None)
@given(start=st.dictionaries(PATHS, CONTENTS), calls=st.lists(SETS | APPENDS, max_size=5))
async def test_undoing_in_reverse_restores_every_byte_and_mode(
    start: dict[str, bytes], calls: list[list[tuple[str, bytes | None]] | tuple[str, bytes]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for number, (path, content) in enumerate(start.items()):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
            (root / path).chmod((0o644, 0o755, 0o600)[number % 3])
        states = [tree(root)]
        made = []
        with opened(root) as session:
            for call in calls:
                if isinstance(call, tuple):
                    outcome = await edit(session, ("append", *call))
                else:
                    steps = [("set", p, c) for p, c in call if c is not None or (root / p).exists()]
                    outcome = await edit(session, *steps)
                assert outcome.ok
                if tree(root) != states[-1]:
                    states.append(tree(root))
                    made.append(outcome.call_id)
        for call_id, state in zip(reversed(made), states[-2::-1], strict=True):
            assert (await undo(root, call_id)).ok
            assert tree(root) == state
        assert verify(directory(root)).ok


@UNDO
async def test_an_undo_can_be_undone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path) as session:
        done = await edit(session, ("set", "a.txt", b"two\n"), ("set", "x/b", b"\x00"))
    after = tree(tmp_path)

    undone = await undo(tmp_path, done.call_id)
    assert set(tree(tmp_path)) == {"a.txt"}
    again = await undo(tmp_path, undone.call_id)

    assert undone.result == {"call": done.call_id, "restored": ["a.txt"], "removed": ["x/b", "x"]}
    assert again.ok
    assert tree(tmp_path) == after


@UNDO
@pytest.mark.parametrize(
    "steps",
    [
        [("rename", "a.txt", "b.txt")],
        [("rename", "sub", "moved")],
        [("rename", "a.txt", "sub/c.txt")],
        [("remove", "sub", None)],
        [("remove", "link", None)],
        [("link", "sub/l", "c.txt")],
        [("set", "link", b"through the link")],
        [("set", "A.txt", b"one\n"), ("set", "a.txt", None)],
        [("replace", "a.txt", b"two"), ("append", "a.txt", b"three"), ("replace", "a.txt", b"4")],
        [("append", "a.txt", b"two"), ("append", "a.txt", b"three")],
        [("remove", "a.txt", None), ("append", "a.txt", b"again")],
        [("replace", "t", b"1"), ("rename", "t", "a.txt")],
        [("set", "big.bin", b"\x00" * 400_000)],
        [("append", "big.bin", b"more")],
    ],
    ids=range(14),
)
async def test_every_way_to_change_a_file_can_be_taken_back(
    tmp_path: Path, steps: list[tuple[str, str, bytes | str | None]]
) -> None:
    make(tmp_path)
    before = tree(tmp_path)
    with opened(tmp_path) as session:
        done = await edit(session, *steps)
    assert done.ok
    assert tree(tmp_path) != before

    assert (await undo(tmp_path, done.call_id)).ok

    assert tree(tmp_path) == before


def make(root: Path) -> None:
    (root / "sub/deep").mkdir(parents=True)
    (root / "a.txt").write_text("one\n")
    (root / "a.txt").chmod(0o600)
    (root / "sub/c.txt").write_bytes(b"\xff\xfe")
    (root / "sub/deep/d").write_text("d")
    (root / "sub/deep/d").chmod(0o755)
    (root / "big.bin").write_bytes(os.urandom(300_000))
    (root / "link").symlink_to("sub/c.txt")


@UNDO
async def test_a_move_can_be_taken_back_after_the_file_grew_and_shrank(tmp_path: Path) -> None:
    make(tmp_path)
    before = tree(tmp_path)
    with opened(tmp_path) as session:
        moved = await edit(session, ("rename", "big.bin", "moved"))
        grown = await edit(session, ("append", "moved", b"more"))

    assert (await undo(tmp_path, grown.call_id)).ok
    assert (await undo(tmp_path, moved.call_id)).ok
    assert tree(tmp_path) == before


@UNDO
async def test_what_a_failed_call_had_done_can_be_taken_back(tmp_path: Path) -> None:
    make(tmp_path)
    before = tree(tmp_path)
    with opened(tmp_path) as session:
        failed = await edit(session, ("replace", "a.txt", b"half"), ("fail", "way", None))

    assert not failed.ok
    assert (await undo(tmp_path, failed.call_id)).ok
    assert tree(tmp_path) == before


@REFUSED
async def test_an_undo_after_later_calls_names_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path) as session:
        calls = [await edit(session, ("set", "a.txt", text)) for text in (b"2", b"3", b"4")]
    first, second, third = (call.call_id for call in calls)

    refused = await undo(tmp_path, first)

    assert refused.fault is not None
    assert refused.fault.code == "CONFLICT"
    assert f"'a.txt' has changed since {first}" in refused.fault.message
    assert refused.fault.suggestion.startswith(f"Take back {third}, {second} first")
    assert (tmp_path / "a.txt").read_text() == "4"


@REFUSED
async def test_one_file_that_changed_since_holds_all_others_back(tmp_path: Path) -> None:
    make(tmp_path)
    with opened(tmp_path) as session:
        done = await edit(session, ("set", "a.txt", b"x"), ("set", "sub/c.txt", b"y"))
    (tmp_path / "sub/c.txt").write_text("mine")
    after = tree(tmp_path)

    refused = await undo(tmp_path, done.call_id)

    assert refused.fault is not None
    assert "sub/c.txt" in refused.fault.message
    assert refused.fault.suggestion.startswith("Somebody else changed it")
    assert tree(tmp_path) == after


@REFUSED
@pytest.mark.parametrize("fate", ["changed", "gone"])
async def test_force_puts_the_old_content_back_and_can_be_undone(tmp_path: Path, fate: str) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{n}\n" for n in range(50)))
    old = (tmp_path / "a.txt").read_bytes()
    with opened(tmp_path) as session:
        await edit(session, ("set", "a.txt", b"first\n" + old))
        done = await edit(session, ("set", "a.txt", b"second\n" + old))
    (tmp_path / "a.txt").write_text("mine") if fate == "changed" else (tmp_path / "a.txt").unlink()
    after = tree(tmp_path)

    forced = await undo(tmp_path, done.call_id, force=True)
    assert (tmp_path / "a.txt").read_bytes() == b"first\n" + old
    assert (await undo(tmp_path, forced.call_id)).ok

    assert tree(tmp_path) == after


@REFUSED
async def test_a_call_that_changed_nothing_cannot_be_undone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path) as session:
        read = await session.call("fs.read", "Have a look at it", path="a.txt")

    with pytest.raises(NotFound, match="changed no file"):
        plan(directory(tmp_path), read.call_id)
    with pytest.raises(NotFound, match="no call 'call-999'"):
        plan(directory(tmp_path), "call-999")


@REFUSED
async def test_old_content_that_was_tampered_with_is_not_restored(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00one")
    with opened(tmp_path) as session:
        done = await edit(session, ("set", "a.bin", b"\x00two"))
    (change,) = changes_of(tmp_path, done.call_id)
    Path(directory(tmp_path), "tool/undo", change["kept"]).write_bytes(b"\x00evil")

    refused = await undo(tmp_path, done.call_id)

    assert refused.fault is not None
    assert refused.fault.code == "UNAVAILABLE"
    assert (tmp_path / "a.bin").read_bytes() == b"\x00two"


@pytest.mark.requirement("edits:interrupted")
async def test_what_a_killed_process_had_begun_can_be_put_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")

    def attempt() -> None:
        import asyncio

        replace = os.replace

        def dying(*args: object, **options: object) -> None:
            replace(*args, **options)  # type: ignore[arg-type]
            if (tmp_path / "a.txt").read_text() == "two\n":
                os.kill(os.getpid(), signal.SIGKILL)

        os.replace = dying
        with opened(tmp_path) as session:
            asyncio.run(edit(session, ("replace", "a.txt", b"two\n")))

    assert forked(attempt) == -signal.SIGKILL
    refused = await undo(tmp_path, "call-001")
    assert refused.fault is not None
    assert "was interrupted" in refused.fault.message

    assert (await undo(tmp_path, "call-001", force=True)).ok
    assert (tmp_path / "a.txt").read_text() == "one\n"


@UNDO
async def test_a_name_that_is_no_unicode_can_be_undone(tmp_path: Path) -> None:
    odd = os.fsdecode(b"odd\xff\xfe.txt")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / odd).write_text("text\n")
    before = tree(tmp_path)
    with opened(tmp_path) as session:
        done = await session.call("fs.copy", "Give undo something to find", src="dir", dst="copy")
    assert (tmp_path / "copy" / odd).exists()

    assert (await undo(tmp_path, done.call_id)).ok

    assert tree(tmp_path) == before
