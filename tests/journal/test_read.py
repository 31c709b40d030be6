"""Logs read back, also those that people wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.journal.samples import call, fault, logs, note, open_journal, pairs
from whence.errors import NotFound, Unavailable
from whence.journal.read import last_entries, read_entries
from whence.journal.verify import verify
from whence.shapes.call import Comment

BY_HAND = """# Session Log: sess-001

Started: 2025-12-30T23:58:00Z
Protocol: EVENT-LOG/0.2

---

## 23:59:10 — Tool Call: fs.read

The parser audit goes on.

```yaml
type: tool_call
tool: fs.read
call_id: call-001
args:
  path: src/parser.ts
  # This is part of the expression parser audit
  why: "Check if recursive descent handles nested expressions"
```

---

## 00:00:05 — Tool Error

```yaml
type: tool_error
call_id: call-001
error:
  code: NOT_FOUND
  message: "File not found: src/parser.ts"
  # Recovery suggestion for self-healing
  suggestion: "Check if file was renamed or moved"
```

---

## 2026-01-01 08:00 - Approval

```yaml
type: user_approval
action: tool_call
tool: terminal.run
approved: true
command_preview: "npm test"
```
"""


def test_a_hand_written_log_is_read_with_its_dates_and_comments(tmp_path: Path) -> None:
    (tmp_path / "session-log.md").write_text(BY_HAND, encoding="utf-8")

    call_, error, approval = read_entries(tmp_path)

    assert [entry.seq for entry in (call_, error, approval)] == [1, 2, 3]
    assert call_.timestamp == "2025-12-30T23:59:10Z"
    assert error.timestamp == "2025-12-31T00:00:05Z"
    assert approval.timestamp == "2026-01-01T08:00:00Z"
    assert (call_.title, approval.title) == ("Tool Call: fs.read", "Approval")
    assert call_.narrative == "The parser audit goes on."
    assert call_.comments == (
        Comment(("args", "why"), "This is part of the expression parser audit"),
    )
    assert error.comments == (
        Comment(("error", "suggestion"), "Recovery suggestion for self-healing"),
    )
    assert [entry.line for entry in (call_, error, approval)] == [
        number for number, line in enumerate(BY_HAND.split("\n"), 1) if line.startswith("## ")
    ]


def test_the_tail_of_a_hand_written_log_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "session-log.md").write_text(BY_HAND * 400, encoding="utf-8")

    assert last_entries(tmp_path, 2) == list(read_entries(tmp_path))[-2:]


def test_a_log_of_prose_only_has_no_entries(tmp_path: Path) -> None:
    (tmp_path / "session-log.md").write_text("# Diary\n\nToday I slept.\n\n```\ncode\n```\n")

    assert list(read_entries(tmp_path)) == []
    assert last_entries(tmp_path, 5) == []


def test_an_empty_log_has_no_entries(tmp_path: Path) -> None:
    (tmp_path / "session-log.md").touch()

    assert list(read_entries(tmp_path)) == []
    assert last_entries(tmp_path, 5) == []


def test_yaml_that_is_no_event_is_skipped_and_one_that_cannot_be_read_is_shown(
    tmp_path: Path,
) -> None:
    text = (
        "```yaml\nname: not an event\n```\n"
        "## 12:00:00 — Broken\n\n```yaml\ntype: tool_call\nargs: [\n```\n"
        "```yaml\ntype: note\n```\n"
        "```yaml\ntype: never finished\n"
    )
    (tmp_path / "session-log.md").write_text(text, encoding="utf-8")

    broken, good = read_entries(tmp_path)
    assert broken.type == "unreadable"
    assert "not readable as YAML" in broken.fields["problem"]
    assert "args: [" in broken.fields["text"]
    assert good.type == "note"


def test_events_on_json_lines_of_an_older_dialect_are_read(tmp_path: Path) -> None:
    text = (
        "# Session Log\n\n<!-- jsonl\n"
        '{"type": "session_start", "timestamp": "2025-12-30T12:00:00Z"}\n'
        '{"type": broken\n{"type": "repair", "path": "hot.yml"}\n-->\n'
    )
    (tmp_path / "session-log.md").write_text(text, encoding="utf-8")

    start, repair = read_entries(tmp_path)
    assert (start.seq, start.type, start.timestamp) == (1, "session_start", "2025-12-30T12:00:00Z")
    assert (start.line, repair.line) == (4, 6)
    assert repair.fields["path"] == "hot.yml"


def test_entries_know_their_place(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, rotate_events=4)
    pairs(journal, 4, content="several\nlines\n")
    journal.append(fault(journal.append_call(call())))

    for entry in [*read_entries(journal.directory), *last_entries(journal.directory, 7)]:
        line = (Path(journal.directory) / entry.part).read_text().split("\n")[entry.line - 1]
        assert re.fullmatch(rf"## \d\d:\d\d:\d\d — {entry.title}", line)
        assert entry.fields["seq"] == entry.seq
        assert entry.fields["timestamp"] == entry.timestamp


def test_a_log_is_read_while_its_last_event_is_being_written(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.append(note("one"), note("two"))
    log = logs(journal)[0]
    log.write_bytes(log.read_bytes()[:-40])

    assert [entry.fields.get("text") for entry in read_entries(journal.directory)] == [None, "one"]


def test_a_link_in_place_of_a_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(BY_HAND, encoding="utf-8")
    (tmp_path / "session-log.md").symlink_to(tmp_path / "secret")

    with pytest.raises(Unavailable, match="cannot be read"):
        list(read_entries(tmp_path))
    with pytest.raises(Unavailable, match="cannot be read"):
        verify(tmp_path)


def test_reading_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no session log"):
        list(read_entries(tmp_path))
    with pytest.raises(NotFound, match="there is no session log"):
        last_entries(tmp_path / "no", 1)
