"""`whence call`: real processes, real files, every kind of bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import WHENCE, Command

WHY = "Prove it through the command line"


@pytest.mark.requirement("cli:call")
def test_a_result_is_printed_as_json_and_exits_0(whence: Command) -> None:
    (whence.workspace / "a.txt").write_text("hello\n")

    ran = whence.call("fs.read", path="a.txt")

    assert (ran.code, ran.err) == (0, "")
    assert ran.json["ok"] is True
    assert ran.json["result"] == {"content": "hello\n", "lines": 1, "truncated": False}
    assert ran.json["session"]
    assert ran.json["call_id"] == "call-001"


@pytest.mark.requirement("cli:call")
def test_yaml_with_comments_from_stdin_reaches_the_journal(whence: Command) -> None:
    text = "path: .  # the whole project\n# before the audit\nwhy: See what there is to audit\n"

    assert whence("call", "fs.ls", "--session", "s", stdin=text).code == 0

    log = (whence.workspace / ".agent/sessions/s/session-log.md").read_text()
    assert "  # before the audit\n" in log
    shown = whence("log", "show", "--session", "s", "--format", "json", "--type", "tool_call")
    texts = [comment["text"] for comment in json.loads(shown.out)["comments"]]
    assert sorted(texts) == ["before the audit", "the whole project"]


@pytest.mark.requirement("cli:call")
def test_json_from_stdin_and_a_dash_work(whence: Command) -> None:
    given = json.dumps({"path": ".", "why": WHY})

    assert whence("call", "fs.ls", "-", stdin=given).code == 0
    assert whence("call", "fs_ls", stdin=given).json["tool"] == "fs.ls"


STALE = "@@ -1 +1 @@\n-nothing\n+x\n"
LOG = ".agent/sessions/bad/session-log.md"
BAD: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "unknown tool": ("fs.raed", {"path": "a"}, "NOT_FOUND", "fs.raed"),
    "missing why": ("fs.read", {"path": "a", "why": None}, "MISSING_WHY", "missing"),
    "blank why": ("fs.read", {"path": "a", "why": "  "}, "MISSING_WHY", "'  '"),
    "placeholder why": ("fs.read", {"path": "a", "why": "n/a"}, "MISSING_WHY", "'n/a'"),
    "non-string why": ("fs.read", {"path": "a", "why": 5}, "MISSING_WHY", "5"),
    "wrong type": ("fs.read", {"path": 5}, "INVALID_ARGS", "5"),
    "unknown argument": ("fs.read", {"path": "a", "pth": 1}, "INVALID_ARGS", "'pth'"),
    "parent path": ("fs.read", {"path": "../secret"}, "PERMISSION_DENIED", "../secret"),
    "absolute path": ("fs.read", {"path": "/etc/passwd"}, "PERMISSION_DENIED", "/etc/passwd"),
    "link outside": ("fs.read", {"path": "link"}, "PERMISSION_DENIED", "link"),
    "nul byte": ("fs.read", {"path": "a\0b"}, "INVALID_ARGS", "NUL"),
    "fifo": ("fs.read", {"path": "fifo"}, "INVALID_ARGS", "fifo"),
    "directory": ("fs.read", {"path": "dir"}, "INVALID_ARGS", "dir"),
    "huge": ("fs.read", {"path": "huge"}, "QUOTA_EXCEEDED", "2000000000"),
    "binary": ("fs.read", {"path": "binary"}, "INVALID_ARGS", "binary"),
    "latin-1": ("fs.read", {"path": "latin1"}, "INVALID_ARGS", "0xe9"),
    "bad regex": ("search.lexical", {"query": "("}, "INVALID_ARGS", "("),
    "stale patch": ("fs.patch", {"path": "a.txt", "diff": STALE}, "CONFLICT", "nothing"),
    "journal": ("fs.write", {"path": LOG, "content": "x"}, "PERMISSION_DENIED", "journal"),
}


@pytest.mark.requirement("cli:no-traceback")
def test_every_bad_call_has_a_code_the_value_a_suggestion_and_a_line_in_the_log(
    whence: Command,
) -> None:
    work = whence.workspace
    (work / "dir").mkdir()
    (work / "a.txt").write_text("something\n")
    (work.parent / "secret").write_text("secret")
    (work / "link").symlink_to(work.parent / "secret")
    (work / "binary").write_bytes(b"\0\1\2")
    (work / "latin1").write_bytes(b"caf\xe9\n")
    os.mkfifo(work / "fifo")
    with open(work / "huge", "wb") as file:
        file.truncate(2_000_000_000)
    before = sorted(path.name for path in work.iterdir())

    for name, (tool, arguments, code, said) in BAD.items():
        ran = whence.call(tool, "--session", "bad", **arguments)
        assert ran.code == 1, name
        assert ran.error["code"] == code, (name, ran.error)
        shown = ran.error["message"] + json.dumps(ran.error.get("details", ""))
        assert said in shown, (name, ran.error)
        assert ran.error["suggestion"], name

    log = (work / ".agent/sessions/bad/session-log.md").read_text()
    assert log.count("type: tool_call") == log.count("type: tool_error") == len(BAD)
    assert sorted(path.name for path in work.iterdir()) == [".agent", *before]
    assert whence("log", "verify", "--session", "bad").code == 0


@pytest.mark.requirement("cli:no-traceback")
@pytest.mark.parametrize(
    "text",
    ['{"path": "a', '{"path": "a", "why": "b"', "{path: [", "key: value: x", "[" * 20_000, "\x00"],
)
def test_arguments_that_did_not_arrive_whole_are_recorded_and_refused(
    whence: Command, text: str
) -> None:
    ran = whence("call", "fs.read", stdin=text)

    assert ran.code == 1
    assert ran.error["code"] == "PARSE_ERROR"
    assert list(whence.workspace.glob(".agent/sessions/*/session-log.md"))


def test_invalid_utf8_arguments_are_refused(whence: Command) -> None:
    assert whence("call", "fs.read", stdin=b'{"path": "\xff"}').error["code"] == "PARSE_ERROR"
    assert whence("call", "fs.read", b'{"path": "\xff"}').error["code"] == "PARSE_ERROR"
    assert whence("call", "fs.read", '"just text"').error["code"] == "INVALID_ARGS"


def test_wrong_usage_exits_2_and_says_what_to_do(whence: Command) -> None:
    for arguments in (
        ["cal"],
        ["call"],
        ["call", "fs.ls", "--sesion", "x"],
        ["call", "fs.ls", "-C", "nowhere", "{}"],
        ["call", "fs.ls", "{}", "--deny", "fs.wrte"],
        ["log"],
        ["log", "show", "--last", "0"],
        [],
    ):
        ran = whence(*arguments)
        assert ran.code == 2, arguments
        assert len((ran.err or ran.out).splitlines()) >= 1


def test_options_may_stand_anywhere(whence: Command) -> None:
    given = json.dumps({"path": ".", "why": WHY})

    for arguments in (
        ["call", "--session", "s", "fs.ls", given],
        ["call", "fs.ls", "--session", "s", given],
        ["call", "fs.ls", given, "--session", "s"],
        ["--session", "s", "-C", ".", "call", "fs.ls", given],
    ):
        assert whence(*arguments).json["session"] == "s"
    assert whence("-C", ".", "log", "verify").code == 0


def test_rules_from_the_command_line_decide(whence: Command) -> None:
    (whence.workspace / "src").mkdir()
    allowed = ("--ask", "fs.write", "--allow", "fs.write(src/**)")
    denied = ("--deny", "fs.*(src/**)", "--allow", "fs.write(src/**)")

    assert whence.call("fs.write", *allowed, path="src/a", content="x").code == 1
    assert whence.call("fs.write", "--allow", "fs.write", path="src/a", content="x").code == 0
    assert whence.call("fs.write", *denied, path="src/a", content="x").code == 1
    opened = whence.call("fs.read", "--allow", "fs.read(/etc/hostname)", path="/etc/hostname")
    assert opened.code == 0


def test_a_mode_holds_the_call(whence: Command) -> None:
    assert whence.call("fs.write", "--mode", "ask", path="a", content="x").code == 1
    assert whence.call("fs.write", "--mode", "architect", path="a.md", content="x").code == 0
    assert whence.call("fs.write", "--mode", "nosuch", path="a.md", content="x").code == 1


@pytest.mark.requirement("journal:concurrent")
def test_many_processes_can_write_one_session(whence: Command) -> None:
    with ThreadPoolExecutor(6) as pool:
        runs = list(
            pool.map(
                lambda n: whence.call("fs.append", "--session", "s", path="log", text=f"{n}\n"),
                range(12),
            )
        )

    assert {ran.code for ran in runs} == {0}
    assert len({ran.json["call_id"] for ran in runs}) == 12
    assert sorted((whence.workspace / "log").read_text().split()) == sorted(map(str, range(12)))
    assert whence("log", "verify", "--session", "s").code == 0


@pytest.mark.requirement("journal:crash")
def test_a_process_killed_inside_a_call_leaves_it_interrupted(tmp_path: Path) -> None:
    script = textwrap.dedent(
        f"""
        import asyncio, os, signal
        import whence

        @whence.tool("demo.die")
        async def die() -> str:
            os.kill(os.getpid(), signal.SIGKILL)
            return "never"

        async def main():
            with whence.Session({os.fspath(tmp_path)!r}, [die], session="s") as session:
                await session.call("demo.die", {WHY!r})

        asyncio.run(main())
        """
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL

    whence = Command(tmp_path)
    assert whence.call("fs.ls", "--session", "s", path=".").code == 0

    shown = whence("log", "show", "--session", "s", "--format", "json").out.splitlines()
    events = [json.loads(line) for line in shown]
    assert [event["type"] for event in events][:4] == [
        "session_start", "tool_call", "tool_error", "tool_call",
    ]  # fmt: skip
    assert events[2]["error"]["code"] == "INTERRUPTED"
    assert events[2]["call_id"] == events[1]["call_id"]
    assert whence("log", "verify", "--session", "s").code == 0


@pytest.mark.requirement("journal:full-disk")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_refuses_the_call_and_breaks_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", os.fspath(disk)],
        check=False, capture_output=True,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip("this machine does not let root mount")
    try:
        whence = Command(disk)
        assert whence.call("fs.write", "--session", "s", path="a", content="old").code == 0
        big = whence.call("fs.write", "--session", "s", path="a", content="x" * 60_000)
        assert big.code in (0, 1)
        given = json.dumps({"path": "a", "content": "y" * 200_000, "why": WHY})
        too_big = whence("call", "fs.write", "--session", "s", stdin=given)
        assert too_big.code == 1
        assert too_big.error["code"] in ("EXECUTION_FAILED", "UNAVAILABLE")
        assert (disk / "a").read_text() in ("old", "x" * 60_000)
        assert not list(disk.glob("*.tmp"))
        with open(disk / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"z" * 1024)
            except OSError:
                pass
        refused = whence.call("fs.append", "--session", "s", path="b", text="z" * 5000)
        assert refused.code == 1
        assert not (disk / "b").exists() or (disk / "b").read_text() == ""
        (disk / "filler").unlink()
        assert whence("log", "verify", "--session", "s").code == 0
        assert whence.call("fs.ls", "--session", "s", path=".").code == 0
    finally:
        subprocess.run(["umount", os.fspath(disk)], check=False)


@pytest.mark.requirement("journal:full-disk")
def test_a_journal_that_cannot_be_written_refuses_the_call(whence: Command) -> None:
    (whence.workspace / ".agent").write_text("a file where a directory should be")

    ran = whence.call("fs.write", path="a", content="x")

    assert ran.code == 1
    assert ran.error["code"] == "UNAVAILABLE"
    assert not (whence.workspace / "a").exists()


def test_every_command_has_help_with_an_example() -> None:
    for arguments in (
        ["--help"],
        *([name, "--help"] for name in ("call", "explain", "log", "tools")),
    ):
        shown = subprocess.run(
            [WHENCE, *arguments], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        assert "whence " in shown
        assert "example" in shown.lower()


def test_a_tool_of_another_catalog_is_pointed_to(whence: Command) -> None:
    ran = whence.call("apply_diff", path="a", diff="b")

    assert (ran.code, ran.error["code"]) == (1, "NOT_FOUND")
    assert ran.err == "apply_diff is in the catalog roo: add --catalog roo\n"
    missing = whence.call("fs.read", path="nowhere")
    assert (missing.error["code"], missing.err) == ("NOT_FOUND", "")
