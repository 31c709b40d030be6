"""A damaged log is kept, said so, and carried over as far as it can be read."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.journal.samples import call, fresh_copy, logs, note, open_journal, pairs, text
from whence.journal.read import read_entries
from whence.journal.verify import verify
from whence.journal.write import Journal
from whence.shapes.call import Comment
from whence.shapes.event import Entry


def written(root: Path, count: int = 3) -> Path:
    """A session of some calls, closed without an end; its log."""
    journal = open_journal(root)
    journal.append_call(call(comments=(Comment(("args", "why"), "asked by ann"),)))
    pairs(journal, count)
    journal.close()
    return Path(journal.directory) / "session-log.md"


def reopened(root: Path) -> tuple[Journal, list[Entry]]:
    journal = open_journal(root)
    report = verify(journal.directory)
    assert report.problems == ()
    return journal, list(read_entries(journal.directory))


@pytest.mark.requirement("journal:corruption")
def test_an_edited_event_sets_the_log_aside_and_everything_readable_goes_on(tmp_path: Path) -> None:
    log = written(tmp_path)
    log.write_text(log.read_text().replace("fine", "good", 1))
    damaged = log.read_bytes()

    journal, entries = reopened(tmp_path)

    assert (log.parent / "session-log.md.corrupted").read_bytes() == damaged
    first, *carried = entries[:9]
    assert first.type == "recovery"
    assert first.fields["from"] == "session-log.md"
    assert first.fields["backup"] == "session-log.md.corrupted"
    assert "the text was changed" in first.fields["reason"]
    assert (first.fields["salvaged"], first.fields["lost"]) == (8, 0)
    assert "Tool Result" in damaged.decode().splitlines()[first.fields["line"] - 1]
    assert first.seq == 9
    assert [entry.fields["salvaged_from"] for entry in carried] == list(range(1, 9))
    assert [entry.fields.get("altered") for entry in carried] == [None] * 3 + [True] + [None] * 4
    assert carried[3].fields["result"] == "good"
    assert carried[1].comments == (Comment(("args", "why"), "asked by ann"),)
    assert entries[9].fields["error"]["code"] == "INTERRUPTED"
    assert journal.append_call(call()) == "call-005"


def test_the_text_of_salvaged_events_is_kept_but_for_its_stamp(tmp_path: Path) -> None:
    log = written(tmp_path)
    before = log.read_text()
    log.write_text(before + "garbage")
    journal, _ = reopened(tmp_path)

    def unstamped(logged: str) -> list[str]:
        bare = re.sub(r"(?m)^(seq|prev|hash|salvaged_from): .*\n", "", logged)
        return re.split(r"(?m)^(?=## )", bare)

    assert unstamped(text(journal))[2:10] == unstamped(before)[1:]


def test_a_torn_tail_loses_only_what_was_never_whole(tmp_path: Path) -> None:
    log = written(tmp_path)
    whole = log.read_bytes()
    log.write_bytes(whole + whole[-300:-100])

    _, entries = reopened(tmp_path)

    assert entries[0].fields["lost"] == 0
    assert entries[0].fields["salvaged"] == 8
    assert "not a whole record" in entries[0].fields["reason"]


def test_a_log_that_lost_its_end_says_how_much(tmp_path: Path) -> None:
    log = written(tmp_path)
    data = log.read_bytes()
    log.write_bytes(data[: [m.start() for m in re.finditer(rb"(?m)^## ", data)][5]])

    journal, entries = reopened(tmp_path)

    assert entries[0].fields["lost"] == 3
    assert "the head knows 3 more events" in entries[0].fields["reason"]
    assert journal.append_call(call()) == "call-005"


def test_an_event_that_was_cut_out_is_counted_as_lost(tmp_path: Path) -> None:
    log = written(tmp_path)
    pieces = re.split(r"(?m)(?=^## )", log.read_text())
    del pieces[4]
    log.write_text("".join(pieces))

    _, entries = reopened(tmp_path)

    assert (entries[0].fields["salvaged"], entries[0].fields["lost"]) == (7, 1)
    assert not any(entry.fields.get("altered") for entry in entries)


def test_a_log_that_is_gone_is_missed(tmp_path: Path) -> None:
    log = written(tmp_path)
    log.unlink()

    _, entries = reopened(tmp_path)

    assert entries[0].type == "recovery"
    assert entries[0].fields["reason"] == "session-log.md is gone"
    assert entries[0].fields["backup"] is None
    assert entries[0].fields["lost"] == 8


def test_a_log_that_was_emptied_is_missed(tmp_path: Path) -> None:
    log = written(tmp_path)
    log.write_bytes(b"")

    _, entries = reopened(tmp_path)

    assert entries[0].fields["lost"] == 8


def test_every_damage_gets_a_file_of_its_own(tmp_path: Path) -> None:
    log = written(tmp_path)
    for round_ in range(3):
        log.write_bytes(log.read_bytes() + b"x")
        open_journal(tmp_path).close()
        assert verify(log.parent).recoveries == 1, round_

    assert {path.name for path in log.parent.glob("*.corrupted*")} == {
        "session-log.md.corrupted",
        "session-log.md.corrupted.2",
        "session-log.md.corrupted.3",
    }
    entries = list(read_entries(log.parent))
    assert [entry.type for entry in entries].count("recovery") == 3
    assert len({entry.seq for entry in entries}) == len(entries)
    assert text(open_journal(tmp_path)).count("salvaged_from") == len(entries) - 1


def test_a_backup_that_was_changed_afterwards_is_found(tmp_path: Path) -> None:
    log = written(tmp_path)
    log.write_bytes(log.read_bytes() + b"x")
    journal, _ = reopened(tmp_path)
    backup = log.parent / "session-log.md.corrupted"
    backup.write_text(backup.read_text().replace("fine", "good"))

    (problem,) = verify(journal.directory).problems
    assert "does not continue session-log.md.corrupted" in problem.what


def test_a_later_part_is_recovered_like_the_first(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=4)
    pairs(journal, 3)
    open_call = journal.append_call(call("terminal.run"))
    pairs(journal, 1)
    journal.close()
    last = logs(journal)[-1]
    assert last.name == "session-log.003.md"
    last.write_bytes(last.read_bytes().replace(b"Log Continued", b"log continued"))

    _, entries = reopened(tmp_path)

    recovery = next(entry for entry in entries if entry.type == "recovery")
    assert recovery.part == "session-log.003.md"
    assert recovery.fields["backup"] == "session-log.003.md.corrupted"
    assert recovery.fields["calls"] == 3
    interrupted = [e for e in entries if e.type == "tool_error"]
    assert [entry.fields["call_id"] for entry in interrupted] == [open_call]


def test_a_missing_last_part_is_missed(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=4)
    pairs(journal, 3)
    journal.close()
    logs(journal)[-1].unlink()

    journal, entries = reopened(tmp_path)

    assert [path.name for path in logs(journal)][-1] == "session-log.002.md"
    (recovery,) = [entry for entry in entries if entry.type == "recovery"]
    assert recovery.fields["reason"] == "session-log.002.md is gone"
    assert entries[-1].fields["error"]["code"] == "INTERRUPTED"
    assert journal.append_call(call()) == "call-004"


def test_several_missing_parts_are_replaced_by_one(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=4)
    pairs(journal, 8)
    journal.close()
    events = verify(journal.directory).events
    for path in logs(journal)[1:]:
        path.unlink()

    journal, entries = reopened(tmp_path)

    (recovery,) = [entry for entry in entries if entry.type == "recovery"]
    assert (recovery.part, recovery.seq) == ("session-log.002.md", events + 1)
    assert recovery.fields["lost"] == events - 5
    assert journal.append_call(call()) == "call-009"


def test_a_head_that_names_an_absurd_part_does_no_harm(tmp_path: Path) -> None:
    log = written(tmp_path)
    head = log.parent / "session-log.head"
    head.write_text(head.read_text().replace("part=1 ", "part=999999999 ").replace(" \n", "\n"))
    head.write_text(f"{head.read_text().rstrip():159}\n")
    assert not verify(log.parent).ok

    journal, entries = reopened(tmp_path)
    assert [path.name for path in logs(journal)] == ["session-log.md"]
    assert entries[0].fields["reason"] == "session-log.999999999.md is gone"


def test_a_missing_head_is_told_in_the_log(tmp_path: Path) -> None:
    log = written(tmp_path)
    os.unlink(log.parent / "session-log.head")

    _, entries = reopened(tmp_path)

    (warning,) = [entry for entry in entries if entry.type == "warning"]
    assert warning.fields["code"] == "HEAD_MISSING"


def test_a_live_writer_notices_that_its_log_was_replaced(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 2)
    log = logs(journal)[0]
    edited = log.read_text().replace("fine", "good", 1)
    log.unlink()
    log.write_text(edited)

    journal.append(note("goes on"))

    assert verify(journal.directory).problems == ()
    entries = list(read_entries(journal.directory))
    assert entries[0].type == "recovery"
    assert entries[-1].fields["text"] == "goes on"


def test_a_live_writer_notices_bytes_that_are_not_its_own(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 2)
    with open(logs(journal)[0], "a", encoding="utf-8") as file:
        file.write(
            "## 12:00:00 — Forged\n\n```yaml\ntype: tool_result\ncall_id: call-001\n```\n\n---\n\n"
        )

    journal.append(note("goes on"))

    entries = list(read_entries(journal.directory))
    assert verify(journal.directory).problems == ()
    assert entries[0].type == "recovery"
    assert [entry.type for entry in entries if entry.fields.get("altered")] == ["tool_result"]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("pristine"), 2).parent


@pytest.mark.requirement("journal:corruption")
@settings(deadline=None, max_examples=120)
@given(data=st.data())
def test_after_any_damage_the_log_is_sound_again_and_nothing_intact_is_lost(
    pristine: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("damaged")
    log = fresh_copy(pristine, root / "sess-001") / "session-log.md"
    original = log.read_bytes()
    start = data.draw(st.integers(0, len(original) - 1))
    stop = data.draw(st.integers(start, min(len(original), start + 900)))
    inserted = data.draw(st.binary(max_size=4) | st.sampled_from([b"\n", b"```", b"---\n", b"#"]))
    log.write_bytes(original[:start] + inserted + original[stop:])

    _, entries = reopened(root)

    headings = [m.start() for m in re.finditer(rb"(?m)^## ", original)]
    ends = [*headings[1:], len(original)]
    begins = [0, *headings[1:]]
    intact = {
        n
        for n, (a, b) in enumerate(zip(begins, ends, strict=True), 1)
        if b <= start or a >= stop + 1
    }
    if original != original[:start] + inserted + original[stop:]:
        kept = {entry.fields.get("salvaged_from") for entry in entries}
        assert intact <= kept
