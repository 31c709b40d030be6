"""No path leads out of the workspace, whatever it is made of."""

from __future__ import annotations

import errno
import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import Conflict, InvalidArgs, NotFound, PermissionDenied, WhenceError
from whence.execute import containment
from whence.execute.containment import Root
from whence.execute.files import WorkspaceFiles
from whence.shapes.place import Place

pytestmark = pytest.mark.requirement("execute:containment")


@pytest.fixture(params=["kernel", "walk"])
def root(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Root:
    """A workspace with a secret beside it, resolved by the kernel and, elsewhere, by walking."""
    if request.param == "walk":
        monkeypatch.setattr(containment, "HAS_OPENAT2", False)
    elif not containment.HAS_OPENAT2:
        pytest.skip("this kernel has no openat2")
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "a.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("secret")
    (work / "out").symlink_to(tmp_path / "secret.txt")
    (work / "up").symlink_to("..")
    (work / "abs").symlink_to(work / "a.txt")
    (work / "rel").symlink_to("sub/../a.txt")
    (work / "dangling").symlink_to("nowhere")
    (work / "loop").symlink_to("loop")
    return Root(work)


def files(root: Root, *paths: str) -> WorkspaceFiles:
    return WorkspaceFiles(root, {path: root.locate(path) for path in paths})


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("a.txt", "a.txt"),
        ("./sub/../a.txt", "a.txt"),
        ("abs", "a.txt"),
        ("rel", "a.txt"),
        (".", "."),
        ("new/deep/file", "new/deep/file"),
        ("dangling", "nowhere"),
    ],
)
def test_paths_inside_resolve_to_what_they_mean(root: Root, given: str, path: str) -> None:
    place = root.locate(given)

    assert (place.path, place.inside) == (path, True)


@pytest.mark.parametrize(
    "given",
    ["../secret.txt", "out", "up/secret.txt", "/etc/passwd", "sub/../../secret.txt", "/", "up",
     "up/nothing-there", "../work-not/x"],
)  # fmt: skip
def test_paths_that_lead_outside_are_known_as_such(root: Root, given: str) -> None:
    assert not root.locate(given).inside


def test_an_absolute_path_into_the_workspace_is_inside(root: Root) -> None:
    assert root.locate(f"{root.path}/a.txt").path == "a.txt"


@pytest.mark.parametrize("given", ["", "a\0b", "x" * 5000, "\ud800"])
def test_text_that_can_be_no_path_is_invalid(root: Root, given: str) -> None:
    with pytest.raises(InvalidArgs):
        root.locate(given)


@pytest.mark.parametrize("given", ["../secret.txt", "out", "up/secret.txt", "up/nothing-there"])
def test_the_outside_is_refused_the_same_whether_it_exists_or_not(root: Root, given: str) -> None:
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        files(root).open(given)


def test_a_link_swapped_in_after_the_check_is_not_followed(root: Root, tmp_path: Path) -> None:
    confined = files(root, "a.txt")
    (tmp_path / "work" / "a.txt").unlink()
    (tmp_path / "work" / "a.txt").symlink_to(tmp_path / "secret.txt")

    with pytest.raises(WhenceError):
        confined.open("a.txt")


def test_a_directory_swapped_for_a_link_after_the_check_is_not_followed(
    root: Root, tmp_path: Path
) -> None:
    confined = files(root, "sub/secret.txt")
    (tmp_path / "work" / "sub").rmdir()
    (tmp_path / "work" / "sub").symlink_to(tmp_path)

    with pytest.raises(WhenceError), confined.replacing("sub/secret.txt") as out:
        out.write(b"overwritten")
    assert (tmp_path / "secret.txt").read_text() == "secret"


