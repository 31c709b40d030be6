"""Servers on the command line: mcp, tools, show, run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.loop.agents import call, write_agent
from tests.mcp.serving import command, declared, whence


@pytest.mark.requirement("mcp:command")
def test_mcp_shows_what_a_server_offers(tmp_path: Path) -> None:
    done = whence(tmp_path, "mcp", command("modern"))
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("modern 7.1, protocol 2026-07-28\nBe kind.\n\ntools:\n")
    assert "  echo     Say it again." in done.stdout
    assert "prompts:\n  greet  Greets somebody." in done.stdout
    assert "resources:\n  note://one  A note." in done.stdout
    offer = json.loads(whence(tmp_path, "mcp", command("modern"), "--json").stdout)
    assert offer["tools"][0]["inputSchema"]["required"] == ["text"]
    assert [each["name"] for each in offer["prompts"]] == ["greet"]


@pytest.mark.requirement("mcp:command")
def test_mcp_obeys_nothing_that_a_server_says(tmp_path: Path) -> None:
    done = whence(tmp_path, "mcp", command("old", poison=1))
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "Nice<U+001B>[2J<U+202E> tool" in done.stdout


@pytest.mark.requirement("mcp:command")
@pytest.mark.parametrize(
    ("target", "said", "code"),
    [
        ("stdio:/no/such/program", "there is no such program", 1),
        ("stdio:sh -c 'echo boo >&2; exit 4'", "exit status 4; it wrote 'boo'", 1),
        ("http://127.0.0.1:9/mcp", "cannot be reached", 1),
        ("ftp://example.org", "ftp://example.org", 1),
    ],
    ids=["missing", "ends", "nobody", "scheme"],
)
def test_mcp_says_in_two_lines_why_there_is_no_server(
    tmp_path: Path, target: str, said: str, code: int
) -> None:
    done = whence(tmp_path, "mcp", target)
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.requirement("mcp:command")
def test_without_the_sdk_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ImportError('not here')", "utf-8")
    done = whence(tmp_path, "mcp", command("old"), PYTHONPATH=os.fspath(tmp_path))
    assert done.returncode == 1
    assert "pip install 'mcp" in done.stderr


@pytest.mark.requirement("mcp:listed")
def test_tools_and_show_have_the_servers_tools(tmp_path: Path) -> None:
    path = os.fspath(write_agent(tmp_path, [], declared("old", "echo,drop"), said="<user>a</user>"))
    listed = whence(tmp_path, "tools", path).stdout
    assert "echo  execute        Say it again." in listed
    assert "drop  execute,write  Drops things." in listed
    (first, _) = json.loads(whence(tmp_path, "tools", path, "--json").stdout)
    assert first["source"] == "mcp"
    assert list(first["input_schema"]["properties"]) == ["why", "text"]
    shown = json.loads(whence(tmp_path, "show", path, "--as", "anthropic").stdout)
    assert [tool["name"] for tool in shown["tools"]] == ["drop", "echo"] or [
        tool["name"] for tool in shown["tools"]
    ] == ["echo", "drop"]


@pytest.mark.requirement("mcp:listed")
def test_an_unreachable_server_is_one_line_and_the_rest_is_listed(tmp_path: Path) -> None:
    own = '<tool name="list" command="ls"/>'
    server = '<tool mcp_server="http://127.0.0.1:9/mcp"/>'
    done = whence(tmp_path, "tools", os.fspath(write_agent(tmp_path, [], own, server)))
    assert done.returncode == 0
    assert done.stdout.startswith("list")
    (line,) = done.stderr.splitlines()
    assert "http://127.0.0.1:9/mcp cannot be reached" in line


@pytest.mark.requirement("mcp:run")
def test_run_calls_a_server_by_a_rule_and_the_journal_has_it(tmp_path: Path) -> None:
    answers = [{"calls": [call("echo", text="hello")]}, "the end"]
    path = os.fspath(write_agent(tmp_path, answers, declared("old")))
    done = whence(tmp_path, "run", path, "go", "--allow", "echo", "--ephemeral")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the end\n"
    listed = whence(tmp_path, "log", "show", "--format", "json").stdout.splitlines()
    events = [json.loads(line) for line in listed]
    made = [each for each in events if each["type"] == "tool_call"]
    assert made[0]["tool"] == "echo"
    assert any("hello" in json.dumps(each) for each in events if each["type"] == "tool_result")
    wrong = whence(tmp_path, "run", path, "go", "--allow", "ecko", "--ephemeral")
    assert wrong.returncode == 2
    assert "Closest names: echo" in wrong.stderr


@pytest.mark.requirement("mcp:hosts")
def test_mcp_is_told_which_private_network_may_be_asked(tmp_path: Path) -> None:
    done = whence(tmp_path, "mcp", "http://127.1:9/mcp")
    assert "which is a loopback address" in done.stderr
    assert 'network="10.0.0.0/8"' in done.stderr
    done = whence(tmp_path, "mcp", "http://127.1:9/mcp", "--network", "127.0.0.0/8")
    assert "cannot be reached" in done.stderr
