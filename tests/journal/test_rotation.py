"""A long log goes on in numbered parts that form one chain."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.journal.samples import call, logs, note, open_journal, pairs, result
from whence.journal.index import stored_index
from whence.journal.read import last_entries, read_entries
from whence.journal.verify import verify


@pytest.mark.requirement("journal:rotation")
def test_parts_follow_each_other_in_one_chain(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=5)
    ids = pairs(journal, 10)
    journal.close("done")

    assert [path.name for path in logs(journal)][:3] == [
        "session-log.md",
        "session-log.002.md",
        "session-log.003.md",
    ]
    report = verify(journal.directory)
    assert report.ok
    assert report.ended
    entries = list(read_entries(journal.directory))
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [e.fields["call_id"] for e in entries if e.type == "tool_call"] == ids
    assert entries[-1].fields["stats"]["calls"] == 10
    assert "Continued from: session-log.md\n" in logs(journal)[1].read_text()


def test_a_part_ends_by_naming_the_next_which_starts_by_naming_the_last(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=2)
    call_id = journal.append_call(call("terminal.run"))
    journal.append(result(call_id))

    entries = {entry.type: entry for entry in read_entries(journal.directory)}
    assert entries["rotated"].fields["continues_in"] == "session-log.002.md"
    assert entries["continued"].fields["continued_from"] == "session-log.md"
    assert entries["continued"].fields["open_calls"] == {call_id: "terminal.run"}


def test_a_part_is_closed_when_it_has_grown_to_its_size(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_bytes=3000)
    for _ in range(10):
        journal.append(note("x" * 400))

    sizes = [path.stat().st_size for path in logs(journal)]
    assert len(sizes) >= 3
    assert all(3000 <= size < 4500 for size in sizes[:-1])


def test_a_call_left_open_in_an_earlier_part_is_interrupted_with_its_tool(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=3)
    call_id = journal.append_call(call("terminal.run"))
    pairs(journal, 4)
    journal.close()

    last = list(read_entries(open_journal(tmp_path).directory))[-1]
    assert (last.fields["call_id"], last.fields["tool"]) == (call_id, "terminal.run")


def test_closed_parts_are_not_kept_open(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=3)
    before = len(os.listdir("/proc/self/fd"))
    pairs(journal, 20)

    assert len(logs(journal)) > 10
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_writer_follows_another_into_the_next_part(tmp_path: Path) -> None:
    first = open_journal(tmp_path, rotate_events=1000)
    second = open_journal(tmp_path, rotate_events=3)
    for _ in range(5):
        pairs(second, 3)
        pairs(first, 1)

    assert len(logs(first)) > 3
    assert verify(first.directory).ok
    ids = [e.fields["call_id"] for e in read_entries(first.directory) if e.type == "tool_call"]
    assert ids == [f"call-{number:03d}" for number in range(1, 21)]


def test_an_ended_session_stays_ended_across_a_rotation(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=1)
    journal.close("done")
    journal = open_journal(tmp_path, rotate_events=1)

    types = [entry.type for entry in read_entries(journal.directory)]
    assert types[-2:] == ["continued", "session_start"]
    assert verify(journal.directory).ok


def test_a_closed_part_has_an_index_of_its_paths(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=5)
    pairs(journal, 1, path="a.py")
    pairs(journal, 4, path="dir/with, comma.py")

    directory = os.open(journal.directory, os.O_RDONLY)
    try:
        index = stored_index(directory, 1)
    finally:
        os.close(directory)
    assert index is not None
    assert sorted(index.touches) == ["a.py", "dir/with, comma.py"]


def test_the_last_entries_are_read_without_the_closed_parts(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=10)
    pairs(journal, 30)
    everything = list(read_entries(journal.directory))
    here = [entry for entry in everything if entry.part == logs(journal)[-1].name]
    for part in logs(journal)[:-1]:
        part.write_bytes(b"\xff unreadable \xff")

    assert last_entries(journal.directory, len(here)) == here


@pytest.mark.parametrize("count", [0, 1, 2, 9, 10, 11, 25, 69, 70, 1000])
def test_the_last_entries_are_the_last_of_all_entries(tmp_path: Path, count: int) -> None:
    journal = open_journal(tmp_path, rotate_events=10)
    pairs(journal, 25, content="long " * 2000)
    journal.append(note("last"))
    everything = list(read_entries(journal.directory))

    assert last_entries(journal.directory, count) == everything[max(0, len(everything) - count) :]


def test_reading_the_tail_of_a_part_parses_only_the_tail(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_bytes=1 << 30)
    for number in range(300):
        journal.append(note(f"{number} " + "y" * 10_000))
    log = logs(journal)[0]
    data = log.read_bytes()
    middle = len(data) // 2
    log.write_bytes(data[:middle] + b"\xff" + data[middle + 1 :])

    entries = last_entries(journal.directory, 3)
    assert [entry.fields["text"][:3] for entry in entries] == ["297", "298", "299"]
    assert [entry.line for entry in entries] == [
        number for number, line in enumerate(data.split(b"\n"), 1) if line.startswith(b"## ")
    ][-3:]
