"""A change of several files happens whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from tests.execute.forks import die_at, fail_at, forked, refuse_links
from whence.errors import (
    Conflict,
    ExecutionFailed,
    InvalidArgs,
    NotFound,
    PermissionDenied,
    WhenceError,
)
from whence.execute.containment import Root
from whence.execute.files import WorkspaceFiles
from whence.execute.ports import Change
from whence.execute.transaction import recover
from whence.shapes.place import Place

ATOMIC = pytest.mark.requirement("edits:all-or-nothing")
CRASH = pytest.mark.requirement("edits:crash")
Tree = dict[str, tuple[bytes, int]]

CHANGES = (
    Change("a.txt", b"new a\n" * 500),
    Change("gone.txt", None),
    Change("sub/c.py", b"\xff\x00 new c"),
    Change("new/deep/d.txt", b"d\n"),
    Change("Readme", None),
    Change("README", b"read me\r\n", like="Readme"),
)
NEW_PATHS = {"a.txt", "sub/c.py", "new/deep/d.txt", "README"}


def make(root: Path) -> Root:
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_bytes(b"old a\n" * 400)
    (root / "gone.txt").write_bytes(b"going\n")
    (root / "sub/c.py").write_bytes(b"old c")
    (root / "Readme").write_bytes(b"read me\r\n")
    (root / "sub/c.py").chmod(0o640)
    (root / "Readme").chmod(0o755)
    return Root(root)


def tree(root: Path) -> Tree:
    """Every file, those that belong to the program left out, litter included."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root).as_posix()
        if path.is_file() and not relative.startswith(".agent/"):
            found[relative] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found


def records(root: Path) -> list[str]:
    directory = root / ".agent/changes"
    return os.listdir(directory) if directory.is_dir() else []


def files(root: Root) -> WorkspaceFiles:
    return WorkspaceFiles(root, {})


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    make(tmp_path / "work").close()
    return tmp_path / "work"


def both(tmp_path: Path) -> tuple[Tree, Tree]:
    """The files before and after."""
    root = make(tmp_path / "model")
    before = tree(tmp_path / "model")
    files(root).change(CHANGES)
    return before, tree(tmp_path / "model")


@ATOMIC
def test_files_are_written_removed_and_moved_as_one(tmp_path: Path) -> None:
    before, after = both(tmp_path)

    assert set(after) == NEW_PATHS
    assert after["a.txt"] == (b"new a\n" * 500, before["a.txt"][1])
    assert after["sub/c.py"] == (b"\xff\x00 new c", 0o640)
    assert after["README"] == (b"read me\r\n", 0o755)
    assert records(tmp_path / "model") == []


@ATOMIC
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ([Change("a.txt", b"x"), Change("sub/c.py", b"y", expect=digest(b"else"))], Conflict),
        ([Change("a.txt", b"x"), Change("sub/c.py", b"y", expect=b"")], Conflict),
        ([Change("a.txt", b"x"), Change("nowhere", b"y", expect=digest(b""))], Conflict),
        ([Change("a.txt", b"x"), Change("nowhere", None)], NotFound),
        ([Change("a.txt", b"x"), Change("sub", b"y")], InvalidArgs),
        ([Change("a.txt", b"x"), Change("sub", None)], InvalidArgs),
        ([Change("a.txt", b"x"), Change("./a.txt", b"y")], InvalidArgs),
        ([Change("a.txt", b"x"), Change("gone.txt/below", b"y")], InvalidArgs),
        ([Change("a.txt", b"x"), Change("../outside", b"y")], PermissionDenied),
        ([Change("a.txt", b"x", expect=digest(b"else"))], Conflict),
        ([Change("a.txt", b"x", expect=b"")], Conflict),
        ([Change("a.txt", None, expect=digest(b"else"))], Conflict),
    ],
    ids=range(12),
)
def test_a_change_that_does_not_fit_leaves_every_file_alone(
    work: Path, changes: list[Change], error: type[WhenceError]
) -> None:
    before = tree(work)

    with pytest.raises(error):
        files(Root(work)).change(changes)

    assert tree(work) == before
    assert records(work) == []


