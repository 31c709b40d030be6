"""What a writer leaves on disk."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.journal.samples import WHY, call, fault, note, open_journal, pairs, result, text
from whence.errors import InvalidArgs, Unavailable
from whence.journal.read import read_entries
from whence.journal.verify import verify
from whence.journal.write import Journal
from whence.shapes.call import Comment
from whence.shapes.event import Event

DOCUMENTED = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def types(journal: Journal) -> list[str]:
    return [entry.type for entry in read_entries(journal.directory)]


@pytest.mark.requirement("journal:format")
def test_the_log_has_the_documented_form(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, purpose="Audit the parser")
    journal.append(result(journal.append_call(call())))
    journal.close("user_exit")

    zone = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    form = rf"""# Session Log: sess-001

Started: {zone}
Protocol: EVENT-LOG/0\.2

---

## \d\d:\d\d:\d\d — Session Start

Audit the parser

```yaml
type: session_start
session_id: sess-001
protocol: EVENT-LOG/0\.2
purpose: "Audit the parser"
timestamp: "{zone}"
seq: 1
prev: "0{{64}}"
hash: "([0-9a-f]{{64}})"
```

---

## \d\d:\d\d:\d\d — Tool Call: fs\.read

{WHY}

```yaml
type: tool_call
tool: fs\.read
call_id: call-001
args:
  path: src/parser\.ts
  why: "{WHY}"
paths: \[src/parser\.ts\]
timestamp: "{zone}"
seq: 2
prev: "\1"
hash: "[0-9a-f]{{64}}"
```

---

## \d\d:\d\d:\d\d — Tool Result: fs\.read

```yaml
type: tool_result
call_id: call-001
.*
seq: 3
prev: "[0-9a-f]{{64}}"
hash: "[0-9a-f]{{64}}"
```

---

## \d\d:\d\d:\d\d — Session End

```yaml
type: session_end
session_id: sess-001
reason: user_exit
stats:
  calls: 1
  errors: 0
  violations: 0
timestamp: .*
```

---

