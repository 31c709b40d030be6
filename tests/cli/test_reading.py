"""`whence tools`, `explain` and `log`: what they show, and that they only read."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Command

WHY = "Prove it through the command line"


@pytest.mark.requirement("cli:tools")
def test_tools_lists_every_tool_and_one_in_full(whence: Command) -> None:
    listed = whence("tools").out
    assert "fs.read" in listed
    assert "search.lexical" in listed

    shown = whence("tools", "fs_read").json
    assert shown["wire_name"] == "fs_read"
    assert next(iter(shown["input_schema"]["properties"])) == "why"

    every = whence("tools", "--json", "--mode", "ask").json
    assert {tool["name"] for tool in every} == {
        "fs.ls", "fs.read", "search.lexical", "read_file", "read_directory", "import_image",
        "webpage_to_markdown", "fork",
    }  # fmt: skip
    missing = whence("tools", "fs.raed")
    assert missing.code == 1
    assert "fs.read" in missing.err


@pytest.mark.requirement("cli:explain")
def test_explain_says_which_rule_decides_and_runs_nothing(whence: Command) -> None:
    call = json.dumps({"path": "src/a", "content": "x", "why": WHY})

    denied = whence("explain", "fs.write", call, "--deny", "fs.write(src/**)", "--json")

    assert denied.code == 1
    decided = denied.json["decided_by"]
    assert (decided["rule"], decided["source"]) == ("deny fs.write(src/**)", "the command line")
    outside = whence("explain", "fs.read", json.dumps({"path": "/etc/passwd", "why": WHY}))
    assert "fs.read(/etc/passwd)" in outside.out
    assert whence("explain", "fs.write", call).code == 0
    assert list(whence.workspace.iterdir()) == []


@pytest.mark.requirement("cli:log")
def test_log_shows_verifies_explains_and_counts(whence: Command) -> None:
    whence.call(
        "fs.write", "--session", "s", path="src/a.txt", content="one\n", why="Start the list"
    )
    whence.call("fs.read", "--session", "s", path="src/a.txt", why="Check that the list started")
    whence.call("fs.read", "--session", "s", path="b.txt", why="See whether b exists")
    whence.call("fs.ls", "--session", "s", path="src", why="read the file")

    shown = whence("log", "show").out
    assert "Start the list" in shown
    assert "NOT_FOUND" in shown
    last = whence("log", "show", "--last", "1", "--format", "json").json
    assert last["type"] == "tool_result"

    reasons = whence("log", "why", "src/a.txt").out
    assert reasons.index("Start the list") < reasons.index("Check that the list started")
    assert "See whether b exists" not in reasons
    assert "Start the list" in whence("log", "why", "src").out
    assert whence("log", "why", "nothing").code == 1

    counted = whence("log", "stats", "--format", "json").json
    assert counted["tools"] == {"fs.write": 1, "fs.read": 2, "fs.ls": 1}
    assert counted["errors"] == {"NOT_FOUND": 1}
    assert counted["weak_whys"] == 1

    assert whence("log", "verify").code == 0
    log = whence.workspace / ".agent/sessions/s/session-log.md"
    log.write_bytes(log.read_bytes().replace(b"Start the list", b"Stop  the list"))
    broken = whence("log", "verify")
    assert broken.code == 1
    assert "session-log.md:" in broken.out


@pytest.mark.requirement("journal:corruption")
def test_a_log_that_somebody_edited_is_kept_and_carried_on(whence: Command) -> None:
    for number in range(3):
        whence.call(
            "fs.append", "--session", "s", path="a", text=f"{number}", why=f"Count to {number}"
        )
    session = whence.workspace / ".agent" / "sessions" / "s"
    log = session / "session-log.md"
    log.write_bytes(log.read_bytes().replace(b"Count to 1", b"Count to 9"))

    assert whence.call("fs.ls", "--session", "s", path=".").code == 0

    assert (session / "session-log.md.corrupted").exists()
    shown = whence("log", "show", "--session", "s").out
    assert "recovery" in shown
    assert "Count to 2" in shown
    assert whence("log", "verify", "--session", "s").code == 0


def test_log_without_any_session_says_so(whence: Command) -> None:
    ran = whence("log", "show")

    assert ran.code == 1
    assert "no session" in ran.err
    assert whence("log", "show", "--session", "nope").code == 1


def test_a_log_shows_the_reason_beside_a_why_that_is_the_tools_own(whence: Command) -> None:
    session = whence.workspace / ".agent" / "sessions" / "s"
    session.mkdir(parents=True)
    block = "type: tool_call\ntool: t\ncall_id: c\nargs: {why: its own, _why: See it}\n"
    (session / "session-log.md").write_text(f"## 12:00:00 — Tool Call: t\n\n```yaml\n{block}```\n")

    assert "t — See it" in whence("log", "show", "--session", "s").out


@pytest.mark.parametrize(
    "block",
    [
        "type: tool_call\ntool: [x]\nargs: [1]\npaths: 5\ncall_id: {a: 1}\n",
        "type: tool_call\nargs:\npaths:\n",
        "type: tool_error\nerror: boom\n",
        "type: tool_result\n",
        "type: 5\n",
    ],
    ids=["call", "empty", "error", "result", "type"],
)
def test_a_log_with_odd_values_is_shown(whence: Command, block: str) -> None:
    session = whence.workspace / ".agent" / "sessions" / "s"
    session.mkdir(parents=True)
    (session / "session-log.md").write_text(f"## 12:00:00 — X\n\n```yaml\n{block}```\n")

    ran = whence("log", "show", "--session", "s")

    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) == 1
    call = '{"path": ".", "why": "See that the session goes on"}'
    went_on = [whence("call", "fs.ls", call, "--session", "s").code for _ in range(2)]
    assert went_on == [0, 0]


def test_a_log_of_prose_alone_has_no_events(whence: Command) -> None:
    session = whence.workspace / ".agent" / "sessions" / "prose"
    session.mkdir(parents=True)
    (session / "session-log.md").write_text("# Log\n\nWe talked.\n")

    ran = whence("log", "show", "--session", "prose")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "whence log: the journal has no events\n"


def test_what_a_model_wrote_cannot_steer_the_terminal(whence: Command) -> None:
    whence.call(
        "fs.ls", "--session", "s", path=".", why="Look \x1b[2J\x07 around\u202e the project"
    )

    shown = whence("log", "show", "--session", "s").out + whence("log", "why", ".").out

    assert "around" in shown
    assert not any(char in shown for char in "\x1b\x07\u202e")