@ATOMIC
def test_what_was_expected_is_changed(work: Path) -> None:
    files(Root(work)).change(
        [
            Change("a.txt", b"x", expect=digest(b"old a\n" * 400)),
            Change("gone.txt", None, expect=digest(b"going\n")),
            Change("fresh", b"y", expect=b""),
        ]
    )

    assert (work / "a.txt").read_bytes() == b"x"
    assert (work / "fresh").read_bytes() == b"y"
    assert not (work / "gone.txt").exists()


@ATOMIC
def test_one_file_alone_needs_no_record(work: Path) -> None:
    files(Root(work)).change([Change("made/b.txt", b"x", expect=b"", mode=0o751)])
    files(Root(work)).change([Change("gone.txt", None)])
    files(Root(work)).change([])

    assert tree(work)["made/b.txt"] == (b"x", 0o751)
    assert not (work / ".agent").exists()


@ATOMIC
def test_a_link_is_written_through_and_removed_itself(work: Path) -> None:
    (work / "link").symlink_to("sub/c.py")
    (work / "other").symlink_to("a.txt")

    files(Root(work)).change([Change("link", b"through"), Change("other", None)])

    assert (work / "sub/c.py").read_bytes() == b"through"
    assert (work / "link").is_symlink()
    assert not (work / "other").is_symlink()
    assert (work / "a.txt").read_bytes() == b"old a\n" * 400


@ATOMIC
def test_the_other_names_of_a_hard_link_keep_the_old_content(work: Path) -> None:
    os.link(work / "a.txt", work / "twin")

    files(Root(work)).change([Change("a.txt", b"x"), Change("gone.txt", b"y")])

    assert (work / "twin").read_bytes() == b"old a\n" * 400
    assert (work / "twin").stat().st_nlink == 1


@ATOMIC
def test_a_file_outside_cannot_be_part_of_it(work: Path) -> None:
    outside = str(work.parent / "outside.txt")
    allowed = WorkspaceFiles(Root(work), {outside: Place(outside, outside, outside, inside=False)})

    with pytest.raises(PermissionDenied, match=r"outside\.txt"):
        allowed.change([Change("a.txt", b"x"), Change(outside, b"y")])
    allowed.change([Change(outside, b"alone")])

    assert Path(outside).read_bytes() == b"alone"
    assert tree(work) == both(work.parent)[0]


@ATOMIC
@pytest.mark.parametrize("limit", [0, 60, 300, 2000])
def test_a_disk_that_fills_up_changes_nothing(work: Path, limit: int) -> None:
    before = tree(work)

    def attempt() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with pytest.raises(ExecutionFailed, match="nothing was changed"):
            files(Root(work)).change(CHANGES)

    assert forked(attempt) == 0
    assert tree(work) == before
    assert records(work) == []
    assert not (work / "new").exists()


@CRASH
@pytest.mark.parametrize("path", ["new.txt", "a.txt"])
@pytest.mark.parametrize("way", ["change", "replacing", "append"])
def test_a_file_is_not_seen_before_it_is_whole(work: Path, path: str, way: str) -> None:
    before = tree(work)

    def attempt(count: int) -> None:
        die_at(count)
        if way == "change":
            files(Root(work)).change([Change(path, b"whole")])
        elif way == "append":
            files(Root(work)).append(path, b"whole")
        else:
            with files(Root(work)).replacing(path) as out:
                out.write(b"whole")

    for count in range(1, 200):
        if forked(partial(attempt, count)) == 0:
            break
        found = tree(work)
        litter = {name: found.pop(name)[0] for name in found.copy() if name.startswith(".whence-")}
        assert set(litter.values()) <= {b"whole"}
        assert found == before or found[path][0].endswith(b"whole")
        for name in litter:
            (work / name).unlink()

    assert count > 5
    assert tree(work)[path][0].endswith(b"whole")


@ATOMIC
@pytest.mark.parametrize("path", ["new.txt", "a.txt"])
def test_a_file_is_written_where_there_are_no_hard_links(work: Path, path: str) -> None:
    mode = tree(work).get(path, (b"", 0o644))[1]

    def attempt() -> None:
        refuse_links()
        files(Root(work)).change([Change(path, b"whole")])

    assert forked(attempt) == 0
    assert tree(work)[path] == (b"whole", mode)
    assert not [name for name in os.listdir(work) if name.startswith(".whence-")]


