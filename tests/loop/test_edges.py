"""What happens at the edges of a run: odd endings, odd hosts, odd histories, odd moments."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.loop.agents import WHY, Heard, call, load, write_agent
from whence.declare.function import tool
from whence.errors import Conflict, InvalidArgs, NotFound, UsageError, WhenceError
from whence.journal.read import read_entries
from whence.loop.agent import Agent
from whence.loop.agent_file import load_agent
from whence.loop.conversation import Reader
from whence.loop.news import CallEnded, CallStarted, Finished, News, Notice, TextPiece, as_json
from whence.loop.pairing import paired
from whence.shapes.item import Message, StopReason, ToolCall, ToolOutcome
from whence.shapes.policy import Policy, Quotas

pytestmark = pytest.mark.anyio
READ = '<tool name="fs.read"/>'
HELPER = '<tool name="helper" agent="helper.chatmd" local/>'


@tool("echo")
async def echo(text: str) -> str:
    """Say it again."""
    await asyncio.sleep(0)
    return text


def notices(heard: Heard) -> list[str]:
    return [one.text for one in heard.of(Notice)]


def items_of(path: Path) -> list[Any]:
    return list(Reader(load_agent(str(path), str(path.parent)), str(path.parent)).items())


@pytest.mark.requirement("loop:endings")
@pytest.mark.parametrize(
    ("answer", "said", "stop"),
    [
        ({"say": "half an ans", "stop": "length"}, "max_tokens", StopReason.LENGTH),
        ({"say": "I cannot", "stop": "refusal"}, "declined", StopReason.REFUSAL),
        ({"think": "hm"}, "answered nothing", StopReason.END),
    ],
    ids=["length", "refusal", "nothing"],
)
async def test_an_answer_that_is_none_is_told(
    tmp_path: Path, answer: dict[str, str], said: str, stop: StopReason
) -> None:
    path = write_agent(tmp_path, [answer])
    heard = Heard()
    result = await load(path).run("go", on=heard)
    assert (result.text, result.stop) == (answer.get("say", ""), stop)
    (notice,) = notices(heard)
    assert said in notice


@pytest.mark.requirement("loop:endings")
async def test_an_answer_that_a_provider_pauses_is_one_answer(tmp_path: Path) -> None:
    path = write_agent(tmp_path, [{"say": "One, ", "stop": "pause"}, {"say": "two."}])
    result = await load(path).run("Count")
    assert (result.text, result.turns) == ("One, two.", 2)


@pytest.mark.requirement("loop:endings")
async def test_calls_of_an_answer_that_reached_its_limit_are_made_if_they_are_whole(
    tmp_path: Path,
) -> None:
    cut = {"tool": "echo", "args": '{"text": "ha'}
    answers = [{"calls": [call("echo", text="whole"), cut], "stop": "length"}, "{outcome}"]
    path = write_agent(tmp_path, answers)
    heard = Heard()
    await load(path, tools=[echo]).run("go", on=heard)
    whole, half = (
        one.outcome for one in sorted(heard.of(CallEnded), key=lambda e: not e.outcome.ok)
    )
    assert whole.result == "whole"
    assert half.fault.code == "PARSE_ERROR"
    assert "character" in half.fault.message


@pytest.mark.requirement("loop:again")
async def test_an_agent_that_is_run_again_knows_what_was_said(tmp_path: Path) -> None:
    path = write_agent(tmp_path, ["first answer"])
    agent = load(path)
    await agent.run("first")
    path.write_text(path.read_text("utf-8").replace("<user>\n\n</user>", ""), "utf-8")
    await agent.run("second")
    assert [item.text for item in items_of(path)] == [
        "first",
        "first answer",
        "second",
        "first answer",
    ]

    copy = load(path, output=tmp_path / "copy.chatmd")
    await copy.run("third")
    await copy.run("fourth")
    assert len(items_of(tmp_path / "copy.chatmd")) == 8
    assert len(Reader(copy.file, str(tmp_path)).items()) == 6, "the last run began with the third"


async def test_one_agent_does_not_run_twice_at_once(tmp_path: Path) -> None:
    gate = asyncio.Event()

    @tool("wait")
    async def wait() -> str:
        """Wait."""
        await gate.wait()
        return "ok"

    agent = load(write_agent(tmp_path, [{"calls": [call("wait")]}, "end"]), tools=[wait])
    first = asyncio.create_task(agent.run("go"))
    while not list(tmp_path.glob(".agent/sessions/*/session-log.md")):
        await asyncio.sleep(0)
    with pytest.raises(Conflict, match="running already"):
        await agent.run("me too")
    gate.set()
    assert (await first).text == "end"


@pytest.mark.requirement("loop:asks-nothing")
async def test_a_file_whose_question_is_answered_asks_nothing(tmp_path: Path) -> None:
    path = write_agent(tmp_path, ["answer"])
    await load(path).run("question")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="asks nothing"):
        await load(path).run()
    assert path.read_bytes() == before


@pytest.mark.requirement("loop:asks-nothing")
async def test_an_answer_that_broke_off_is_gone_on_with(tmp_path: Path) -> None:
    said = '<user>go</user>\n<assistant status="incomplete">The tide</assistant>\n'
    path = write_agent(tmp_path, [" turns."], said=said)
    result = await load(path).run()
    assert result.text == " turns."
    assert [item.role for item in items_of(path)] == ["user", "assistant", "user", "assistant"]


@pytest.mark.requirement("loop:steering")
async def test_what_is_said_before_or_during_the_last_answer_is_not_lost(tmp_path: Path) -> None:
    path = write_agent(tmp_path, ["first", "second", "third"])
    agent = load(path)
    agent.steer("before")

    def during(news: News) -> None:
        if isinstance(news, TextPiece) and news.text == "first":
            agent.steer("during")

    result = await agent.run("go", on=during)
    assert result.text == "second"
    said = [item.text for item in items_of(path)]
    assert said == ["go", "before", "first", "during", "second"]

    def after(news: News) -> None:
        if isinstance(news, Finished):
            agent.steer("after")

    await agent.run("again", on=after)
    await agent.run(None)
    assert items_of(path)[-2].text == "after"


@pytest.mark.requirement("loop:observer")
@pytest.mark.parametrize("kind", [TextPiece, CallStarted, CallEnded, Finished])
async def test_a_host_that_fails_stops_its_run_and_breaks_nothing(
    tmp_path: Path, kind: type[News]
) -> None:
    calls = [call("echo", text="a"), call("echo", text="b")]
    path = write_agent(tmp_path, [{"say": "So", "calls": calls}, "end"], config="show_tool_call")
    seen: list[News] = []

    def on(news: News) -> None:
        seen.append(news)
        if isinstance(news, kind):
            raise BrokenPipeError("nobody reads this")

    with pytest.raises(BrokenPipeError, match="nobody reads"):
        await load(path, tools=[echo]).run("go", on=on)
    assert isinstance(seen[-1], kind)
    assert sum(isinstance(one, kind) for one in seen) == 1, "it is told nothing more"
    assert load(path).file.problems() == []
    text = path.read_text("utf-8")
    assert text.count("<tool_call ") == text.count("<tool_response ")
    if kind is CallEnded:
        assert "RAW|a|RAW" in text, "an outcome that was there stays"
    await asyncio.sleep(0)  # the task is not cancelled any more
    assert (await load(path, tools=[echo]).run("on")).text == "end"


@pytest.mark.requirement("loop:ids")
async def test_ids_are_unique_in_the_journal_whoever_makes_the_calls(tmp_path: Path) -> None:
    same = {"tool": "echo", "id": "call_0", "args": {"text": "x", "why": WHY}}
    asked = {"tool": "helper", "id": "call_0", "args": {"input": "x", "why": WHY}}
    inner = [{"calls": [same, same]}, {"calls": [same]}, "done"]
    declared = '<tool name="echo" python="echo.py:echo"/>'
    (tmp_path / "echo.py").write_text(
        'def echo(text: str) -> str:\n    "Echo."\n    return text\n', "utf-8"
    )
    write_agent(tmp_path, inner, declared, name="helper")
    path = write_agent(
        tmp_path, [{"calls": [asked, {**asked, "id": "call_1"}]}, {"calls": [asked]}, "end"], HELPER
    )
    unlimited = Policy(quotas=Quotas(repeats=None))
    heard = Heard()

    async def yes(_question: Any) -> Any:
        from whence.shapes.approval import Answer

        return Answer(approved=True)

    for _ in range(2):
        options: dict[str, Any] = {"session": "s", "policy": unlimited, "approver": yes}
        await load(path, ephemeral=True, **options).run("go", on=heard)
    entries = list(read_entries(tmp_path / ".agent" / "sessions" / "s"))
    ids = [one.fields["call_id"] for one in entries if one.type == "tool_call"]
    assert len(ids) == len(set(ids)) == 2 * 3 * 4
    started = [one.call_id for one in heard.of(CallStarted)]
    ended = [as_json(one)["call_id"] for one in heard.of(CallEnded)]
    assert sorted(started) == sorted(ended) == sorted(ids)
    parents = {
        one.fields["parent"]
        for one in entries
        if one.type == "tool_call" and "parent" in one.fields
    }
    assert parents <= set(ids)


@pytest.mark.requirement("loop:pairing")
async def test_a_transcript_that_was_edited_is_run_and_said_to_be_odd(tmp_path: Path) -> None:
    said = """<user>go</user>
