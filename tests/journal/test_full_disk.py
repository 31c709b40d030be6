"""Where nothing can be written, nothing is half written, and the caller is told."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.journal.samples import call, logs, note, open_journal, pairs, result
from whence.errors import Unavailable
from whence.journal.read import read_entries
from whence.journal.verify import verify
from whence.journal.write import Journal
from whence.shapes.event import Event


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """Let no file grow beyond a size: a write stops in the middle there."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.requirement("journal:full-disk")
def test_a_write_that_does_not_fit_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    call_id = journal.append_call(call())
    before = logs(journal)[0].read_bytes()

    with files_at_most(len(before) + 100):
        with pytest.raises(Unavailable, match="nothing was recorded") as caught:
            journal.append(result(call_id))
        with pytest.raises(Unavailable):
            journal.append_call(call())

    assert caught.value.suggestion
    assert logs(journal)[0].read_bytes() == before
    journal.append(result(call_id))
    assert pairs(journal, 1) == ["call-002"]
    assert verify(journal.directory).ok


def test_a_part_that_cannot_be_begun_is_begun_later(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=3)
    call_id = journal.append_call(call())
    journal.append(result(call_id))
    size = logs(journal)[0].stat().st_size

    with files_at_most(size + 600):
        with pytest.raises(Unavailable):
            journal.append(note("x" * size))
        with pytest.raises(Unavailable):
            journal.append(note("x" * size))
    other = open_journal(tmp_path, rotate_events=3)
    other.append(note("second"))
    journal.append(note("first"))

    assert verify(journal.directory).problems == ()
    types = [entry.type for entry in read_entries(journal.directory)]
    assert types.count("rotated") == types.count("continued") == len(logs(journal)) - 1


def test_a_new_session_without_room_is_refused(tmp_path: Path) -> None:
    with files_at_most(100), pytest.raises(Unavailable, match="nothing was recorded"):
        open_journal(tmp_path)

    journal = open_journal(tmp_path)
    assert [entry.type for entry in read_entries(journal.directory)] == ["session_start"]


def fill(journal: Journal) -> Iterator[Event]:
    """Record events until there is no room for another."""
    while True:
        event = note("x" * 3000)
        try:
            journal.append(event)
        except Unavailable:
            return
        yield event


@pytest.mark.requirement("journal:full-disk")
def test_a_full_disk_says_so(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        journal = open_journal(disk)
        recorded = list(fill(journal))
        with pytest.raises(Unavailable, match="nothing was recorded") as caught:
            journal.append(note("x" * 3000))
        assert caught.value.suggestion == "Free some disk space, then call again."
        assert caught.value.details["errno"] == "ENOSPC"
        report = verify(journal.directory)
        assert report.ok
        assert report.events == len(recorded) + 1
        journal.close()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_directory_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")

    with pytest.raises(Unavailable, match="nothing was recorded") as caught:
        open_journal(tmp_path / "file")
    assert caught.value.suggestion


@pytest.mark.requirement("journal:full-disk")
def test_a_read_only_directory_is_refused(tmp_path: Path) -> None:
    """In a child without root's powers, where the tests have them."""
    locked = tmp_path / "locked"
    locked.mkdir()
    os.chmod(tmp_path, 0o755)
    os.chmod(locked, 0o555)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
            try:
                open_journal(locked)
            except Unavailable as error:
                os.write(theirs, str(error.details["errno"]).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    said = os.read(ours, 100).decode()
    os.close(ours)

    assert said == errno.errorcode[errno.EACCES]