@ATOMIC
@pytest.mark.parametrize("path", ["new.txt", "Readme"])
def test_an_append_that_does_not_fit_leaves_no_file_behind(work: Path, path: str) -> None:
    before = tree(work)

    def attempt() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        with pytest.raises(ExecutionFailed, match="nothing was changed"):
            files(Root(work)).append(path, b"x" * 200)

    assert forked(attempt) == 0
    assert tree(work) == before


@ATOMIC
def test_a_really_full_disk_changes_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", "size=128k", "none", str(disk)]
    if not shutil.which("mount") or subprocess.run(["mount", *options], check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        root = make(disk / "work")
        before = tree(disk / "work")
        large = Change("sub/c.py", b"x" * 100_000)
        with pytest.raises(ExecutionFailed, match="nothing was changed"):
            files(root).change([*CHANGES[:2], large, Change("big", b"y" * 100_000)])
        assert tree(disk / "work") == before
        files(root).change([*CHANGES[:2], large])
        assert (disk / "work/sub/c.py").stat().st_size == 100_000
        root.close()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@ATOMIC
def test_a_directory_that_cannot_be_written_changes_nothing(work: Path) -> None:
    before = tree(work)
    os.chmod(work / "sub", 0o555)

    def attempt() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        with pytest.raises(PermissionDenied, match=r"sub/c\.py"):
            files(Root(work)).change(CHANGES)

    give_away(work)
    assert forked(attempt) == 0
    assert tree(work) == before
    assert records(work) == []


def give_away(work: Path) -> None:
    """Let a user without privileges own the files, since the system refuses root nothing."""
    if os.geteuid() == 0:
        for path in (work, *work.rglob("*")):
            os.chown(path, 65534, 65534)
        for above in work.parents:
            if above.stat().st_uid == 0 and not above.stat().st_mode & 0o001:
                above.chmod(above.stat().st_mode | 0o011)


@ATOMIC
@pytest.mark.parametrize("after", range(1, 200, 3))
def test_an_error_in_the_middle_is_followed_by_the_old_state(tmp_path: Path, after: int) -> None:
    before, done = both(tmp_path)
    root = make(tmp_path / "work")

    def attempt() -> None:
        fail_at(after, OSError(errno.EIO, os.strerror(errno.EIO)))
        files(root).change(CHANGES)

    ended = forked(attempt)

    if tree(tmp_path / "work") not in (before, done):  # tidying failed: the next start does it
        recover(root)
    assert tree(tmp_path / "work") == (done if ended == 0 else before)
    assert ended in (0, 1)
    root.close()


@ATOMIC
@pytest.mark.parametrize("after", range(1, 90, 6))
def test_what_cannot_be_restored_is_restored_at_the_next_start(tmp_path: Path, after: int) -> None:
    """A disk that fails for good takes nothing with it, as long as it comes back."""
    before, done = both(tmp_path)
    root = make(tmp_path / "work")

    def attempt() -> None:
        fail_at(after, OSError(errno.EIO, os.strerror(errno.EIO)), always=True)
        files(root).change(CHANGES)

    ended = forked(attempt)
    recover(root)

    assert tree(tmp_path / "work") == (done if ended == 0 else before)
    root.close()


@ATOMIC
@pytest.mark.parametrize("path", ["a.txt", "gone.txt", "new/deep/d.txt"])
def test_a_file_that_changes_while_it_is_edited_stays_and_so_do_all_others(
    work: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(work)
    synced = os.fdatasync

    def busy(descriptor: int) -> None:
        synced(descriptor)
        if (work / path).parent.exists():
            (work / path).write_text("mine")

    monkeypatch.setattr(os, "fdatasync", busy)
    with pytest.raises(Conflict, match="changed while it was edited"):
        files(Root(work)).change(CHANGES)

    found = tree(work)
    assert found.pop(path)[0] == b"mine"
    assert found == {name: content for name, content in before.items() if name != path}


@ATOMIC
@pytest.mark.parametrize("content", [b"x", None], ids=["write", "remove"])
def test_one_file_that_changes_while_it_is_edited_stays(
    work: Path, content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = os.fdatasync

    def busy(descriptor: int) -> None:
        synced(descriptor)
        (work / "a.txt").write_text("mine")

    monkeypatch.setattr(os, "fdatasync", busy)
    if content is None:
        (work / "a.txt").write_text("mine")
    with pytest.raises(Conflict):
        files(Root(work)).change([Change("a.txt", content, expect=digest(b"old a\n" * 400))])

    assert (work / "a.txt").read_text() == "mine"


@CRASH
@pytest.mark.parametrize("how", ["before", "after", "without-links"])
def test_a_process_killed_at_any_call_of_the_system_leaves_old_or_new(
    tmp_path: Path, how: str
) -> None:
    before, done = both(tmp_path)
    seen: set[str] = set()
    for count in range(1, 1000):
        work = tmp_path / f"w{count}"
        root = make(work)

        def attempt(root: Root = root, count: int = count) -> None:
            if how == "without-links":
                refuse_links()
            die_at(count, after=how == "after")
            files(root).change(CHANGES)

        if forked(attempt) == 0:
            break
        seen.add(state_after_recovery(root, work, before, done))
        root.close()
        shutil.rmtree(work)

    assert count > 60
    assert seen == {"old", "new"}


def state_after_recovery(root: Root, work: Path, before: Tree, done: Tree) -> str:
    recover(root)
    found = tree(work)
    assert found in (before, done)
    assert records(work) == [] or records(work)[0].endswith(".new")
    assert found == done or not (work / "new").exists()
    return "new" if found == done else "old"


@CRASH
def test_recovery_can_be_killed_too(tmp_path: Path) -> None:
    before, done = both(tmp_path)
    chance = random.Random(5)
    for turn in range(80):
        work = tmp_path / f"w{turn}"
        root = make(work)

        def attempt(root: Root = root, count: int = chance.randrange(20, 110)) -> None:
            die_at(count)
            files(root).change(CHANGES)

        def repair(root: Root = root) -> None:
            die_at(chance.randrange(1, 40))
            recover(root)

        if forked(attempt) != 0:
            for _ in range(3):
                forked(repair)
            state_after_recovery(root, work, before, done)
        root.close()
        shutil.rmtree(work)


@CRASH
def test_a_process_killed_at_any_moment_leaves_old_or_new(tmp_path: Path) -> None:
    """Two states by turns, until the axe falls."""
    work = tmp_path / "work"
    root = Root(make(work).path)
    names = [f"f{number}" for number in range(4)]
    states = {letter: dict.fromkeys(names, letter * 3000) for letter in (b"a", b"b")}
    files(root).change([Change(name, b"a" * 3000) for name in names])
    chance = random.Random(7)

    def attempt() -> None:
        os.close(ready)
        os.write(go, b".")
        for turn in range(1000):
            content = (b"b", b"a")[turn % 2] * 3000
            files(root).change([Change(name, content) for name in names])

    for _ in range(150):
        ready, go = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                attempt()
            finally:
                os._exit(1)
        os.close(go)
        os.read(ready, 1)
        os.close(ready)
        deadline = time.perf_counter() + chance.uniform(0, 0.012)
        while time.perf_counter() < deadline:
            pass
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        recover(root)
        found = {name: (work / name).read_bytes() for name in names}
        assert found in states.values()
        assert not [name for name in os.listdir(work) if name.startswith(".whence")]


@CRASH
def test_nobody_takes_back_what_is_still_going_on(work: Path) -> None:
    root = Root(work)
    ready, go = os.pipe()
    back, on = os.pipe()
    real = os.replace

    def waiting(*args: object, **options: object) -> None:
        os.write(go, b".")
        os.read(back, 1)
        real(*args, **options)  # type: ignore[arg-type]

    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.replace = waiting
            files(root).change([Change("a.txt", b"1"), Change("sub/c.py", b"2")])
            code = 0
        finally:
            os._exit(code)
    for _ in range(2):
        os.read(ready, 1)
        assert recover(root) == []
        os.write(on, b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (work / "a.txt").read_bytes() + (work / "sub/c.py").read_bytes() == b"12"
    for descriptor in (ready, go, back, on):
        os.close(descriptor)


def half_done(work: Path) -> Root:
    """A workspace whose process died when all files were exchanged and nothing was committed."""
    root = Root(work)

    def attempt() -> None:
        synced = os.fsync

        def dying(descriptor: int) -> None:
            synced(descriptor)
            if (work / "README").exists():
                os.kill(os.getpid(), signal.SIGKILL)

        os.fsync = dying  # type: ignore[assignment]
        files(root).change(CHANGES)

    assert forked(attempt) == -signal.SIGKILL
    return root


@CRASH
def test_what_somebody_wrote_after_the_crash_stays(work: Path) -> None:
    root = half_done(work)
    (work / "a.txt").write_text("mine")
    (work / "gone.txt").write_text("again")

    notes = recover(root)

    kept = sorted(path.name for path in work.glob("*.whence-old-*"))
    assert (work / "a.txt").read_text() == "mine"
    assert (work / "gone.txt").read_text() == "again"
    assert [name.partition(".whence")[0] for name in kept] == ["a.txt", "gone.txt"]
    assert (work / kept[0]).read_bytes() == b"old a\n" * 400
    assert (work / "sub/c.py").read_bytes() == b"old c"
    assert [note for note in notes if "a.txt was changed by somebody" in note]
    assert recover(root) == []


@CRASH
@pytest.mark.parametrize("spoil", ["mode", "workspace", "path", "directory", "text"])
def test_a_record_that_was_not_written_here_is_not_believed(work: Path, spoil: str) -> None:
    root = half_done(work)
    (record,) = (work / ".agent/changes").iterdir()
    value = json.loads(record.read_text())
    if spoil == "mode":
        record.chmod(0o644)
    elif spoil == "workspace":
        record.write_text(json.dumps({**value, "workspace": 1}))
    elif spoil == "text":
        record.write_text("{}")
    else:
        step = {**value["steps"][0], "directory": ".." if spoil == "path" else ".agent/sessions"}
        record.write_text(json.dumps({**value, "steps": [step]}))
    before = tree(work)

    assert recover(root) == []
    assert tree(work) == before


@pytest.mark.parametrize("alone", [True, False], ids=["one-file", "several"])
def test_a_file_that_may_not_be_written_is_not_replaced_either(work: Path, alone: bool) -> None:
    os.chmod(work / "a.txt", 0o444)
    before = tree(work)
    steps = [Change("a.txt", b"x"), Change("sub/c.py", b"y")][: 1 if alone else 2]

    def attempt() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        with pytest.raises(PermissionDenied, match="read-only"):
            files(Root(work)).change(steps)
        with pytest.raises(PermissionDenied), files(Root(work)).replacing("a.txt") as out:
            out.write(b"x")
        with pytest.raises(PermissionDenied):
            files(Root(work)).append("a.txt", b"x")

    give_away(work)
    assert forked(attempt) == 0
    assert tree(work) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner(work: Path) -> None:
    os.chmod(work / "a.txt", 0o4755)
    for name in ("a.txt", "gone.txt", "sub/c.py"):
        os.chown(work / name, 1234, 2345)
        os.chmod(work / name, 0o6755)

    files(Root(work)).change([Change("a.txt", b"x"), Change("sub/c.py", b"y")])
    files(Root(work)).change([Change("a.txt", b"z")])
    with files(Root(work)).replacing("gone.txt") as out:
        out.write(b"z")

    for name in ("a.txt", "gone.txt", "sub/c.py"):
        found = (work / name).stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 2345, 0o6755)


@ATOMIC
def test_a_new_file_is_not_also_a_directory(work: Path) -> None:
    before = tree(work)

    with pytest.raises(Conflict, match="'x' is a file here"):
        files(Root(work)).change([Change("x", b"1"), Change("a.txt", b""), Change("x/y/z", b"2")])

    assert tree(work) == before
    assert records(work) == []
