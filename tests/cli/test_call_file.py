"""`whence call -f FILE`: the tools of an agent file, tried before a model does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.loop.agents import call, write_agent

GREET = '<tool name="greet" command="echo hello"/>'
WHY = "Try the tool before a model does"


@pytest.mark.requirement("cli:call-file")
def test_a_command_of_a_file_is_called_as_its_model_would(whence: Command) -> None:
    write_agent(whence.workspace, [], GREET)

    ran = whence("call", "-f", "agent.chatmd", "greet", given(arguments=["you"]))

    assert (ran.code, ran.json["result"]) == (0, "hello you\n")
    assert ran.json["isolation"]


@pytest.mark.requirement("cli:call-file")
def test_the_file_stays_as_it_is(whence: Command) -> None:
    path = write_agent(whence.workspace, [], GREET)
    before = path.read_bytes()

    whence("call", "-f", "agent.chatmd", "greet", given(arguments=["you"]))

    assert path.read_bytes() == before


@pytest.mark.requirement("cli:call-file")
def test_an_agent_of_a_file_runs_below_the_call(whence: Command) -> None:
    answers = [{"calls": [call("fs.ls", path=".")]}, "I looked."]
    write_agent(whence.workspace, answers, '<tool name="fs.ls"/>', name="helper")
    write_agent(whence.workspace, [], '<tool name="helper" agent="helper.chatmd" local/>')

    ran = whence("call", "-f", "agent.chatmd", "helper", given(input="look"))
    shown = whence("log", "show", "--format", "json", "--type", "tool_call")

    assert (ran.code, ran.json["result"]) == (0, "I looked.")
    made = [json.loads(line) for line in shown.out.splitlines()]
    assert [one["tool"] for one in made] == ["helper", "fs.ls"]
    assert made[1]["parent"] == made[0]["call_id"]


@pytest.mark.requirement("cli:call-file")
def test_only_what_the_file_declares_can_be_called(whence: Command) -> None:
    write_agent(whence.workspace, [], GREET)

    ran = whence("call", "-f", "agent.chatmd", "fs.read", given(path="agent.chatmd"))

    assert (ran.code, ran.json["error"]["code"]) == (1, "NOT_FOUND")


@pytest.mark.requirement("cli:call-file")
def test_rules_of_the_command_line_are_about_the_tools_of_the_file(whence: Command) -> None:
    write_agent(whence.workspace, [], GREET)
    wanted = ("greet", given(arguments=["you"]), "--deny", "greet")

    ran = whence("call", "-f", "agent.chatmd", *wanted)
    explained = whence("explain", "-f", "agent.chatmd", *wanted)

    assert (ran.code, ran.json["error"]["code"]) == (1, "PERMISSION_DENIED")
    assert explained.code == 1
    assert "the rule greet of the command line says deny" in explained.out


@pytest.mark.requirement("cli:call-file")
def test_a_tool_of_a_server_is_called(whence: Command) -> None:
    server = Path(__file__).parents[1] / "mcp" / "servers" / "modern.py"
    declared = f'<tool mcp_server="stdio:{sys.executable} {server}"/>'
    write_agent(whence.workspace, [], declared)

    explained = whence("explain", "-f", "agent.chatmd", "echo", given(text="hi"))
    ran = whence("call", "-f", "agent.chatmd", "echo", given(text="hi"), "--allow", "echo")

    assert (ran.code, ran.json["result"]) == (0, "hi")
    assert "it executes without full isolation" in explained.out


@pytest.mark.requirement("cli:call-file")
def test_a_fork_without_a_conversation_says_so(whence: Command) -> None:
    write_agent(whence.workspace, [], '<tool name="fork"/>')

    ran = whence("call", "-f", "agent.chatmd", "fork", given(command="x", arguments=[]))

    assert ran.json["error"]["message"] == "fork continues a conversation, and there is none"


def given(**arguments: object) -> str:
    return json.dumps({"why": WHY, **arguments})
