"""Servers that are programs, from the file to the call."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.loop.agents import Heard, call, write_agent
from tests.mcp.serving import agent, declared, logged, outcome, outcomes, yes
from whence.errors import Conflict, PermissionDenied
from whence.loop.agent_file import load_agent
from whence.loop.lock import Lock
from whence.loop.news import Notice
from whence.loop.server_tools import server_tools, with_server_tools
from whence.loop.servers import Servers
from whence.loop.session import Session
from whence.shapes.approval import Answer, Question
from whence.shapes.policy import Policy, Rule, Verdict

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("mcp:stdio")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_server_of_each_older_version_is_greeted_and_called(
    tmp_path: Path, version: str
) -> None:
    done = await outcome(tmp_path, declared("old", version=version), "echo", text="hello")
    assert done.result == "hello"
    assert done.isolation == {"filesystem": "none", "network": "none", "processes": "none"}


@pytest.mark.requirement("mcp:newest")
async def test_a_server_of_the_newest_version_needs_no_greeting(tmp_path: Path) -> None:
    calls = [call("echo", text="hello"), call("add", a=1, b=2), call("picture"), call("fail")]
    done = await outcomes(tmp_path, calls, declared("modern"))
    assert [each.result for each in done[:2]] == ["hello", {"sum": 3}]
    assert done[2].result[1]["type"] == "image"  # type: ignore[index, call-overload]
    assert done[3].result["is_error"] is True  # type: ignore[index, call-overload]


@pytest.mark.requirement("mcp:strict-greeting")
async def test_a_server_that_dies_of_the_newest_greeting_is_greeted_the_old_way(
    tmp_path: Path,
) -> None:
    done = await outcome(tmp_path, declared("old", strict=1), "echo", text="hello")
    assert done.result == "hello"


@pytest.mark.requirement("mcp:why")
async def test_the_reason_goes_to_the_server_beside_the_arguments(tmp_path: Path) -> None:
    log = tmp_path / "log"
    calls = [call("echo", text="a"), call("why_not", why="sky", _why="Ask about the sky")]
    done = await outcomes(tmp_path, calls, declared("old", log=log))
    assert all(each.ok for each in done)
    first, second = (each["params"] for each in logged(log) if each.get("method") == "tools/call")
    assert first["arguments"] == {"text": "a"}
    assert first["_meta"]["why"] == "Prove that the loop holds"
    assert second["arguments"] == {"why": "sky"}
    assert second["_meta"]["why"] == "Ask about the sky"


@pytest.mark.requirement("mcp:why")
async def test_a_reason_with_half_a_character_does_not_cost_the_connection(tmp_path: Path) -> None:
    path, workspace = write_agent(tmp_path, [], declared("old")), os.fspath(tmp_path)
    servers = Servers(workspace, os.environ)
    file = load_agent(os.fspath(path), workspace)
    tools = await server_tools(file, servers, Lock(workspace), pytest.fail)
    with Session(workspace, tools, approver=yes) as session:
        done = await session.call("echo", "Half of it: \ud83d", text="whole")
    await servers.close()
    assert done.result == "whole"


@pytest.mark.requirement("mcp:results")
async def test_results_come_as_words_pictures_files_and_json(tmp_path: Path) -> None:
    names = ["picture", "shape", "sound", "fail", "big"]
    done = await outcomes(tmp_path, [call(name) for name in names], declared("old"))
    picture, shape, sound, fail, big = (each.result for each in done)
    assert isinstance(picture, list)
    assert picture[0] == "look"
    assert picture[1]["media_type"] == "image/png"
    assert picture[2] == "more: https://example.org/more"
    assert shape == {"size": 3}
    assert isinstance(sound, str)
    kept = sound.split("kept in ")[1].rstrip("]")
    assert (tmp_path / kept).read_bytes() == b"\x00\x01\x02"
    assert fail == {"is_error": True, "content": "no such moon"}
    assert isinstance(big, str)
    assert done[4].truncated
    assert done[4].artifact is not None
    assert (tmp_path / done[4].artifact).stat().st_size == 5_000_000


@pytest.mark.requirement("mcp:results")
async def test_structured_content_that_does_not_fit_is_remarked_on(tmp_path: Path) -> None:
    done = await outcome(tmp_path, declared("old", misfit=1), "shape")
    assert done.result == {"weight": 3}
    assert "does not fit" in done.warnings[0]


@pytest.mark.requirement("mcp:protocol-error")
async def test_an_error_of_the_protocol_is_a_fault_without_escapes(tmp_path: Path) -> None:
    done = await outcome(tmp_path, declared("old"), "refuse")
    assert done.fault is not None
    assert done.fault.code == "NOT_FOUND"
    assert "-32601" in done.fault.message
    assert "\x1b" not in done.fault.message


@pytest.mark.requirement("mcp:dies")
async def test_a_server_that_dies_in_a_call_is_unavailable_and_then_connected_to_anew(
    tmp_path: Path,
) -> None:
    calls = [call("die"), call("echo", text="back")]
    died, back = await outcomes(tmp_path, calls, declared("old"))
    assert died.fault is not None
    assert died.fault.code == "UNAVAILABLE"
    assert "exit status 3" in died.fault.message
    assert "goodbye" in died.fault.message
    assert "whether the work was done" in died.fault.suggestion
    assert back.result == "back"


@pytest.mark.requirement("mcp:cancel")
async def test_a_call_that_takes_too_long_is_cancelled_at_the_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = await outcome(tmp_path, declared("old", more='timeout="2s"', log=log), "hang")
    assert done.fault is not None
    assert done.fault.code == "TIMEOUT"
    asked = next(each for each in logged(log) if each.get("method") == "tools/call")
    told = next(each for each in logged(log) if each.get("method") == "notifications/cancelled")
    assert told["params"]["requestId"] == asked["id"]


@pytest.mark.requirement("mcp:deadline")
async def test_a_server_that_never_answers_is_told_about_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whence.loop.servers.PATIENCE_S", 3.0)
    heard = Heard()
    declaration = declared("old", "echo", more='timeout="1s"', silent=1)
    (done,) = await outcomes(tmp_path, [call("echo", text="a")], declaration, heard=heard)
    assert done.fault is not None
    assert done.fault.code == "UNAVAILABLE"
    said = " ".join(each.text for each in heard.of(Notice))
    assert "not ready within 3 s" in said
    assert "still thinking" in said


@pytest.mark.requirement("mcp:deadline")
async def test_a_server_that_stops_answering_costs_a_call_no_more_than_its_time(
    tmp_path: Path,
) -> None:
    declaration = declared("old", more='timeout="1s"', mute=2)
    first, second = await outcomes(tmp_path, [call("echo", text="a")] * 2, declaration)
    assert first.ok
    assert second.fault is not None
    assert second.fault.code == "TIMEOUT"
    assert "gave no list within 1 s" in second.fault.message


@pytest.mark.requirement("mcp:junk")
async def test_what_a_server_prints_between_its_messages_is_passed_over(tmp_path: Path) -> None:
    done = await outcome(tmp_path, declared("old", junk=1), "echo", text="hello")
    assert done.result == "hello"


@pytest.mark.requirement("mcp:pages")
async def test_every_page_of_tools_is_read(tmp_path: Path) -> None:
    done = await outcome(tmp_path, declared("old", page=7, many=500), "many_499")
    assert done.ok


@pytest.mark.requirement("mcp:pages")
async def test_pages_without_end_are_given_up(tmp_path: Path) -> None:
    for server in (declared("old", endless=1), declared("old", heavy=20_000_000)):
        heard = Heard()
        await agent(tmp_path, [], server).run("go", on=heard)
        assert any("no end" in each.text for each in heard.of(Notice))


@pytest.mark.requirement("mcp:environment")
async def test_a_program_sees_only_the_variables_that_are_declared(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    environ = {**os.environ, "TOKEN": "t0ken", "OTHER_SECRET": "no"}
    declaration = declared("old", more='env="TOKEN" cwd="below"')
    (done,) = await outcomes(tmp_path, [call("who")], declaration, environ=environ)
    seen = json.loads(str(done.result))
    assert seen["env"]["TOKEN"] == "t0ken"
    assert "OTHER_SECRET" not in seen["env"]
    assert seen["cwd"] == os.path.realpath(tmp_path / "below")


@pytest.mark.requirement("mcp:environment")
async def test_a_variable_that_is_not_set_is_named_where_the_server_fails(tmp_path: Path) -> None:
    heard = Heard()
    declaration = '<tool mcp_server="stdio:sh -c \'exit 1\'" env="NO_SUCH_TOKEN"/>'
    await agent(tmp_path, [], declaration).run("go", on=heard)
    assert any("$NO_SUCH_TOKEN is not set" in each.text for each in heard.of(Notice))


@pytest.mark.requirement("mcp:include")
async def test_only_the_included_tools_are_mounted(tmp_path: Path) -> None:
    done = await outcomes(
        tmp_path, [call("echo", text="a"), call("who")], declared("old", "echo,fail")
    )
    assert done[0].ok
    assert done[1].fault is not None
    assert done[1].fault.code == "NOT_FOUND"


@pytest.mark.requirement("mcp:include")
async def test_an_included_tool_that_is_not_there_is_told_about(tmp_path: Path) -> None:
    heard = Heard()
    await agent(tmp_path, [], declared("old", "ecko")).run("go", on=heard)
    assert any("Did you mean echo?" in each.text for each in heard.of(Notice))


@pytest.mark.requirement("mcp:collision")
async def test_two_tools_of_one_name_are_refused_with_both_places(tmp_path: Path) -> None:
    servers = declared("old", only="echo"), declared("old", only="echo,fail")
    with pytest.raises(Conflict) as found:
        await agent(tmp_path, [], *servers).run("go")
    assert "agent.chatmd:2:1" in found.value.message
    assert "agent.chatmd:3:1" in found.value.message
    assert "include" in found.value.suggestion
    own = '<tool name="echo" command="echo"/>'
    with pytest.raises(Conflict, match=r"this file at .*:2:1"):
        await agent(tmp_path, [], own, declared("old")).run("go")


@pytest.mark.requirement("mcp:hidden")
async def test_hidden_words_are_shown_and_unusable_tools_left_out(tmp_path: Path) -> None:
    path = write_agent(tmp_path, [], declared("old", poison=1))
    workspace = os.fspath(tmp_path)
    file, notes = await with_server_tools(load_agent(os.fspath(path), workspace), workspace, {})
    found = {tool.name: tool for tool in file.resolved.tools}
    assert found["poison"].description.startswith("Nice<U+001B>[2J<U+202E> tool<U+E0072><U+E0065>")
    assert not found.keys() & {"deep", "remote", "b\u0430d name", "../up"}
    said = "\n".join(notes)
    assert "'deep' is left out: the input schema of 'deep' is nested" in said
    assert "'remote' is left out" in said
    assert "letters, digits" in said
    assert "offers 'drop' twice" in said


@pytest.mark.requirement("mcp:asks")
async def test_a_call_asks_whatever_the_server_says_of_itself(tmp_path: Path) -> None:
    asked: list[Question] = []

    async def no(question: Question) -> Answer:
        asked.append(question)
        return Answer(approved=False)

    done = await outcome(tmp_path, declared("old"), "echo", no, text="a")
    assert done.fault is not None
    assert done.fault.code == "PERMISSION_DENIED"
    assert asked[0].reason == "it executes without full isolation"
    assert asked[0].rule == "echo"


@pytest.mark.requirement("mcp:rules")
async def test_a_rule_for_the_tool_lets_it_through_without_asking(tmp_path: Path) -> None:
    policy = Policy(rules=(Rule(Verdict.ALLOW, "echo", None, "test"),))
    calls = [call("echo", text="a"), call("who")]
    first, second = await outcomes(tmp_path, calls, declared("old"), approver=None, policy=policy)
    assert first.result == "a"
    assert second.fault is not None
    assert second.fault.code == "PERMISSION_DENIED"


@pytest.mark.requirement("mcp:mode")
async def test_a_mode_without_the_group_mcp_has_no_server_tools(tmp_path: Path) -> None:
    (tmp_path / ".agent").mkdir()
    modes = (
        "customModes:\n- {slug: still, name: Still, roleDefinition: Be still., groups: [read]}\n"
    )
    (tmp_path / ".agent" / "modes.yaml").write_text(modes, "utf-8")
    done = await outcomes(tmp_path, [call("echo", text="a")], declared("old"), mode="still")
    assert done[0].fault is not None


@pytest.mark.requirement("mcp:shared")
async def test_tools_and_sub_agents_share_one_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = declared("old", "who", log=log)
    write_agent(tmp_path, [{"calls": [call("who")]}, "done"], server, name="child")
    child = '<tool name="child" agent="child.chatmd" local/>'
    done = await outcomes(tmp_path, [call("who"), call("child", input="go")], child, server)
    assert all(each.ok for each in done)
    greeted = [each for each in logged(log) if each.get("method") == "initialize"]
    called = [each for each in logged(log) if each.get("method") == "tools/call"]
    assert (len(greeted), len(called)) == (1, 2)


@pytest.mark.requirement("mcp:web-agent")
async def test_an_agent_from_the_web_cannot_start_a_program(tmp_path: Path) -> None:
    path = write_agent(tmp_path, [], declared("old", pid=tmp_path / "pid"))
    file = replace(load_agent(os.fspath(path), os.fspath(tmp_path)), path="https://a.example/x")
    servers = Servers(os.fspath(tmp_path), os.environ)
    said: list[Any] = []
    with pytest.raises(PermissionDenied):
        await server_tools(file, servers, Lock(os.fspath(tmp_path)), said.append)
    assert not (tmp_path / "pid").exists()


@pytest.mark.requirement("mcp:stuck")
async def test_a_server_that_is_stuck_is_replaced(tmp_path: Path) -> None:
    calls = [call("stall"), call("echo", text="a"), call("echo", text="b")]
    declaration = declared("old", more='timeout="1s"')
    stall, listing, after = await outcomes(tmp_path, calls, declaration)
    assert stall.fault is not None
    assert stall.fault.code == "TIMEOUT"
    assert listing.fault is not None
    assert "gave no list" in listing.fault.message
    assert after.result == "b"
