"""`whence check`, `fmt`, `new` and `tools FILE`, on real files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Command

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.requirement("cli:check")
def test_the_examples_are_clean(whence: Command) -> None:
    files = sorted(map(str, EXAMPLES.glob("*.chatmd")))
    assert files

    ran = whence("check", "--strict", *files)

    assert ran.code == 0, ran.out


@pytest.mark.requirement("cli:check")
def test_every_problem_of_every_file_is_listed_with_its_place(whence: Command) -> None:
    work = whence.workspace
    (work / "part.chatmd").write_text('<tool name="fs.raed"/>\n')
    (work / "a.chatmd").write_text(
        '<config mode="ask" temperature="hot"/>\n<import src="part.chatmd"/>\n'
        '<tool name="fs.write"/>\n<tool name="x" command="no-such-program" network="*"/>\n'
        '<user>hi <doc src="nowhere.md" local/></user>\n<usr>x</usr>\n'
    )
    (work / "b.chatmd").write_text("<<<<<<< ours\n<user>x</user>\n=======\n>>>>>>> theirs\n")

    ran = whence("check", "a.chatmd", "b.chatmd", "missing.chatmd", "--format", "json")

    assert ran.code == 1
    found = {(p["path"], p["line"], p["code"]) for p in ran.json}
    assert {
        ("a.chatmd", 1, "bad-temperature"),
        (os.fspath(work / "part.chatmd"), 1, "unknown-builtin"),
        ("a.chatmd", 3, "dead-tool"),
        ("a.chatmd", 4, "missing-command"),
        ("a.chatmd", 5, "unreachable-file"),
        ("a.chatmd", 6, "unknown-element"),
        ("missing.chatmd", 1, "unreadable-file"),
    } <= found
    assert any(path == "b.chatmd" and "conflict" in code for path, _, code in found)
    assert any(code == "exfiltration-risk" for _, _, code in found)
    assert all(p["suggestion"] and p["message"] for p in ran.json)
    text = whence("check", "a.chatmd").out
    assert "a.chatmd:6:1: error:" in text
    assert "Did you mean <user>?" in text


@pytest.mark.requirement("cli:check")
def test_what_a_message_names_and_cannot_have_is_told(whence: Command) -> None:
    (whence.workspace / "here.md").write_text("x")
    (whence.workspace / "a.chatmd").write_text(
        '<user><doc src="here.md"/>\n<img src="here.png"/>\n<agent src="none.chatmd"/>\n'
        '<doc src="here.md" local/><doc src="https://example.org/"/></user>\n'
    )

    ran = whence("check", "a.chatmd", "--format", "json")

    assert [(p["line"], p["code"]) for p in ran.json] == [
        (line, "unreachable-file") for line in (1, 2, 3)
    ]
    assert "local" in ran.json[0]["suggestion"]


@pytest.mark.requirement("cli:check")
def test_a_script_that_would_moderate_elsewhere_is_told_to_be_idle(whence: Command) -> None:
    (whence.workspace / "a.chatmd").write_text(
        '<user>x</user>\n<script language="chatml" kind="moderator">let x = 1</script>\n'
    )

    ran = whence("check", "a.chatmd", "--format", "json")

    assert [(p["line"], p["code"], p["severity"]) for p in ran.json] == [
        (2, "idle-script", "warning")
    ]


@pytest.mark.requirement("cli:check")
def test_check_runs_nothing(whence: Command) -> None:
    (whence.workspace / "t.py").write_text(
        "open('ran', 'w').close()\ndef f(a: int) -> int:\n    return a\n"
    )
    (whence.workspace / "a.chatmd").write_text('<tool python="t.py:f"/>\n<user>x</user>\n')

    assert whence("check", "a.chatmd").code == 0
    assert not (whence.workspace / "ran").exists()
    (whence.workspace / "b.chatmd").write_text('<tool python="t.py:g"/>\n<user>x</user>\n')
    assert whence("check", "b.chatmd").code == 1


@pytest.mark.requirement("cli:check")
def test_files_that_are_no_files_are_named(whence: Command) -> None:
    os.mkfifo(whence.workspace / "fifo.chatmd")
    (whence.workspace / "a.chatmd").write_text(
        '<import src="/dev/zero"/>\n<import src="fifo.chatmd"/>'
    )

    ran = whence("check", "fifo.chatmd", "a.chatmd", ".", "--format", "json")

    assert ran.code == 1
    assert [p["code"] for p in ran.json].count("unreadable-file") == 2
    assert [p["code"] for p in ran.json].count("unreadable-import") == 2


@pytest.mark.requirement("cli:tools")
def test_the_tools_of_a_file_are_listed(whence: Command) -> None:
    ran = whence("tools", os.fspath(EXAMPLES / "librarian.chatmd"), "--json")

    assert {tool["name"] for tool in ran.json} == {"fs.ls", "fs.read", "search.lexical"}
    (whence.workspace / "bad.chatmd").write_text('<tool name="fs.raed"/>')
    bad = whence("tools", "bad.chatmd")
    assert bad.code == 1
    assert "bad.chatmd:1:" in bad.err


@pytest.mark.requirement("chatmd:fmt")
def test_fmt_rewrites_checks_and_shows(whence: Command) -> None:
    file = whence.workspace / "a.chatmd"
    file.write_text("<config  model=x ></config><user>  text stays </user>")
    file.chmod(0o640)

    assert whence("fmt", "--check", "a.chatmd").code == 1
    assert "-<config  model=x" in whence("fmt", "--diff", "a.chatmd").out
    assert whence("fmt", "a.chatmd").code == 0
    assert file.read_text() == '<config model="x"/>\n\n<user>  text stays </user>\n'
    assert file.stat().st_mode & 0o777 == 0o640
    assert whence("fmt", "--check", "a.chatmd").code == 0
    (whence.workspace / "bad.chatmd").write_text("<usr>")
    assert whence("fmt", "bad.chatmd").code == 1


@pytest.mark.requirement("cli:new")
def test_a_new_file_is_accepted_by_check_and_never_overwrites(whence: Command) -> None:
    ran = whence("new", "n.chatmd", "--tool", "fs.read", "--system", "Read <b>this</b> & RAW| that")

    assert ran.code == 0
    assert whence("check", "--strict", "n.chatmd").code == 0
    assert whence("new", "n.chatmd").code == 1
    assert whence("new", "n.chatmd", "--force").code == 0
    wrong = whence("new", "m.chatmd", "--tool", "fs.raed")
    assert wrong.code == 2
    assert "fs.read" in wrong.err
    assert json.loads(whence("tools", "n.chatmd", "--json").out)


def test_every_command_goes_to_another_directory_first(whence: Command) -> None:
    there = whence.workspace / "there"
    there.mkdir()
    (there / "agent.chatmd").write_text("<user>hi</user>\n")

    assert whence("-C", "there", "fmt", "--check", "agent.chatmd").code in (0, 1)
    assert whence("models", "-C", "there").code == 0
    missing = whence("-C", "nowhere", "fmt", "agent.chatmd")
    assert missing.code == 2
    assert "nowhere" in missing.err