"""
    assert re.fullmatch(form, text(journal), re.DOTALL)


@pytest.mark.requirement("journal:format")
def test_the_documented_greps_and_regex_work_on_it(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    hostile = "```\n---\n## 00:00:00 — X\n```yaml\ntype: tool_error\n```"
    journal.append(result(journal.append_call(call(content=hostile, note=hostile)), value=hostile))
    journal.append(fault(journal.append_call(call(why=hostile))))
    journal.append(note(hostile))
    journal.close("done")

    counted = subprocess.run(
        "grep '^type:' session-log.md | sort | uniq -c",
        shell=True,
        cwd=journal.directory,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert counted[::3] == ["1", "1", "2", "1", "1", "1"]
    assert counted[2::3] == [
        "session_end",
        "session_start",
        "tool_call",
        "tool_error",
        "tool_result",
        "user_message",
    ]
    ten = subprocess.run(
        ["grep", "-A", "10", "^type: tool_error", "session-log.md"],
        cwd=journal.directory,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for word in ("code: NOT_FOUND", "message:", "recoverable: true", "suggestion:"):
        assert word in ten
    loaded = [yaml.safe_load(block) for block in DOCUMENTED.findall(text(journal))]
    assert [event["type"] for event in loaded] == types(journal)
    assert loaded[1]["args"]["content"] == hostile
    assert loaded[2]["result"] == hostile
    assert loaded[3]["args"]["why"] == hostile


FORGED = ["```", "```yaml", "---", "## 00:00:00 — Forged", "# x", "type: forged", "seq: 9", "\\"]
FORGED += [
    "===",
    "~~~",
    "\r",
    "\u2028",
    "\x85",
    "\x1b[2J",
    "<!--",
    '{"type": 1}',
    "",
    "  ",
    "words",
]
hostile_text = st.text() | st.lists(st.sampled_from(FORGED), max_size=5).map("\n".join)


@pytest.mark.requirement("journal:forgery")
@settings(deadline=None, max_examples=150)
@given(hostile_text, hostile_text, hostile_text, hostile_text)
def test_no_title_narrative_comment_or_value_can_forge_anything(
    tmp_path_factory: pytest.TempPathFactory, title: str, narrative: str, comment: str, value: str
) -> None:
    journal = open_journal(tmp_path_factory.mktemp("forged"))
    fields = {"tool": value, "call_id": value, "args": {"value": value}}
    comments = (Comment(("args", "value"), comment), Comment((), comment))
    journal.append(Event("tool_call", fields, title, narrative, comments), result(value))
    journal.close("done")

    assert verify(journal.directory).problems == ()
    blocks = DOCUMENTED.findall(text(journal))
    assert len(blocks) == 4
    clean = value.encode("utf-8", "backslashreplace").decode()
    assert yaml.safe_load(blocks[1])["args"] == {"value": clean}
    entries = list(read_entries(journal.directory))
    assert [entry.seq for entry in entries] == [1, 2, 3, 4]
    assert entries[1].fields["call_id"] == clean
    lines = text(journal).split("\n")
    assert sum(line.startswith("## ") for line in lines) == 4
    assert sum(line.startswith("type:") for line in lines) == 4
    assert sum(line.startswith("---") for line in lines) == 5


def test_a_narrative_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    words = (
        "First line\n\n# not a heading\n--- not a rule\ntype: not a key\n\\ not an escape\n- item"
    )
    journal = open_journal(tmp_path)
    journal.append(Event("note", {}, "A Note", words))

    assert list(read_entries(journal.directory))[-1].narrative == words


@pytest.mark.requirement("journal:comments")
def test_comments_are_written_and_read_back(tmp_path: Path) -> None:
    comments = (Comment((), "part of the audit"), Comment(("args", "why"), "asked by ann"))
    journal = open_journal(tmp_path)
    journal.append_call(call(comments=comments))

    assert list(read_entries(journal.directory))[-1].comments == comments


def test_call_ids_count_up_and_go_on_after_reopening(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    first = pairs(journal, 2)
    own = journal.append_call(Event("tool_call", {"tool": "x", "call_id": "toolu_1"}, "T"))
    journal.append(result(own))
    journal.close()
    journal = open_journal(tmp_path)

    assert [*first, own, *pairs(journal, 1)] == ["call-001", "call-002", "toolu_1", "call-003"]
    assert journal.calls == 4


def test_a_call_id_that_somebody_else_chose_is_never_given_away_again(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.append_call(Event("tool_call", {"tool": "x", "call_id": "call-041"}, "T"))

    assert journal.append_call(call()) == "call-042"


def test_an_ended_session_that_is_taken_up_again_says_so(tmp_path: Path) -> None:
    open_journal(tmp_path, purpose="One").close("done")
    open_journal(tmp_path, purpose="Two").close("done")
    journal = open_journal(tmp_path)

    assert types(journal) == ["session_start", "session_end"] * 2 + ["session_start"]
    entries = list(read_entries(journal.directory))
    assert [entry.fields.get("resumed") for entry in entries[::2]] == [None, True, True]
    assert verify(journal.directory).ok


def test_a_session_that_was_left_open_goes_on_without_a_word(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    pairs(journal, 1)
    journal.close()
    journal = open_journal(tmp_path)
    pairs(journal, 1)

    assert types(journal) == ["session_start", *["tool_call", "tool_result"] * 2]


@pytest.mark.requirement("journal:crash")
def test_an_open_call_of_a_dead_writer_is_closed_as_interrupted(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    call_id = journal.append_call(call("terminal.run"))
    journal.close()
    journal = open_journal(tmp_path)

    last = list(read_entries(journal.directory))[-1]
    assert last.type == "tool_error"
    assert last.fields["call_id"] == call_id
    assert last.fields["tool"] == "terminal.run"
    assert last.fields["error"]["code"] == "INTERRUPTED"
    assert last.fields["error"]["recoverable"] is True
    assert "call again" in last.fields["error"]["suggestion"]


def test_an_open_call_of_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    alive = open_journal(tmp_path)
    call_id = alive.append_call(call())
    second = open_journal(tmp_path)
    second.close("done")

    assert types(alive) == ["session_start", "tool_call"]
    alive.append(result(call_id))
    alive.close("done")
    assert verify(alive.directory).ok
    assert types(alive)[-1] == "session_end"


def test_ending_a_session_closes_its_open_calls_and_counts_them(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.append_call(call())
    journal.append(Event("violation", {"rule": "sandbox"}, "Violation"))
    journal.close("timeout")

    end = list(read_entries(journal.directory))[-1]
    assert end.fields["reason"] == "timeout"
    assert end.fields["stats"] == {"calls": 1, "errors": 1, "violations": 1}
    assert verify(journal.directory).ok


def test_closing_twice_is_harmless_and_appending_afterwards_is_refused(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.close("done")
    journal.close("done")

    with pytest.raises(Unavailable, match="is closed; nothing was recorded"):
        journal.append(note("late"))


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / ".agent" / "sessions", rotate_events=2)
    pairs(journal, 3)

    directory = Path(journal.directory)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(directory.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", ".hidden", "a\0b", "a b", "x" * 129]
)
def test_a_session_name_that_is_no_plain_word_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgs, match=re.escape(repr(name))):
        open_journal(tmp_path, name)


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "sess-001").mkdir()
    target = tmp_path / "elsewhere"
    target.write_text("untouched")
    os.symlink(target, tmp_path / "sess-001" / "session-log.md")

    with pytest.raises(Unavailable, match="nothing was recorded"):
        open_journal(tmp_path)
    assert target.read_text() == "untouched"


def test_an_event_may_not_bring_the_journals_own_keys(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)

    with pytest.raises(InvalidArgs, match="hash, seq"):
        journal.append(Event("note", {"seq": 1, "hash": "x"}, "T"))
    assert types(journal) == ["session_start"]


def test_a_batch_with_one_bad_event_records_none_of_it(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)

    with pytest.raises(InvalidArgs):
        journal.append(note("good"), Event("note", {"a": object()}, "T"))
    assert types(journal) == ["session_start"]
    journal.append(note("after"))
    assert verify(journal.directory).ok
