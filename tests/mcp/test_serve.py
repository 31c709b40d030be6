"""What a server offers, and what becomes of calls: the installed program on its pipes."""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import DEVNULL
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from mcp import Client
from tests.loop.agents import WHY, call
from tests.mcp.publishing import (
    NEWEST,
    calling,
    calls,
    fault_of,
    greeting,
    journal,
    line,
    program,
    publish,
    served,
    spoken,
    text_of,
)
from tests.mcp.serving import declared


async def is_running(words: str) -> bool:
    """Whether a program with these words in its command line is there."""
    found = await asyncio.create_subprocess_exec("pgrep", "-f", words, stdout=DEVNULL)
    return await found.wait() == 0


POLITE = "<system>You are a very polite\nassistant.\n\nYou never shout.</system>"


@pytest.mark.anyio
@pytest.mark.requirement("serve:eras")
@pytest.mark.parametrize("mode", ["legacy", NEWEST])
async def test_the_official_client_lists_calls_and_prompts_in_both_eras(
    tmp_path: Path, mode: str
) -> None:
    publish(tmp_path, "hello", ["Good day."], said=POLITE)
    seen: list[tuple[float, float | None, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with Client(program(tmp_path), mode=mode) as client:
        (tool,) = (await client.list_tools()).tools
        (prompt,) = (await client.list_prompts()).prompts
        asked = {"input": "Hi", "why": "Greet them"}
        result = await client.call_tool("hello", asked, progress_callback=heard)
        got = await client.get_prompt("hello", {"input": "Hi"})
    assert (tool.name, prompt.name) == ("hello", "hello")
    assert tool.description == prompt.description == "You are a very polite assistant."
    assert result.content[0].text == "Good day."  # type: ignore[union-attr]
    assert not result.is_error
    assert [message.content.text for message in got.messages][-1] == "Hi"  # type: ignore[union-attr]
    assert seen == [(0, 1, "Starting agent"), (1, 1, "Completed")]
    assert calls(tmp_path) == [("hello", "Greet them")]


@pytest.mark.requirement("serve:eras")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_older_version_is_agreed_on(tmp_path: Path, version: str) -> None:
    publish(tmp_path, "hello", ["Good day."])
    asked = calling("hello", 1, input="Hi")
    heard = spoken(tmp_path, [asked], greeted=greeting(version))
    assert heard[0]["result"]["protocolVersion"] == version
    assert heard[0]["result"]["capabilities"]["tools"] == {"listChanged": True}
    assert "why" in heard[0]["result"]["instructions"]
    assert text_of(heard[1]) == "Good day."


@pytest.mark.requirement("serve:tool")
def test_an_agent_takes_one_text_or_the_inputs_that_it_names(tmp_path: Path) -> None:
    publish(tmp_path, "plain", ["plain"])
    issue = '<input name="issue" type="integer" required description="Its number"/>'
    publish(tmp_path, "triage", ["done"], issue, '<input name="note"/>')
    heard = spoken(
        tmp_path,
        [
            line("tools/list", id=1),
            line("prompts/list", id=2),
            calling("triage", 3, issue=17, note="soon"),
            calling("triage", 4, issue="x"),
            line("prompts/get", {"name": "triage", "arguments": {"issue": "17"}}, 5),
            line("prompts/get", {"name": "triage", "arguments": {}}, 6),
            line("prompts/get", {"name": "triage", "arguments": {"issue": "1", "x": "1"}}, 7),
            line("prompts/get", {"name": "none"}, 8),
        ],
    )
    plain, triage = heard[1]["result"]["tools"]
    assert plain["inputSchema"]["required"] == ["input"]
    assert set(plain["inputSchema"]["properties"]) == {"why", "input"}
    assert set(triage["inputSchema"]["properties"]) == {"why", "issue", "note"}
    assert heard[2]["result"]["prompts"][1]["arguments"] == [
        {"name": "issue", "description": "Its number", "required": True},
        {"name": "note", "description": "", "required": False},
    ]
    assert text_of(heard[3]) == "done"
    assert fault_of(heard[4])["code"] == "INVALID_ARGS"
    assert heard[5]["result"]["messages"][-1]["content"]["text"] == "issue: 17"
    assert "needs 'issue'" in heard[6]["error"]["message"]
    assert "does not take 'x'" in heard[7]["error"]["message"]
    assert "Prompts: plain, triage" in heard[8]["error"]["message"]


@pytest.mark.requirement("serve:names")
def test_tools_are_named_by_the_stems_of_their_files_in_letters_that_clients_take(
    tmp_path: Path,
) -> None:
    path = publish(tmp_path, "hello", ["Good day."])
    for name in ("a b.chatmd", "größe.chatmd", "2024.chatmd", f"{'x' * 90}.chatmd", "notes.md"):
        (path.parent / name).write_bytes(path.read_bytes())
    (path.parent / ".chatmd").mkdir()
    sources = ("prompts", "prompts/notes.md")
    heard = spoken(tmp_path, [line("tools/list", id=1), line("prompts/list", id=2)], *sources)
    names = [tool["name"] for tool in heard[1]["result"]["tools"]]
    assert {"hello", "a_b", "gr_e", "_2024", "notes"} < set(names)
    assert max(map(len, names)) == 64
    assert sorted(names) == sorted(prompt["name"] for prompt in heard[2]["result"]["prompts"])
    heard = spoken(
        tmp_path,
        [calling(name, number, input="Hi") for number, name in enumerate(names, 1)],
        *sources,
    )
    assert all(text_of(heard[number]) == "Good day." for number in range(1, len(names) + 1))
    assert heard.stderr == ""


@pytest.mark.requirement("serve:args")
def test_arguments_may_be_called_args_as_older_clients_do(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    asked = {"name": "hello", "args": {"input": "Hi"}}
    heard = spoken(tmp_path, [line("tools/call", asked, 1)])
    assert heard[1]["result"] == {
        "content": [{"type": "text", "text": "Good day."}],
        "isError": False,
    }


@pytest.mark.requirement("serve:why")
def test_a_reason_comes_with_the_arguments_or_beside_them_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    read = {"name": "fs.read", "arguments": {"path": "a.txt"}}
    heard = spoken(
        tmp_path,
        [
            calling("fs_read", 1, path="a.txt", why="Among them"),
            line("tools/call", {**read, "_meta": {"why": "Beside them"}}, 2),
            line("tools/call", {**read, "_meta": {"why": 17}}, 3),
            line("tools/list", id=4),
        ],
        "--catalog", "moollm",
    )  # fmt: skip
    assert all(heard[number]["result"]["isError"] is False for number in (1, 2, 3))
    assert calls(tmp_path) == [
        ("fs.read", "Among them"), ("fs.read", "Beside them"), ("fs.read", None),
    ]  # fmt: skip
    schemas = [tool["inputSchema"] for tool in heard[4]["result"]["tools"]]
    assert all("why" in schema["properties"] for schema in schemas)
    assert not any("why" in schema["required"] for schema in schemas)


@pytest.mark.requirement("serve:require-why")
def test_a_server_may_demand_reasons(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    heard = spoken(
        tmp_path,
        [calling("hello", 1, input="Hi"), calling("hello", 2, input="Hi", why="Greet them"),
         line("tools/list", id=3)],
        "prompts", "--require-why",
    )  # fmt: skip
    assert fault_of(heard[1])["code"] == "MISSING_WHY"
    assert text_of(heard[2]) == "Good day."
    assert "why" in heard[3]["result"]["tools"][0]["inputSchema"]["required"]


@pytest.mark.requirement("serve:inside")
def test_the_calls_of_an_agent_need_reasons_whatever_the_server_demands(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    unexplained = {"tool": "fs.read", "args": {"path": "a.txt"}}
    publish(tmp_path, "reader", [{"calls": [unexplained]}, "{outcome}"], '<tool name="fs.read"/>')
    heard = spoken(tmp_path, [calling("reader", 1, input="Read")])
    assert "MISSING_WHY" in text_of(heard[1])


@pytest.mark.requirement("serve:journal")
def test_calls_and_what_agents_do_for_them_are_in_one_journal(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the text")
    steps = [{"calls": [call("fs.read", path="a.txt")]}, "It says {outcome}"]
    publish(tmp_path, "reader", steps, '<tool name="fs.read"/>')
    heard = spoken(
        tmp_path, [calling("reader", 1, input="Read", why="Learn it"), calling("nothing", 2)]
    )
    assert "the text" in text_of(heard[1])
    assert calls(tmp_path) == [("reader", "Learn it"), ("nothing", None), ("fs.read", WHY)]
    entries = journal(tmp_path)
    assert entries[-1].type == "session_end"
    assert entries[-1].fields["reason"] == "done"


@pytest.mark.requirement("serve:unknown")
def test_an_unknown_tool_is_an_error_of_the_protocol_and_in_the_journal(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    heard = spoken(tmp_path, [calling("helo", 1, input="Hi")])
    assert heard[1]["error"]["code"] == -32602
    assert heard[1]["error"]["data"]["code"] == "NOT_FOUND"
    assert "hello" in heard[1]["error"]["message"]
    assert calls(tmp_path) == [("helo", None)]


@pytest.mark.requirement("serve:faults")
def test_faults_are_results_with_a_code_and_what_to_do(tmp_path: Path) -> None:
    publish(tmp_path, "mute", [])
    asked = {"name": "mute", "arguments": {"input": "Hi"}, "_meta": {"progressToken": "mine"}}
    heard = spoken(tmp_path, [line("tools/call", asked, 1), calling("mute", 2, inptu="Hi")])
    assert fault_of(heard[1])["code"] == "UNAVAILABLE"
    assert fault_of(heard[1])["suggestion"]
    assert fault_of(heard[2])["code"] == "INVALID_ARGS"
    told = heard.of("notifications/progress")
    steps = [(each["progressToken"], each["message"]) for each in told]
    assert steps == [("mine", "Starting agent"), ("mine", "Failed")]


@pytest.mark.requirement("serve:progress")
def test_progress_goes_further_with_each_call_and_is_whole_only_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    steps = [
        {"calls": [call("fs.read", path="a.txt", range={"start": number})]}
        for number in range(1, 80)
    ]
    publish(tmp_path, "reader", [*steps, "end"], '<tool name="fs.read"/>')
    asked = {"name": "reader", "arguments": {"input": "Hi"}, "_meta": {"progressToken": 7}}
    heard = spoken(tmp_path, [line("tools/call", asked, 1)])
    told = heard.of("notifications/progress")
    values = [each["progress"] for each in told]
    assert len(values) == 81
    assert values[0] == 0
    assert all(before < after for before, after in pairwise(values))
    assert values[-1] == 1
    assert {each["progressToken"] for each in told} == {7}
    assert told[1]["message"] == f"fs.read: {WHY}"


@pytest.mark.requirement("serve:structured")
def test_results_with_a_schema_are_structured_and_fit_it(tmp_path: Path) -> None:
    publish(tmp_path, "sum", ['{"sum": 5}'], '<output schema="{sum: int}"/>')
    publish(tmp_path, "many", ["[1, 2]"], '<output schema="int[]"/>')
    heard = spoken(
        tmp_path,
        [line("tools/list", id=1), calling("sum", 2, input="2, 3"), calling("many", 3, input="x")],
    )
    many, total = heard[1]["result"]["tools"]
    assert total["outputSchema"]["type"] == "object"
    assert heard[2]["result"]["structuredContent"] == {"sum": 5}
    assert json.loads(text_of(heard[2])) == {"sum": 5}
    assert "outputSchema" not in many
    assert text_of(heard[3]) == "[1,2]"


@pytest.mark.requirement("serve:structured")
def test_results_of_built_in_tools_fit_their_schemas_also_when_they_are_cut(
    tmp_path: Path,
) -> None:
    for number in range(3000):
        (tmp_path / f"{'name' * 10}-{number}.txt").touch()
    (tmp_path / "long.txt").write_text("word\n" * 100_000)
    asked = {
        "fs.read": {"path": "long.txt"},
        "fs.ls": {"path": "."},
        "fs.write": {"path": "b.txt", "content": "x"},
        "search.lexical": {"query": "word"},
    }
    said = [calling(name, name, **arguments) for name, arguments in asked.items()]
    heard = spoken(tmp_path, [line("tools/list", id=1), *said], "--catalog", "moollm")
    schemas = {tool["name"]: tool.get("outputSchema") for tool in heard[1]["result"]["tools"]}
    for name in asked:
        result, schema = heard[name]["result"], schemas[name.replace(".", "_")]
        assert result["isError"] is False, result
        assert schema is None or Draft202012Validator(schema).is_valid(result["structuredContent"])
    assert "truncated" in json.dumps(heard.messages)


@pytest.mark.requirement("serve:long")
def test_a_long_answer_is_cut_and_the_whole_is_kept(tmp_path: Path) -> None:
    publish(tmp_path, "talker", ["word " * 50_000])
    heard = spoken(tmp_path, [calling("talker", 1, input="Talk")])
    said = text_of(heard[1])
    assert len(said) < 120_000
    kept = said.split("is kept in ")[1].rstrip("]")
    assert (tmp_path / kept).read_text() == "word " * 50_000


@pytest.mark.requirement("serve:pictures")
def test_a_picture_is_sent_as_a_picture_and_once(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (8, 8), "red").save(tmp_path / "red.png")
    heard = spoken(tmp_path, [calling("import_image", 1, path="red.png")], "--catalog", "chatmd")
    (picture,) = [part for part in heard[1]["result"]["content"] if part["type"] == "image"]
    assert picture["mimeType"] == "image/png"
    assert json.dumps(heard.messages).count(picture["data"]) == 1


@pytest.mark.requirement("serve:parallel")
def test_requests_are_worked_on_at_the_same_time(tmp_path: Path) -> None:
    """Each of two calls waits for what the other one makes."""
    waits = "command=\"sh -c 'touch made-$1; while ! test -e made-$2; do sleep 0.05; done' -\""
    for mine, other in (("a", "b"), ("b", "a")):
        step = {"calls": [call("meet", arguments=[mine, other])]}
        publish(tmp_path, f"meet_{mine}", [step, "met"], f'<tool name="meet" {waits}/>')
    said = [calling("meet_a", 1, input="Meet"), calling("meet_b", 2, input="Meet")]
    heard = spoken(tmp_path, said, "prompts", "--allow", "meet")
    assert (text_of(heard[1]), text_of(heard[2])) == ("met", "met")


@pytest.mark.requirement("serve:session")
def test_a_session_is_continued_with_its_name(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    for number in (1, 2):
        heard = spoken(tmp_path, [calling("hello", 1, input=str(number))])
        assert text_of(heard[1]) == "Good day."
    ids = [e.fields["call_id"] for e in journal(tmp_path) if e.type == "tool_call"]
    assert len(set(ids)) == 2


@pytest.mark.anyio
@pytest.mark.requirement("serve:cancel")
async def test_a_cancelled_request_stops_the_agent_and_its_program(tmp_path: Path) -> None:
    command = "command=\"sh -c 'echo $$ > pid; sleep 600' -\""
    step = {"calls": [call("wait", arguments=[])]}
    publish(tmp_path, "waiter", [step, "end"], f'<tool name="wait" {command}/>')
    async with served(tmp_path, "prompts", "--allow", "wait") as client:
        await client.greet()
        asked: dict[str, Any] = {"name": "waiter", "arguments": {"input": "Wait"}}
        client.send(line("tools/call", {**asked, "_meta": {"progressToken": 1}}, "x"))
        while not (tmp_path / "pid").exists():
            await asyncio.sleep(0.02)
        client.send(line("notifications/cancelled", {"requestId": "x"}))
        assert (await client.ask("ping"))["result"] == {}
        assert await client.leave() == 0
        assert not any(each.get("id") == "x" for each in client.heard)
        assert not any(each["params"]["message"] == "Failed" for each in client.heard)
    ends = {e.fields["tool"]: e.fields["error"]["code"] for e in journal(tmp_path)
            if e.type == "tool_error"}  # fmt: skip
    assert ends == {"wait": "CANCELLED", "waiter": "CANCELLED"}
    assert not await is_running("sleep 600")


@pytest.mark.anyio
@pytest.mark.requirement("serve:cancel")
async def test_a_cancelled_call_of_the_newest_era_is_stopped_too(tmp_path: Path) -> None:
    step = {"calls": [call("wait", arguments=[])]}
    command = "command=\"sh -c 'touch begun; sleep 601' -\""
    publish(tmp_path, "waiter", [step, "end"], f'<tool name="wait" {command}/>')
    async with Client(program(tmp_path, "prompts", "--allow", "wait"), mode=NEWEST) as client:
        waiting = asyncio.ensure_future(client.call_tool("waiter", {"input": "Wait"}))
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.02)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert (await client.list_tools()).tools
    codes = [e.fields["error"]["code"] for e in journal(tmp_path) if e.type == "tool_error"]
    assert codes == ["CANCELLED", "CANCELLED"]


@pytest.mark.anyio
@pytest.mark.requirement("serve:cancel")
async def test_a_cancelled_request_ends_the_servers_of_its_agent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    steps = [{"calls": [call("hang")]}, "end"]
    publish(tmp_path, "waiter", steps, declared("old", "hang", log=log))
    async with served(tmp_path, "prompts", "--allow", "hang") as client:
        await client.greet()
        client.send(calling("waiter", "x", input="Wait"))
        async with asyncio.timeout(60):
            while not (log.exists() and "tools/call" in log.read_text()):
                await asyncio.sleep(0.02)
            assert await is_running(os.fspath(log))
            client.send(line("notifications/cancelled", {"requestId": "x"}))
            while await is_running(os.fspath(log)):
                assert (await client.ask("ping"))["result"] == {}
        assert await client.leave() == 0
    ends = [e.fields["error"]["code"] for e in journal(tmp_path) if e.type == "tool_error"]
    assert ends == ["CANCELLED", "CANCELLED"]


@pytest.mark.anyio
@pytest.mark.requirement("serve:approval")
async def test_a_person_behind_a_client_that_started_the_server_may_approve(
    tmp_path: Path,
) -> None:
    (tmp_path / ".env").write_text("SECRET=1")
    results: list[Any] = [
        {"action": "accept", "content": {"allow": True}},
        {"action": "accept", "content": {"allow": False}},
        {"action": "accept", "content": {"allow": "yes"}},
        {"action": "accept", "content": 17},
        {"action": "cancel"},
    ]
    answers = []
    async with served(tmp_path, "--catalog", "moollm") as client:
        await client.greet(elicitation={})
        for number, result in enumerate(results):
            client.send(calling("fs_read", f"x{number}", path=".env", why="See\x1b[2J it"))
            asked = await client.notified("elicitation/create")
            client.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
            answers.append(await client.answer(f"x{number}"))
        assert await client.leave() == 0
    question = asked["params"]["message"]
    assert '{"path":".env"}' in question
    assert "See<U+001B>[2J it" in question
    assert "looks like a file of secrets" in question
    assert "SECRET=1" in text_of(answers[0])
    assert {fault_of(answer)["code"] for answer in answers[1:]} == {"PERMISSION_DENIED"}
    given = [e.fields["approved"] for e in journal(tmp_path) if e.type == "user_approval"]
    assert given == [True, False, False, False, False]


@pytest.mark.requirement("serve:approval")
@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}], ids=["none", "url"])
def test_what_nobody_can_be_asked_about_is_refused(
    tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    (tmp_path / ".env").write_text("SECRET=1")
    heard = spoken(
        tmp_path, [calling("fs_read", 1, path=".env")], "--catalog", "moollm",
        greeted=greeting(**capabilities),
    )  # fmt: skip
    fault = fault_of(heard[1])
    assert fault["code"] == "PERMISSION_DENIED"
    assert "nobody is here" in fault["message"]
    assert "fs.read(.env)" in fault["suggestion"]


@pytest.mark.requirement("serve:rules")
def test_rules_of_the_command_line_and_of_the_workspace_hold(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / ".agent").mkdir()
    (tmp_path / ".agent" / "permissions.yaml").write_text("deny: [other]\nquotas: {calls: 3}\n")
    loop = [{"calls": [call("fs.read", path="a.txt", range={"start": n})]} for n in range(1, 9)]
    publish(tmp_path, "reader", [*loop, "end"], '<tool name="fs.read"/>')
    publish(tmp_path, "other", ["never"])
    write = [{"calls": [call("fs.write", path="b.txt", content="x")]}, "{outcome}"]
    publish(tmp_path, "writer", write, '<tool name="fs.write"/>')
    heard = spoken(
        tmp_path,
        [calling("other", 1, input="Hi"), calling("writer", 2, input="Hi"),
         calling("reader", 3, input="Hi")],
        "prompts", "--deny", "fs.write(b.txt)",
    )  # fmt: skip
    assert fault_of(heard[1])["code"] == "PERMISSION_DENIED"
    assert "PERMISSION_DENIED" in text_of(heard[2])
    assert text_of(heard[3]) == "end"
    codes = [e.fields["error"]["code"] for e in journal(tmp_path) if e.type == "tool_error"]
    assert codes.count("QUOTA_EXCEEDED") == 6
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.requirement("serve:rules")
def test_a_mode_holds_for_served_tools_and_inside_agents(tmp_path: Path) -> None:
    write = [{"calls": [call("fs.write", path="b.txt", content="x")]}, "{outcome}"]
    publish(tmp_path, "writer", write, '<tool name="fs.write"/>')
    heard = spoken(
        tmp_path,
        [calling("writer", 1, input="Hi"), calling("fs_write", 2, path="b.txt", content="x")],
        "prompts", "--catalog", "moollm", "--mode", "ask",
    )  # fmt: skip
    assert "PERMISSION_DENIED" in json.dumps(heard[1])
    assert fault_of(heard[2])["code"] == "PERMISSION_DENIED"
    assert not (tmp_path / "b.txt").exists()


ODD = """
def half(x: str) -> str:
    "Half a character."
    return "a \\ud83d b"

def broken(x: str) -> str:
    "Half a character in an error."
    raise RuntimeError("bad \\ud83d")

def ended(x: str) -> str:
    "Ends the program."
    raise SystemExit(3)
"""


@pytest.mark.requirement("serve:faults")
def test_no_tool_can_end_the_server(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    names = ("half", "broken", "ended")
    allowed = [word for name in names for word in ("--allow", name)]
    for name in names:
        steps = [{"calls": [call(name, x="1")]}, "{outcome}"]
        publish(tmp_path, f"agent_{name}", steps, f'<tool python="odd.py:{name}"/>')
    said = [calling(f"agent_{name}", name, input="x") for name in names]
    heard = spoken(tmp_path, [*said, line("ping", id=1)], "prompts", *allowed)
    assert text_of(heard["half"]) == "a \\ud83d b"
    assert "RuntimeError: bad \\\\ud83d" in text_of(heard["broken"])
    assert "SystemExit: 3" in text_of(heard["ended"])
    assert heard[1]["result"] == {}
    assert journal(tmp_path)[-1].fields["reason"] == "done"
