"""Why was this file touched, and what does a session come to?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journal.samples import call, fault, logs, note, open_journal, pairs, result
from whence.errors import NotFound
from whence.journal.query import Touched, stats, why
from whence.shapes.event import Event


def told(touched: Touched) -> tuple[str, str, str]:
    return touched.call_id, touched.why, touched.outcome


def test_the_history_of_a_file_is_every_call_with_its_reason_and_outcome(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 1, path="a.py", why="Find the entry point")
    pairs(journal, 1, path="b.py")
    journal.append(fault(journal.append_call(call(path="a.py", why='Say "hi" # really'))))
    journal.append_call(call("fs.write", path="a.py", why="Fix\nboth\nlines"))

    first, second, third = why(journal.directory, "./a.py")
    assert told(first) == ("call-001", "Find the entry point", "ok")
    assert told(second) == ("call-003", 'Say "hi" # really', "NOT_FOUND")
    assert told(third) == ("call-004", "Fix\nboth\nlines", "open")
    assert (third.tool, third.seq, third.paths) == ("fs.write", 8, ("a.py",))
    assert third.timestamp.endswith("Z")
    lines = logs(journal)[0].read_text().split("\n")
    assert lines[third.line - 1].endswith("Tool Call: fs.write")


def test_the_history_of_a_directory_is_that_of_everything_below(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    for path in ("src/a.py", "src/deep/b, c.py", "srcs/c.py", "src"):
        pairs(journal, 1, path=path)

    assert [t.paths for t in why(journal.directory, "src/")] == [
        ("src/a.py",),
        ("src/deep/b, c.py",),
        ("src",),
    ]
    assert len(list(why(journal.directory, "."))) == 4
    assert list(why(journal.directory, "sr")) == []


def test_a_call_of_several_paths_is_told_once(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    fields = {"tool": "fs.copy", "args": {"why": "Keep a copy"}, "paths": ["src/a", "src/b"]}
    journal.append_call(Event("tool_call", fields, "Tool Call: fs.copy"))

    (touched,) = why(journal.directory, "src")
    assert touched.paths == ("src/a", "src/b")


def test_the_reason_of_a_tool_with_a_why_of_its_own_is_the_other_one(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    args = {"why": "because", "_why": "Ask the oracle"}
    fields = {"tool": "oracle", "args": args, "paths": ["a"]}
    journal.append_call(Event("tool_call", fields, "Tool Call: oracle"))

    (touched,) = why(journal.directory, "a")
    assert touched.why == "Ask the oracle"


@pytest.mark.requirement("journal:rotation")
def test_the_history_spans_parts_in_order_also_where_outcomes_come_late(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=4)
    slow = journal.append_call(call("terminal.run", path="a.py"))
    ids = pairs(journal, 6, path="a.py")
    journal.append(fault(slow, "terminal.run", "TIMEOUT"))
    pairs(journal, 3, path="b.py")

    history = list(why(journal.directory, "a.py"))
    assert [t.call_id for t in history] == [slow, *ids]
    assert [t.outcome for t in history] == ["TIMEOUT", *["ok"] * 6]
    assert len({t.part for t in history}) > 2


def test_an_index_that_is_missing_stale_or_broken_changes_nothing(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=4)
    pairs(journal, 8, path="a.py")
    expected = list(why(journal.directory, "a.py"))
    indices = sorted(Path(journal.directory).glob("*.idx"))
    assert len(indices) >= 3

    indices[0].unlink()
    indices[1].write_text("{broken")
    indices[2].write_text('{"size": 1, "hash": "", "touches": {}, "late": {}}')

    assert list(why(journal.directory, "a.py")) == expected


def test_a_part_that_does_not_mention_the_path_is_not_read(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=6)
    pairs(journal, 5, path="a.py")
    pairs(journal, 5, path="b.py")
    expected = list(why(journal.directory, "b.py"))
    first = logs(journal)[0]
    data = first.read_bytes()
    first.write_bytes(data[:2000].replace(b"a.py", b"b.py") + data[2000:])

    assert list(why(journal.directory, "b.py")) == expected


def test_a_hand_written_log_can_be_asked_too(tmp_path: Path) -> None:
    (tmp_path / "session-log.md").write_text(
        "## 12:00:00 — Tool Call: fs.read\n\n```yaml\ntype: tool_call\ntool: fs.read\n"
        "call_id: call-001\nargs:\n  path: src/parser.ts\n  why: Check the parser\n```\n"
    )

    (touched,) = why(tmp_path, "src")
    assert told(touched) == ("call-001", "Check the parser", "open")
    assert stats(tmp_path).tools == {"fs.read": 1}


def test_stats_count_types_tools_errors_and_durations(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=7)
    for duration in range(1, 21):
        call_id = journal.append_call(call())
        journal.append(result(call_id, duration_ms=float(duration)))
    weak = journal.append_call(call(why="read the file"))
    journal.append(result(weak, warnings=["weak why: mechanical: 'read the file'"]))
    journal.append(fault(journal.append_call(call("fs.write")), "fs.write", "CONFLICT"))
    journal.append(Event("violation", {"rule": "sandbox"}, "Violation: sandbox"))
    journal.append(note('warnings: ["weak why"]\n  code: NOT_FOUND'))
    journal.append_call(call("terminal.run"))

    found = stats(journal.directory)
    assert found.tools == {"fs.read": 21, "fs.write": 1, "terminal.run": 1}
    assert found.errors == {"CONFLICT": 1}
    assert (found.weak_whys, found.violations, found.open_calls) == (1, 1, 1)
    assert found.types["tool_call"] == 23
    assert found.events == sum(found.types.values())
    reads = found.durations["fs.read"]
    assert (reads.calls, reads.p50, reads.p95) == (21, 10.0, 19.0)
    assert list(found.durations) == ["fs.read", "fs.write"]


def test_asking_where_there_is_no_log_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(why(tmp_path, "a"))
    with pytest.raises(NotFound):
        stats(tmp_path)
