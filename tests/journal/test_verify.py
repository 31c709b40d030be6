"""Nothing can be changed, taken away or added without `verify` finding it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.journal.samples import call, fault, fresh_copy, logs, note, open_journal, pairs, result
from whence.errors import NotFound
from whence.journal.read import last_entries, read_entries
from whence.journal.verify import verify


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of three parts that has not ended."""
    journal = open_journal(tmp_path_factory.mktemp("written"), rotate_events=4)
    pairs(journal, 3)
    journal.append(fault(journal.append_call(call(content="a\nb\n```\n"))))
    journal.append(note("Grüße"))
    journal.close()
    assert len(logs(journal)) == 3
    report = verify(journal.directory)
    assert (report.ok, report.events, report.ended, report.open_calls) == (True, 14, False, ())
    return Path(journal.directory)


def damaged(written: Path, name: str, data: bytes) -> bool:
    """Whether `verify` finds fault with the session once a file has been replaced."""
    original = (written / name).read_bytes()
    (written / name).write_bytes(data)
    try:
        report = verify(written)
    finally:
        (written / name).write_bytes(original)
    assert report.ok == (not report.problems)
    assert all(problem.what and problem.suggestion for problem in report.problems)
    return not report.ok


FILES = ["session-log.md", "session-log.002.md", "session-log.003.md", "session-log.head"]


@pytest.mark.requirement("journal:chain")
@pytest.mark.parametrize("name", FILES)
def test_a_change_of_any_single_byte_is_found(written: Path, name: str) -> None:
    data = (written / name).read_bytes()
    for position in range(0, len(data), 7):
        flipped = bytes([data[position] ^ 1])
        assert damaged(written, name, data[:position] + flipped + data[position + 1 :]), position


@pytest.mark.requirement("journal:chain")
@settings(deadline=None, max_examples=400)
@given(data=st.data())
def test_any_bytes_changed_removed_or_inserted_anywhere_are_found(
    written: Path, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(FILES))
    original = (written / name).read_bytes()
    start = data.draw(st.integers(0, len(original)))
    stop = data.draw(st.integers(start, min(len(original), start + 1500)))
    inserted = data.draw(st.binary(max_size=5) | st.sampled_from([b"\n", b" ", original[:200]]))
    changed = original[:start] + inserted + original[stop:]

    if changed != original:
        assert damaged(written, name, changed)


@pytest.mark.requirement("journal:chain")
def test_any_whole_tail_removed_is_found(written: Path, tmp_path: Path) -> None:
    for name in FILES[:3]:
        data = (written / name).read_bytes()
        for end in [match.start() for match in re.finditer(rb"^## ", data, re.MULTILINE)]:
            assert damaged(written, name, data[:end]), (name, end)
    for gone in FILES:
        copy = fresh_copy(written, tmp_path / gone)
        (copy / gone).unlink()
        assert not verify(copy).ok, gone


def test_two_records_that_changed_places_are_found(written: Path) -> None:
    data = (written / "session-log.md").read_bytes()
    pieces = re.split(rb"(?m)(?=^## )", data)
    pieces[2], pieces[3] = pieces[3], pieces[2]

    assert damaged(written, "session-log.md", b"".join(pieces))


def test_an_edited_event_is_named_with_its_place_and_only_once(
    written: Path, tmp_path: Path
) -> None:
    copy = fresh_copy(written, tmp_path / "copy")
    log = copy / "session-log.md"
    log.write_text(log.read_text().replace("fine", "good", 1))

    (problem,) = verify(copy).problems
    heading = log.read_text().splitlines()[problem.line - 1]
    assert "Tool Result: fs.read" in heading
    assert problem.part == "session-log.md"
    assert "the text was changed after it was written" in problem.what


def test_an_index_that_hides_a_call_is_found(written: Path, tmp_path: Path) -> None:
    copy = fresh_copy(written, tmp_path / "copy")
    index = copy / "session-log.001.idx"
    index.write_text(index.read_text().replace("src/parser.ts", "src/other.ts"))

    (problem,) = verify(copy).problems
    assert "session-log.001.idx does not fit its part" in problem.what


def test_a_log_that_is_longer_than_its_head_is_fine(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 1)
    head = (Path(journal.directory) / "session-log.head").read_bytes()
    pairs(journal, 2)
    journal.close()
    (Path(journal.directory) / "session-log.head").write_bytes(head)

    assert verify(journal.directory).ok


def test_without_a_head_only_the_end_of_the_session_vouches_for_the_end(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 1)
    os.unlink(Path(journal.directory) / "session-log.head")

    (problem,) = verify(journal.directory).problems
    assert "nothing vouches for the end" in problem.what

    journal = open_journal(tmp_path, "other")
    journal.close("done")
    os.unlink(Path(journal.directory) / "session-log.head")
    assert verify(journal.directory).ok
    assert verify(journal.directory).ended


def test_an_event_of_several_megabytes_is_written_read_and_verified(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    content = "0123456789 lines and more\n" * 120_000
    journal.append(note(content), note("after"))

    assert verify(journal.directory).ok
    assert [e.fields.get("text") for e in read_entries(journal.directory)][1:] == [content, "after"]
    assert len(last_entries(journal.directory, 2)) == 2


def test_open_calls_are_listed(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    call_id = journal.append_call(call())

    report = verify(journal.directory)
    assert report.ok
    assert report.open_calls == (call_id,)


def test_an_outcome_without_a_call_is_found(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.append(result("call-099"))

    (problem,) = verify(journal.directory).problems
    assert problem.what == "an outcome without a call: 'call-099'"
    assert problem.seq == 2


def test_a_call_id_used_twice_at_a_time_is_found(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.append_call(call())
    event = call()
    fields = {**event.fields, "call_id": "call-001"}
    journal.append_call(type(event)(event.type, fields, event.title))

    (problem,) = verify(journal.directory).problems
    assert "called again before it had an outcome" in problem.what


def test_a_hand_written_log_is_reported_as_not_chained(tmp_path: Path) -> None:
    (tmp_path / "session-log.md").write_text("# Session Log: x\n\n## 12:00:00 — A\n\nwords\n")

    report = verify(tmp_path)
    assert not report.ok
    assert report.events == 0


def test_a_directory_without_a_log_is_not_found(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(NotFound, match=re.escape(str(path))):
            verify(path)


def test_a_text_that_was_changed_is_told_once_and_its_end_is_not_missed(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 3, why="Find the entry point")
    journal.close()
    (log,) = logs(journal)
    log.write_text(log.read_text().replace("Find the entry point", "Play", 1))

    told = [problem.what for problem in verify(journal.directory).problems]
    reopened = open_journal(tmp_path)

    assert told == ["the text was changed after it was written: its hash does not fit"]
    reason = next(iter(read_entries(reopened.directory))).fields["reason"]
    assert reason == told[0]