<tool_call tool_call_id="c1" function_name="echo">RAW|{"text": "a", "why": "x y"}|RAW</tool_call>
<user>and</user>
<tool_response tool_call_id="zz">RAW|orphan|RAW</tool_response>
<assistant>hm</assistant>
<tool_call tool_call_id="c1" function_name="echo">RAW|{"text": "b", "why": "x y"}|RAW</tool_call>
<tool_response tool_call_id="c1">RAW|late|RAW</tool_response>
<tool_response tool_call_id="c1">RAW|other|RAW</tool_response>
<user>x</user>
"""
    path = write_agent(tmp_path, ["ok"], said=said)
    heard = Heard()
    assert (await load(path, tools=[echo]).run(on=heard)).text == "ok"
    assert [one for one in notices(heard) if "zz" in one]
    assert [one for one in notices(heard) if "two calls have the id c1" in one]


@pytest.mark.requirement("loop:files")
async def test_a_file_that_others_change_meanwhile_is_gone_on_with(tmp_path: Path) -> None:
    path = write_agent(tmp_path, [{"calls": [call("edit")]}, "end"], config="show_tool_call")

    @tool("edit")
    async def edit(how: str = "append") -> str:
        """What an editor or another program does to the file."""
        text = path.read_text("utf-8")
        if how == "append":
            with path.open("a", encoding="utf-8") as file:
                file.write("<user>\nfrom another program\n</user>\n")
        elif how == "rewrite":
            other = path.with_suffix(".new")
            other.write_text(f"<!-- a note -->\n{text}", "utf-8")
            os.replace(other, path)
        else:
            path.unlink()
        return how

    for how in ("append", "rewrite", "remove"):
        write_agent(tmp_path, [{"calls": [call("edit", how=how)]}, "end"], config="show_tool_call")
        heard = Heard()
        assert (await load(path, tools=[edit]).run("go", on=heard)).text == "end"
        assert len([one for one in notices(heard) if "changed meanwhile" in one]) == 1
        text = path.read_text("utf-8")
        assert f"RAW|{how}|RAW" in text
        assert ("from another program" in text, "a note" in text) == (
            how == "append",
            how == "rewrite",
        )
        path.unlink()


@pytest.mark.requirement("loop:files")
async def test_a_file_that_cannot_be_written_is_told_before_the_model_is_asked(
    tmp_path: Path,
) -> None:
    path = write_agent(tmp_path, ["never"])
    agent = load(path)
    path.unlink()
    path.mkdir()
    heard = Heard()
    with pytest.raises(WhenceError, match=r"agent\.chatmd"):
        await agent.run("go", on=heard)
    assert heard.of(TextPiece) == []


@pytest.mark.requirement("loop:images")
async def test_a_picture_in_an_outcome_reaches_the_transcript(tmp_path: Path) -> None:
    @tool("draw")
    async def draw() -> list[Any]:
        """A picture and words."""
        return [
            {"type": "image", "media_type": "image/png", "data": "AAAA"},
            {"type": "image", "media_type": "image/x-odd", "data": "AAAA"},
            "and words",
        ]

    path = write_agent(tmp_path, [{"calls": [call("draw")]}, "end"], config="show_tool_call")
    await load(path, tools=[draw]).run("go")
    outcome = items_of(path)[2]
    assert isinstance(outcome, ToolOutcome)
    assert outcome.parts[0].source.data == "AAAA"  # type: ignore[union-attr]
    assert "cannot hold" in outcome.text
    assert "and words" in outcome.text


@pytest.mark.requirement("loop:parallel")
async def test_many_calls_in_one_turn_are_all_made_and_answered_in_order(tmp_path: Path) -> None:
    running = most = 0

    @tool("count")
    async def count(number: int) -> int:
        """Count."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return number

    calls = [call("count", number=number) for number in range(200)]
    path = write_agent(tmp_path, [{"calls": calls}, "end"], config="show_tool_call")
    await load(path, tools=[count]).run("go")
    sent = paired(items_of(path)).items
    outcomes = [item.text for item in sent if isinstance(item, ToolOutcome)]
    assert outcomes == [str(number) for number in range(200)]
    assert most == 64


