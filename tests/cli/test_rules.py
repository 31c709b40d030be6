"""Rules, answers and the lock, as a person meets them on the command line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import WHENCE, Command
from tests.loop.agents import call, write_agent
from whence.cli.approve import answered
from whence.loop.question import shown
from whence.shapes.approval import Question

WHY = "Prove that nothing slips through"
ROO = ("--catalog", "roo")


def explained(whence: Command, line: str, *options: str) -> Any:
    given = json.dumps({"command": line, "why": WHY})
    ran = whence("explain", "execute_command", given, "--json", *ROO, *options)
    return ran.json


@pytest.mark.parametrize(
    "line",
    ["git log $(touch hit)", "git log `touch hit`", "git log; touch hit", "git log\ntouch hit",
     "git log | sh", "git log > hit", "X=1 git log", "git log --output=hit", "git -c a=b log",
     "git log-evil", "сurl x", "git log a\u202eb", "git log && touch hit", "if true; then ls; fi",
     "git log <<E\nx\nE", "git log <(touch hit)", "git log ${x:-$(touch hit)}"],
    ids=ascii,
)  # fmt: skip
@pytest.mark.requirement("rules:fails-closed")
def test_a_line_with_more_than_was_allowed_asks_and_with_nobody_there_is_not_run(
    whence: Command, line: str
) -> None:
    allow = ("--allow", "execute_command(git log *)")
    assert explained(whence, line, *allow)["verdict"] == "asks"
    ran = whence.call("execute_command", *ROO, *allow, command=line)
    assert ran.code == 1
    assert ran.error["code"] == "PERMISSION_DENIED"
    assert not (whence.workspace / "hit").exists()


def test_explain_says_what_would_run_which_rule_decides_and_the_smallest_that_would_do(
    whence: Command,
) -> None:
    found = explained(whence, "ls | wc -l", "--allow", "execute_command(ls)")
    assert found["decided_by"]["runs"] == "ls | wc -l"
    assert found["decided_by"]["would_allow"] == "execute_command(ls | wc -l)"
    assert "|" in found["decided_by"]["reason"]
    allowed = explained(whence, "ls | wc -l", "--allow", found["decided_by"]["would_allow"])
    assert allowed["verdict"] == "allowed"
    assert allowed["decided_by"]["source"] == "the command line"


@pytest.mark.requirement("rules:always")
def test_explain_names_the_file_of_an_answer(whence: Command) -> None:
    folder = whence.workspace / ".agent"
    folder.mkdir()
    (folder / "permissions.yaml").write_text('always: ["execute_command(make all)"]\n', "utf-8")
    ask = ("--ask", "execute_command")
    found = explained(whence, "make all", *ask)
    assert found["verdict"] == "allowed"
    assert found["decided_by"]["source"] == ".agent/permissions.yaml"
    assert explained(whence, "make none", *ask)["verdict"] == "asks"


def test_a_rule_that_is_no_command_is_wrong_usage(whence: Command) -> None:
    ran = whence("explain", "execute_command", "{}", *ROO, "--deny", "execute_command(rm 'x)")
    assert ran.code == 2
    assert "rm 'x" in ran.err


HOSTILE = "\x1b[2J\x1b[H\x1b]0;owned\x07ok\r  why:    trust me\nAllow? \u202eyes\u2066" + " " * 400


@pytest.mark.requirement("rules:prompt")
def test_a_question_shows_hostile_words_as_words() -> None:
    question = Question(
        "c1", "execute_command", {"command": HOSTILE}, f"w{HOSTILE}", f"r{HOSTILE}",
        f"execute_command({HOSTILE})", f"rm -rf x {HOSTILE}\nAllow? [y]es", f"+{HOSTILE}",
    )  # fmt: skip
    lines = shown(question)
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("Allow?") for line in lines)
    runs = [line for line in lines if line.startswith("  runs:")]
    assert runs[0].startswith("  runs:   │ rm -rf x <U+001B>[2J")
    assert "<U+202E>" in "".join(runs)
    broken = shown(Question("c1", "x", {}, WHY, "r", None, "a\u2028b\x0bc\x85d"))
    assert "  runs:   │ a<U+2028>b<U+000B>c<U+0085>d" in broken
    assert "<400 spaces>" in "".join(lines)


@pytest.mark.requirement("rules:prompt")
def test_a_question_that_is_longer_than_a_screen_says_so_at_its_end() -> None:
    line = "rm -rf x; " + "true; " * 1_000
    lines = shown(Question("c1", "execute_command", {"command": line}, WHY, "r", None, line))
    assert lines[-1].startswith("  note:   this question has ")
    short = shown(Question("c1", "execute_command", {"command": "ls"}, WHY, "r", None, "ls"))
    assert not any("note:" in each for each in short)


@pytest.mark.parametrize(
    ("typed", "approved", "scope"),
    [("y", True, "once"), ("YES\n", True, "once"), ("s", True, "session"), ("a\n", True, "always"),
     ("", False, "once"), ("n", False, "once"), ("yy", False, "once"), ("\x1b[A", False, "once")],
)  # fmt: skip
@pytest.mark.requirement("rules:answers")
def test_only_a_clear_yes_is_a_yes(typed: str, approved: bool, scope: str) -> None:
    question = Question("c1", "x", {}, WHY, "r", "x(a)")
    answer = answered(question, typed)
    assert (answer.approved, answer.scope) == (approved, scope)
    unruly = answered(Question("c1", "x", {}, WHY, "r", None), typed)
    assert (unruly.approved, unruly.scope) == (approved, "once")


def at_a_terminal(folder: Path, typed: str, *arguments: str) -> tuple[str, str]:
    """What a person sees, and what comes out, when whence runs at a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [WHENCE, *arguments], cwd=folder, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE
    )
    os.close(theirs)
    seen = bytearray()
    with suppress(OSError):  # that is how the end of a terminal is told
        while chunk := os.read(ours, 4096):
            seen += chunk
            if typed and seen.endswith(b"[N]o: "):
                os.write(ours, typed.encode())
                typed = ""
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    return seen.decode(), out.decode()


