"""Agents that call agents: fresh conversations, one journal, never more than the parent may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.loop.agents import Heard, call, load, write_agent
from whence.errors import BudgetExceeded
from whence.journal.read import read_entries
from whence.loop.bind import forked
from whence.loop.news import CallEnded, Notice, TextPiece
from whence.shapes.item import Item, Message, ToolCall, ToolOutcome
from whence.shapes.policy import Policy, Rule, Verdict

pytestmark = pytest.mark.anyio
HELPER = '<tool name="helper" agent="helper.chatmd" local/>'
WRITE = '<tool name="fs.write"/>'


def entries(folder: Path) -> list[Any]:
    (session,) = (folder / ".agent" / "sessions").iterdir()
    return list(read_entries(session))


@pytest.mark.requirement("agents:tool")
async def test_another_agent_answers_a_call_in_a_conversation_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("deep", "utf-8")
    write_agent(
        tmp_path, [{"calls": [call("fs_read", path="a.txt")]}, "it is {outcome}"],
        '<tool name="fs.read"/>', name="helper", said="<system>Helper.</system>",
    )  # fmt: skip
    asked = call("helper", input="look", why="Need to know a.txt")
    path = write_agent(tmp_path, [{"calls": [asked]}, "{outcome}"], HELPER)
    result = await load(path).run("go")

    assert "deep" in result.text
    made = [one for one in entries(tmp_path) if one.type == "tool_call"]
    assert [one.fields["tool"] for one in made] == ["helper", "fs.read"]
    assert made[1].fields["parent"] == made[0].fields["call_id"]
    assert "Helper." not in path.read_text("utf-8")
    assert "look" not in (tmp_path / "helper.chatmd").read_text("utf-8")


@pytest.mark.requirement("agents:inputs")
async def test_an_agent_with_inputs_takes_them_as_its_schema(tmp_path: Path) -> None:
    write_agent(tmp_path, ["fine"], '<input name="issue" type="integer" required/>', name="helper")
    path = write_agent(
        tmp_path, [{"calls": [call("helper", issue="x"), call("helper", issue=3)]}, "{outcome}"],
        HELPER,
    )  # fmt: skip
    heard = Heard()
    result = await load(path).run("go", on=heard)
    assert result.text == "fine"
    codes = [one.outcome.fault.code for one in heard.of(CallEnded) if one.outcome.fault]
    assert codes == ["INVALID_ARGS"]


@pytest.mark.requirement("agents:ceiling")
async def test_a_child_gets_no_more_than_its_parent_may(tmp_path: Path) -> None:
    answers = [{"calls": [call("fs_write", path="x", content="y")]}, "{outcome}"]
    write_agent(tmp_path, answers, WRITE, name="helper", config='mode="code"')
    path = write_agent(tmp_path, [{"calls": [call("helper", input="write")]}, "{outcome}"], HELPER)

    for options in (
        {"policy": Policy(rules=(Rule(Verdict.DENY, "fs.write", None, "the test"),))},
        {"mode": "ask"},
    ):
        result = await load(path, ephemeral=True, **options).run("go")
        assert "PERMISSION_DENIED" in result.text
        assert not (tmp_path / "x").exists()
    allowed = await load(path, ephemeral=True).run("go")
    assert "bytes_written" in allowed.text


async def test_a_childs_command_runs_unasked_where_the_kernel_keeps_it_apart(
    tmp_path: Path,
) -> None:
    command = '<tool name="greet" command="echo hello"/>'
    answers = [{"calls": [call("greet", arguments=["there"])]}, "{outcome}"]
    write_agent(tmp_path, answers, command, name="helper")
    path = write_agent(tmp_path, [{"calls": [call("helper", input="go")]}, "{outcome}"], HELPER)
    alone = await load(tmp_path / "helper.chatmd", ephemeral=True).run("go")
    handed_on = await load(path, ephemeral=True).run("go")

    assert handed_on.text == alone.text


@pytest.mark.requirement("agents:depth")
async def test_agents_that_call_themselves_come_to_an_end(tmp_path: Path) -> None:
    answers = [{"calls": [call("helper", input="again")]}] * 5 + ["{outcome}"] * 5
    path = write_agent(tmp_path, answers, HELPER, name="helper")
    result = await load(path, ephemeral=True).run("go")
    assert "QUOTA_EXCEEDED" in result.text
    made = [one for one in entries(tmp_path) if one.type == "tool_call"]
    assert len(made) == 5


@pytest.mark.requirement("agents:budget")
async def test_a_child_spends_its_parents_budget(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    answers = [
        {"calls": [call("fs_read", path="a.txt")], "usage": {"input_tokens": 600}},
        {"say": "never"},
    ]
    write_agent(tmp_path, [*answers[:1] * 3, "end"], '<tool name="fs.read"/>', name="helper")
    path = write_agent(
        tmp_path, [{"calls": [call("helper", input="spend")]}, "end"], HELPER,
        config='budget="1k tokens"',
    )  # fmt: skip
    heard = Heard()
    with pytest.raises(BudgetExceeded):
        await load(path).run("go", on=heard)
    codes = [one.outcome.fault.code for one in heard.of(CallEnded) if one.outcome.fault]
    assert codes == ["BUDGET_EXCEEDED"]


async def test_a_child_that_cannot_be_read_is_a_fault_for_the_parent(tmp_path: Path) -> None:
    helper = write_agent(tmp_path, ["x"], name="helper")
    path = write_agent(tmp_path, [{"calls": [call("helper", input="x")]}, "{outcome}"], HELPER)
    agent = load(path)
    helper.write_text("<nonsense>", "utf-8")
    result = await agent.run("go")
    assert "PARSE_ERROR" in result.text


@pytest.mark.requirement("loop:replay")
async def test_a_journal_replays_agents_that_called_agents(tmp_path: Path) -> None:
    long = "long " * 1000
    inner = [{"say": "inside", "calls": [call("fs_write", path="x", content=long)]}, "it is done"]
    write_agent(tmp_path, inner, WRITE, name="helper")
    asked = [call("helper", input="one"), call("helper", input="two")]
    path = write_agent(tmp_path, [{"calls": asked}, "both: {outcome}"], HELPER)
    first = await load(path, ephemeral=True, session="first").run("go")
    (tmp_path / "x").unlink()
    heard = Heard()
    again = await load(path, ephemeral=True, model="replay/first").run("go", on=heard)
    assert again.text == first.text == "both: it is done"
    assert (tmp_path / "x").read_text("utf-8") == long
    assert [one.outcome.tool for one in heard.of(CallEnded)].count("fs.write") == 2


@pytest.mark.requirement("agents:inline")
async def test_an_agent_inside_a_message_is_answered_once_while_nothing_changes(
    tmp_path: Path,
) -> None:
    helper = write_agent(tmp_path, ["the weather is fine"], name="helper")
    said = '<user>Sum up: <agent src="helper.chatmd" local>How is it?</agent></user>'
    path = write_agent(tmp_path, ["ok"], said=said)
    heard = Heard()
    await load(path, ephemeral=True, session="one").run(on=heard)
    spoken = {one.parent for one in heard.of(TextPiece)}
    assert spoken == {"agent-helper", None}
    assert "".join(one.text for one in heard.of(TextPiece) if one.parent is None) == "ok"
    await load(path, ephemeral=True, session="two").run()

    def turns(session: str) -> int:
        directory = tmp_path / ".agent" / "sessions" / session
        return sum(entry.type == "model_turn" for entry in read_entries(directory))

    assert (turns("one"), turns("two")) == (2, 1)
    helper.write_text(helper.read_text("utf-8") + "<system>Changed.</system>\n", "utf-8")
    await load(path, ephemeral=True, session="three").run()
    assert turns("three") == 2


@pytest.mark.requirement("agents:inline")
async def test_an_agent_inside_a_message_is_shown_the_documents_of_its_question(
    tmp_path: Path,
) -> None:
    write_agent(tmp_path, ["noted"], name="helper")
    (tmp_path / "note.txt").write_text("first version", "utf-8")
    said = '<user><agent src="helper.chatmd" local>See <doc src="note.txt" local/></agent></user>'
    path = write_agent(tmp_path, ["ok"], said=said)

    async def turns(session: str) -> int:
        await load(path, ephemeral=True, session=session).run()
        directory = tmp_path / ".agent" / "sessions" / session
        return sum(entry.type == "model_turn" for entry in read_entries(directory))

    assert [await turns("one"), await turns("two")] == [2, 1]
    (tmp_path / "note.txt").write_text("second version", "utf-8")
    assert await turns("three") == 2


@pytest.mark.parametrize("src", ["https://example.org/x.chatmd", "broken.chatmd", "absent.chatmd"])
async def test_an_agent_inside_a_message_that_cannot_be_run_is_told_once(
    tmp_path: Path, src: str
) -> None:
    (tmp_path / "broken.chatmd").write_text('<tool name="no_such"/>', "utf-8")
    path = write_agent(tmp_path, ["ok"], said=f'<user>Hi <agent src="{src}">x</agent></user>')
    heard = Heard()

    result = await load(path, ephemeral=True).run(on=heard)

    assert result.text == "ok"
    told = [notice.text for notice in heard.of(Notice) if "<agent" in notice.text]
    assert len(told) == 1
    assert src in told[0]


@pytest.mark.requirement("agents:fork")
async def test_a_fork_knows_the_history_and_gives_back_its_answer(tmp_path: Path) -> None:
    asked = call("fork", command="count", arguments=["to three"])
    answers = [{"calls": [asked]}, "one two three, for {outcome}", "done: {outcome}"]
    path = write_agent(tmp_path, answers, '<tool name="fork"/>')
    result = await load(path).run("go")
    assert result.text.startswith("done: one two three")
    assert "to three" in result.text


def test_a_fork_has_as_much_time_as_an_agent(tmp_path: Path) -> None:
    write_agent(tmp_path, ["ok"], name="helper")
    path = write_agent(tmp_path, ["ok"], f'{HELPER}<tool name="fork"/>')
    times = {tool.name: tool.sandbox.timeout_ms for tool in load(path).tools}
    assert times["fork"] == times["helper"] >= 600_000


def test_a_fork_answers_its_own_call_with_its_task_and_no_other() -> None:
    own = ToolCall("c2", "fork", "{}", {})
    items: list[Item] = [
        Message.of("user", "go"),
        ToolCall("c1", "fs_read", "{}", {}),
        ToolOutcome("c1", ()),
        own,
        ToolCall("c3", "fs_write", "{}", {}),
    ]
    seen = forked(items, own, "count\n- to three")
    mine, others = seen[-2:]
    assert isinstance(mine, ToolOutcome)
    assert isinstance(others, ToolOutcome)
    assert (mine.call_id, others.call_id) == ("c2", "c3")
    assert "to three" in mine.text
    assert "INTERRUPTED" in others.text