@pytest.mark.requirement("loop:outputs-limited")
async def test_a_huge_output_is_cut_for_the_model_and_kept_whole(tmp_path: Path) -> None:
    @tool("flood")
    async def flood() -> list[str]:
        """A lot."""
        return ["x" * 1000] * 2000

    path = write_agent(tmp_path, [{"calls": [call("flood")]}, "end"])
    heard = Heard()
    await load(path, tools=[flood]).run("go", on=heard)
    (ended,) = heard.of(CallEnded)
    (outcome,) = [item for item in items_of(path) if isinstance(item, ToolOutcome)]
    assert len(outcome.text) < 130_000, "it is there once"
    assert ended.outcome.artifact in outcome.text
    assert (tmp_path / ended.outcome.artifact).stat().st_size > 2_000_000


@pytest.mark.requirement("agents:cancel")
async def test_a_child_is_stopped_with_its_parent_and_with_its_time(tmp_path: Path) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()
    declared = '<tool name="hang" python="hang.py:hang"/>'
    (tmp_path / "hang.py").write_text(
        "import asyncio\n\nasync def hang() -> str:\n"
        '    "Hang."\n    await asyncio.sleep(600)\n    return ""\n',
        "utf-8",
    )
    write_agent(tmp_path, [{"calls": [call("hang")]}, "end"], declared, name="helper")
    path = write_agent(
        tmp_path, [{"calls": [call("helper", input="x")]}, "{outcome}"],
        HELPER.replace("/>", ' timeout="1s"/>'), config="show_tool_call",
    )  # fmt: skip

    async def yes(_question: Any) -> Any:
        from whence.shapes.approval import Answer

        started.set()
        return Answer(approved=True)

    result = await asyncio.wait_for(load(path, approver=yes).run("go"), 60)
    assert "TIMEOUT" in result.text, "its own time is over, the run goes on"

    started.clear()
    task = asyncio.create_task(load(path, approver=yes).run("go"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stopped.set()
    text = path.read_text("utf-8")
    assert text.count("<tool_call ") == text.count("<tool_response ") == 2
    for session in (tmp_path / ".agent" / "sessions").iterdir():
        entries = list(read_entries(session))
        made = {one.fields["call_id"] for one in entries if one.type == "tool_call"}
        ended = {
            one.fields["call_id"] for one in entries if one.type in ("tool_result", "tool_error")
        }
        assert made == ended


@pytest.mark.requirement("agents:budget")
async def test_a_child_may_be_called_in_the_last_turn(tmp_path: Path) -> None:
    write_agent(tmp_path, ["help"], name="helper")
    path = write_agent(tmp_path, [{"calls": [call("helper", input="x")]}, "end"], HELPER)
    heard = Heard()
    with pytest.raises(WhenceError, match="1 of 1 turns"):
        await load(path, max_turns=1).run("go", on=heard)
    (ended,) = heard.of(CallEnded)
    assert ended.outcome.result == "help"


async def test_a_tool_that_cancels_itself_does_not_stop_the_run(tmp_path: Path) -> None:
    @tool("quit")
    async def leave() -> str:
        """Raise what only a host should."""
        raise asyncio.CancelledError

    for amount in (1, 2):
        path = write_agent(tmp_path, [{"calls": [call("quit")] * amount}, "{outcome}"])
        result = await load(path, tools=[leave]).run("go")
        assert "CANCELLED" in result.text


async def test_writers_and_children_that_write_do_not_wait_for_one_another(tmp_path: Path) -> None:
    write = '<tool name="fs.write"/><tool name="fs.append"/>'
    inner = [{"calls": [call("fs_append", path="x.txt", text="c")] * 2}, "done"]
    write_agent(tmp_path, inner, write, name="helper")
    calls = [
        call("fs_write", path="x.txt", content=""), call("helper", input="1"),
        call("fs_append", path="x.txt", text="p"), call("helper", input="2"),
        call("fs_append", path="x.txt", text="p"),
    ]  # fmt: skip
    path = write_agent(tmp_path, [{"calls": calls}, "end"], write, HELPER)
    result = await asyncio.wait_for(load(path, parallel=2).run("go"), 60)
    assert result.text == "end"
    assert sorted((tmp_path / "x.txt").read_text("utf-8"))[-2:] == ["p", "p"]


async def test_an_agent_whose_file_is_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        Agent.load(tmp_path / "nowhere.chatmd", tmp_path)


async def test_a_call_in_words_has_an_id_for_its_host(tmp_path: Path) -> None:
    said = (
        "<user>go</user>\n<assistant>RAW|<echo>\n<why>See it</why>\n<text>a</text>\n</echo>|RAW"
        "</assistant>\n"
    )
    calls = [call("echo", text="1"), call("echo", text="2")]
    path = write_agent(
        tmp_path, [{"calls": calls}, "{outcome}"], said=said, config='protocol="xml"'
    )
    heard = Heard()
    result = await load(path, tools=[echo]).run(on=heard)
    assert "2" in result.text
    started = [one.call_id for one in heard.of(CallStarted)]
    assert len(set(started)) == len(started) == 2
    assert path.read_text("utf-8").count("INTERRUPTED") == 1
    assert not [item for item in items_of(path) if isinstance(item, ToolCall)], "they are words"
    assert all(isinstance(item, Message) for item in items_of(path))


async def test_a_fork_of_a_conversation_in_words_knows_its_task(tmp_path: Path) -> None:
    asked = call("fork", command="count", arguments=["to three"])
    answers = [{"calls": [asked]}, "one two three, for {outcome}", "done: {outcome}"]
    path = write_agent(tmp_path, answers, '<tool name="fork"/>', config='protocol="xml"')
    result = await load(path).run("go")
    assert "to three" in result.text


async def test_an_option_that_does_not_exist_is_refused_by_name(tmp_path: Path) -> None:
    path = write_agent(tmp_path, ["Done."])

    with pytest.raises(TypeError, match=r"no option 'modle'; there are model,"):
        Agent.load(path, tmp_path, modle="local")  # type: ignore[call-arg]


async def test_a_function_that_is_no_tool_is_refused_and_the_traceback_says_what_to_do(
    tmp_path: Path,
) -> None:
    agent = Agent.load(write_agent(tmp_path, ["Done."]), tmp_path, tools=[len])  # type: ignore[list-item]

    with pytest.raises(InvalidArgs, match="is no tool") as refused:
        await agent.run("go")
    assert refused.value.__notes__ == ["Make one of a function with @whence.tool()."]


async def test_a_python_tool_lies_beside_its_file_wherever_one_stands(tmp_path: Path) -> None:
    below = tmp_path / "agents"
    below.mkdir()
    (below / "tools.py").write_text("def double(x: int) -> int:\n    'Twice.'\n    return 2 * x\n")
    (below / "agent.chatmd").write_text('<tool python="tools.py:double"/>')
    file = load_agent(os.fspath(below / "agent.chatmd"), os.fspath(tmp_path))
    assert file.first_error() is None
    assert [tool.name for tool in file.resolved.tools] == ["double"]