@pytest.mark.requirement("rules:prompt")
def test_a_person_at_a_terminal_sees_the_command_and_answers_always(tmp_path: Path) -> None:
    given = json.dumps(
        {"cmd": ["echo", "a\x1b[2Jb\u202e"], "why": f"Look\x1b]0;owned\x07 here {WHY}"}
    )
    arguments = ("call", "terminal.run", given, "--ask", "terminal.run")
    seen, out = at_a_terminal(tmp_path, "y\n", *arguments)
    assert "\x1b" not in seen
    assert "\u202e" not in seen
    assert "runs:   │ echo 'a<U+001B>[2Jb<U+202E>'" in seen
    assert json.loads(out)["ok"]

    plain = json.dumps({"cmd": ["echo", "hello there"], "why": WHY})
    arguments = ("call", "terminal.run", plain, "--ask", "terminal.run")
    seen, out = at_a_terminal(tmp_path, "a\n", *arguments)
    assert "rule:   terminal.run(echo 'hello there')" in seen
    assert "[a]lways" in seen
    assert json.loads(out)["ok"]
    kept = yaml.safe_load((tmp_path / ".agent" / "permissions.yaml").read_text("utf-8"))
    assert kept == {"always": ["terminal.run(echo 'hello there')"]}
    again = subprocess.run(
        [WHENCE, *arguments], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert json.loads(again.stdout)["ok"]


@pytest.mark.requirement("lock:command")
def test_lock_shows_writes_and_checks_pins_and_check_locked_fails_on_drift(whence: Command) -> None:
    work = whence.workspace
    (work / "run.sh").write_text("echo one\n", "utf-8")
    write_agent(work, ["end"], '<tool name="it" command="sh run.sh"/>')
    lock = work / ".agent" / "lock.yaml"

    assert whence("lock", "--check", "agent.chatmd").code == 1
    missing = whence("check", "--locked", "agent.chatmd")
    assert missing.code == 1
    assert "it has no pin" in missing.out
    assert not lock.exists()
    assert whence("check", "agent.chatmd").code == 0

    new = whence("lock", "agent.chatmd")
    assert (new.code, new.out) == (0, "+ agent.chatmd it: new\n")
    assert whence("lock", "--check", "agent.chatmd").code == 0
    assert whence("check", "--locked", "agent.chatmd").code == 0

    (work / "run.sh").write_text("echo two\n", "utf-8")
    text = lock.read_text("utf-8")
    drifted = whence("lock", "agent.chatmd")
    assert drifted.code == 1
    assert "✗ agent.chatmd it: run.sh changed" in drifted.out
    assert "sha256" in drifted.out
    assert lock.read_text("utf-8") == text
    found = whence("check", "--locked", "--format", "json", "agent.chatmd")
    assert found.code == 1
    assert [(item["code"], item["line"]) for item in found.json] == [("not-locked", 2)]

    assert whence("lock", "--update", "agent.chatmd").code == 0
    assert whence("check", "--locked", "agent.chatmd").code == 0
    write_agent(work, ["end"])
    assert "- agent.chatmd it: gone" in whence("lock", "--update", "agent.chatmd").out
    assert "it:" not in lock.read_text("utf-8")


@pytest.mark.requirement("lock:command")
def test_a_run_refuses_what_was_swapped_until_it_is_accepted(whence: Command) -> None:
    work = whence.workspace
    answers = [{"calls": [call("it", arguments=[])]}, "{outcome}"]
    write_agent(work, answers, '<tool name="it" command="sh run.sh"/>')
    run = ("run", "agent.chatmd", "go", "--ephemeral", "-q", "--allow", "it")
    (work / "made").mkdir()
    (work / "run.sh").write_text("echo one\n", "utf-8")
    assert whence(*run).out.strip() == "one"
    (work / "run.sh").write_text("echo two; touch made/hit\n", "utf-8")
    refused = whence(*run).out
    assert "run.sh changed" in refused
    assert "whence lock --update agent.chatmd" in refused
    assert not (work / "made" / "hit").exists()
    assert whence("lock", "--update", "agent.chatmd").code == 0
    assert whence(*run).out.strip() == "two"


@pytest.mark.requirement("rules:wrappers")
def test_rules_for_a_declared_command_hold_in_a_run(whence: Command) -> None:
    work = whence.workspace
    answers = [
        {"calls": [call("say", arguments=["hello", "you"]), call("say", arguments=["-e", "x"])]},
        "{outcome}",
    ]
    write_agent(work, answers, '<tool name="say" command="echo"/>')
    ran = whence("run", "agent.chatmd", "go", "--ephemeral", "--json", "--allow", "say(hello *)")
    outcomes = [
        event for event in map(json.loads, ran.out.splitlines()) if event["type"] == "outcome"
    ]
    assert {event.get("result") for event in outcomes} == {"hello you\n", None}


def test_a_file_with_errors_is_not_pinned(whence: Command) -> None:
    (whence.workspace / "agent.chatmd").write_text('<tool command="echo hi"/>\n', "utf-8")

    ran = whence("lock", "agent.chatmd")

    assert ran.code == 1
    assert ran.err.startswith("whence lock: agent.chatmd:1:")
    assert not (whence.workspace / ".agent" / "lock.yaml").exists()