def test_a_fifo_a_socket_and_a_device_are_no_files(root: Root, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "work" / "fifo")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.fspath(tmp_path / "work" / "socket"))
    try:
        for name in ("fifo", "socket", "loop", "sub"):
            with pytest.raises((InvalidArgs, WhenceError)):
                files(root).open(name)
        with pytest.raises(InvalidArgs):
            files(root).append("fifo", b"x")
    finally:
        listening.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_a_device_inside_the_workspace_is_no_file(root: Root, tmp_path: Path) -> None:
    device = tmp_path / "work" / "zero"
    try:
        os.mknod(device, 0o666 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this machine does not let root make devices")

    with pytest.raises(InvalidArgs, match="device"):
        files(root).open("zero")


def test_writing_through_a_link_inside_changes_its_target_and_keeps_the_link(
    root: Root, tmp_path: Path
) -> None:
    with files(root, "rel").replacing("rel") as out:
        out.write(b"new")

    assert (tmp_path / "work" / "a.txt").read_bytes() == b"new"
    assert (tmp_path / "work" / "rel").is_symlink()


def test_removing_a_link_leaves_its_target(root: Root, tmp_path: Path) -> None:
    files(root).remove("out")

    assert (tmp_path / "secret.txt").exists()
    assert not (tmp_path / "work" / "out").is_symlink()


def test_a_link_to_the_outside_cannot_be_made(root: Root) -> None:
    with pytest.raises(PermissionDenied):
        files(root).make_link("sub/escape", "../../secret.txt")


def test_an_admitted_place_outside_can_be_used_and_nothing_beside_it(
    root: Root, tmp_path: Path
) -> None:
    outside = os.fspath(tmp_path / "secret.txt")
    confined = WorkspaceFiles(root, {outside: Place(outside, outside, outside, inside=False)})

    with confined.open(outside) as file:
        assert file.read() == b"secret"
    with pytest.raises(PermissionDenied):
        confined.open(os.fspath(tmp_path / "other.txt"))


def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(
    root: Root, tmp_path: Path
) -> None:
    def fail() -> None:
        with files(root, "a.txt").replacing("a.txt") as out:
            out.write(b"half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fail()

    assert (tmp_path / "work" / "a.txt").read_text() == "inside"
    assert not list((tmp_path / "work").glob("*whence*"))


def test_a_write_keeps_the_mode(root: Root, tmp_path: Path) -> None:
    (tmp_path / "work" / "a.txt").chmod(0o751)

    with files(root, "a.txt").replacing("a.txt") as out:
        out.write(b"new")

    assert (tmp_path / "work" / "a.txt").stat().st_mode & 0o777 == 0o751


def test_appends_of_many_threads_are_whole(root: Root, tmp_path: Path) -> None:
    def add(letter: str) -> None:
        for _ in range(50):
            files(root).append("log", letter.encode() * 100 + b"\n")

    threads = [threading.Thread(target=add, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = (tmp_path / "work" / "log").read_text().splitlines()
    assert len(lines) == 200
    assert all(len(set(line)) == 1 and len(line) == 100 for line in lines)


@settings(max_examples=300, deadline=None)
@given(parts=st.lists(st.sampled_from(["..", ".", "sub", "up", "out", "abs", "a.txt", "", "loop"])))
def test_whatever_the_path_a_read_gives_only_what_is_inside(
    parts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = tmp_path_factory.getbasetemp() / "fuzz"
    if not base.exists():
        (base / "work" / "sub").mkdir(parents=True)
        (base / "work" / "a.txt").write_text("inside")
        (base / "a.txt").write_text("secret")
        (base / "work" / "up").symlink_to("..")
        (base / "work" / "out").symlink_to(base / "a.txt")
        (base / "work" / "abs").symlink_to(base / "work" / "a.txt")
        (base / "work" / "loop").symlink_to("loop")
    root = Root(base / "work")
    try:
        with files(root).open("/".join(parts)) as file:
            content = file.read()
    except (InvalidArgs, NotFound, PermissionDenied):
        content = b"inside"
    finally:
        root.close()

    assert content == b"inside"


@pytest.mark.parametrize("times", [1, 10_000])
def test_a_link_that_is_swapped_while_it_is_followed_is_followed_again(
    root: Root, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    real, left = os.readlink, times

    def swapped(path: str) -> str:
        nonlocal left
        left -= 1
        if left >= 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return real(path)

    monkeypatch.setattr(os, "readlink", swapped)
    if times == 1:
        assert root.locate("rel").path == "a.txt"
    else:
        with pytest.raises(Conflict, match="'rel' is being changed"):
            root.locate("rel")
