"""A run: calls through the gate, outcomes back in order, a transcript that can be gone on with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.loop.agents import Heard, approving, call, load, write_agent
from whence.declare.function import tool
from whence.errors import (
    BudgetExceeded,
    Conflict,
    ExecutionFailed,
    InvalidArgs,
    NotFound,
    UsageError,
)
from whence.journal.read import read_entries
from whence.loop.agent import Agent
from whence.loop.news import CallEnded, CallStarted, Compacted, Finished, Notice, TextPiece
from whence.shapes.approval import Question
from whence.shapes.policy import Policy, Rule, Verdict
from whence.shapes.tool import Effect, Sandbox

pytestmark = pytest.mark.anyio
READ = '<tool name="fs.read"/>'
WRITE = '<tool name="fs.write"/>'


def journal_of(folder: Path) -> list[tuple[str, str]]:
    (session,) = (folder / ".agent" / "sessions").iterdir()
    return [(entry.type, str(entry.fields.get("tool", ""))) for entry in read_entries(session)]


@pytest.mark.requirement("loop:answer")
async def test_calls_go_through_the_gate_and_their_outcomes_back_until_the_answer(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("forty-two", "utf-8")
    path = write_agent(
        tmp_path, [{"calls": [call("fs_read", path="a.txt")]}, {"say": "It says {outcome}"}], READ
    )

    result = await load(path).run("What does a.txt say?")

    assert "forty-two" in result.text
    assert result.turns == 2
    kinds = [kind for kind, _ in journal_of(tmp_path)]
    assert kinds == [
        "session_start", "user_message", "model_turn", "tool_call", "tool_result", "model_turn",
        "session_end",
    ]  # fmt: skip


@pytest.mark.requirement("loop:transcript")
async def test_the_transcript_goes_on_where_the_last_run_ended(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one", "utf-8")
    path = write_agent(
        tmp_path, [{"calls": [call("fs_read", path="a.txt")]}, {"say": "done"}], READ
    )
    await load(path).run("first")
    before = path.read_bytes()
    await load(path).run("second")

    text = path.read_text("utf-8")
    assert path.read_bytes().startswith(before.removesuffix(b"<user>\n\n</user>\n"))
    assert text.count("<user>") == 3
    assert text.index("first") < text.index("second")
    assert text.endswith("<user>\n\n</user>\n")
    agent = load(path)
    assert agent.file.problems() == []


@pytest.mark.requirement("loop:parallel")
async def test_calls_of_one_turn_run_side_by_side(tmp_path: Path) -> None:
    gate = asyncio.Barrier(3)

    @tool("meet")
    async def meet(name: str) -> str:
        """Wait for the others."""
        await gate.wait()
        return name

    calls = [call("meet", name=name) for name in "abc"]
    path = write_agent(tmp_path, [{"calls": calls}, {"say": "ok"}], config="show_tool_call")
    agent = load(path, tools=[meet])
    await asyncio.wait_for(agent.run("go"), 30)

    text = path.read_text("utf-8")
    assert [text.count(f"RAW|{name}|") for name in "abc"] == [1, 1, 1]


@pytest.mark.requirement("loop:parallel")
async def test_parallel_calls_can_be_switched_off_and_limited(tmp_path: Path) -> None:
    running = 0
    most = 0

    @tool("count")
    async def count(number: int) -> int:
        """Wait for as many as may run at once, and count them."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await together.wait()
        running -= 1
        return number

    calls = [call("count", number=number) for number in range(12)]
    for parallel, config in ((1, ""), (3, ""), (None, 'parallel_tool_calls="false"')):
        most = 0
        together = asyncio.Barrier(parallel or 1)
        path = write_agent(tmp_path, [{"calls": calls}, "ok"], name=f"p{parallel}", config=config)
        await asyncio.wait_for(load(path, tools=[count], parallel=parallel).run("go"), 30)
        assert most == (parallel or 1)


@pytest.mark.requirement("loop:writers")
async def test_calls_on_one_path_keep_their_order(tmp_path: Path) -> None:
    calls = [
        call("fs_write", path="x.txt", content="1"),
        call("fs_read", path="x.txt"),
        call("fs_write", path="./x.txt", content="2"),
        call("fs_append", path="x.txt", text="3"),
        call("fs_read", path="x.txt"),
    ]
    path = write_agent(
        tmp_path, [{"calls": calls}, {"say": "ok"}], READ, WRITE, '<tool name="fs.append"/>'
    )
    heard = Heard()
    await load(path).run("go", on=heard)

    ended = {one.call_id: one.outcome for one in heard.of(CallEnded)}
    outcomes = [ended[one.call_id] for one in sorted(heard.of(CallStarted), key=heard.news.index)]
    read = [one.result["content"] for one in outcomes if one.tool == "fs.read"]
    assert read == ["1", "23"]


@pytest.mark.requirement("loop:siblings")
async def test_siblings_finish_when_one_fails(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("here", "utf-8")
    calls = [
        call("fs_read", path="nowhere.txt"), call("no_such_tool"), {"tool": "fs_read", "args": "{"},
        call("fs_read", path="a.txt", why=""), call("fs_read", path="a.txt"),
    ]  # fmt: skip
    path = write_agent(tmp_path, [{"calls": calls}, {"say": "{outcome}"}], READ)
    heard = Heard()
    result = await load(path).run("go", on=heard)

    codes = [one.outcome.fault.code for one in heard.of(CallEnded) if one.outcome.fault]
    assert sorted(codes) == ["MISSING_WHY", "NOT_FOUND", "NOT_FOUND", "PARSE_ERROR"]
    assert "here" in result.text


@pytest.mark.requirement("loop:max-turns")
async def test_a_run_ends_after_its_turns_and_can_be_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    answers = [{"calls": [call("fs_read", path="a.txt")]}] * 3 + [{"say": "end"}]
    path = write_agent(tmp_path, answers, READ)
    with pytest.raises(BudgetExceeded, match="2 of 2 turns"):
        await load(path, max_turns=2).run("go")

    assert path.read_text("utf-8").count("<tool_response") == 2
    result = await load(path).run()
    assert result.text == "end"


@pytest.mark.requirement("loop:budget")
async def test_a_budget_of_tokens_ends_a_run_and_an_unknown_price_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    used = {"input_tokens": 600, "output_tokens": 10}
    answers = [{"calls": [call("fs_read", path="a.txt")], "usage": used}] * 3 + ["end"]
    path = write_agent(tmp_path, answers, READ, config='budget="1k tokens, $1"')
    heard = Heard()
    with pytest.raises(BudgetExceeded, match="1220 of 1000 tokens"):
        await load(path).run("go", on=heard)

    assert [one for one in heard.of(Notice) if "price" in one.text and "not known" in one.text]


@pytest.mark.requirement("loop:budget")
async def test_a_model_that_counts_nothing_is_said_to_break_the_budget_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    answers = [{"calls": [call("fs_read", path="a.txt")]}] * 2 + ["end"]
    path = write_agent(tmp_path, answers, READ, config='budget="1k tokens, $1"')
    heard = Heard()
    await load(path).run("go", on=heard)

    said = [one.text for one in heard.of(Notice)]
    assert [("price" in text, "how many tokens" in text) for text in said] == [
        (True, False), (False, True)
    ]  # fmt: skip


@pytest.mark.requirement("loop:budget")
async def test_a_budget_of_money_ends_a_run_where_the_price_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    used = {"input_tokens": 600, "cost": 0.75}
    answers = [{"calls": [call("fs_read", path="a.txt")], "usage": used}] * 3 + ["end"]
    path = write_agent(tmp_path, answers, READ, config='budget="$1"')
    with pytest.raises(BudgetExceeded, match=r"1\.5 of 1 dollars"):
        await load(path).run("go")


@pytest.mark.requirement("loop:budget")
async def test_a_budget_of_seconds_stops_a_run(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")

    @tool("nap", sandbox=Sandbox(timeout_ms=600_000))
    async def nap(seconds: float) -> str:
        """Take longer than the budget."""
        await asyncio.sleep(seconds)
        return "awake"

    calls = [call("nap", seconds=0), call("nap", seconds=600)]
    config = 'budget="1 s" show_tool_call'
    path = write_agent(tmp_path, [{"calls": calls}, "end"], config=config)
    with pytest.raises(BudgetExceeded, match="of 1 seconds"):
        await asyncio.wait_for(load(path, tools=[nap]).run("go"), 60)
    text = path.read_text("utf-8")
    assert text.count("<tool_response ") == 2
    assert "awake" in text
    assert "CANCELLED" in text


@pytest.mark.requirement("loop:steering")
async def test_what_a_person_says_meanwhile_is_heard_with_the_next_turn(tmp_path: Path) -> None:
    @tool("work")
    async def work() -> str:
        """During which somebody speaks."""
        agent.steer("rather in French")
        return "done"

    path = write_agent(tmp_path, [{"calls": [call("work")]}, "Voilà", "unused"])
    agent = load(path, tools=[work])
    await agent.run("go")

    text = path.read_text("utf-8")
    assert text.index("<tool_response") < text.index("rather in French") < text.index("Voilà")


@pytest.mark.requirement("loop:interrupted")
async def test_calls_without_an_outcome_are_closed_as_interrupted(tmp_path: Path) -> None:
    said = (
        "<user>go</user>\n"
        '<tool_call tool_call_id="c1" function_name="fs_read">\n'
        'RAW|{"path": "a.txt", "why": "x y z"}|RAW\n</tool_call>\n'
    )
    path = write_agent(tmp_path, ["I see: {outcome}"], READ, said=said)
    result = await load(path).run()

    assert "INTERRUPTED" in result.text
    text = path.read_text("utf-8")
    assert text.index('tool_response tool_call_id="c1"') < text.index("I see")


@pytest.mark.requirement("loop:cancel")
async def test_a_run_that_is_stopped_leaves_a_transcript_that_resumes(tmp_path: Path) -> None:
    started = asyncio.Event()

    @tool("hang")
    async def hang() -> str:
        """Never end."""
        started.set()
        await asyncio.Event().wait()
        return ""

    (tmp_path / "a.txt").write_text("x", "utf-8")
    calls = [call("hang"), call("fs_read", path="a.txt")]
    path = write_agent(tmp_path, [{"say": "First", "calls": calls}, "resumed: {outcome}"], READ)
    task = asyncio.create_task(load(path, tools=[hang]).run("go"))
    await started.wait()
    while "tool_result" not in [kind for kind, _ in journal_of(tmp_path)]:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    text = path.read_text("utf-8")
    assert text.count("<tool_response") == 2
    kept = "".join(one.read_text("utf-8") for one in (tmp_path / ".chatmd").iterdir())
    assert "CANCELLED" in kept
    assert '"content":"x"' in kept
    kinds = journal_of(tmp_path)
    assert ("tool_error", "hang") in kinds
    assert kinds[-1][0] == "session_end"


@pytest.mark.requirement("loop:compaction")
async def test_a_long_conversation_is_summed_up_and_the_original_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    answers = [
        *[{"calls": [call("fs_read", path="a.txt")], "usage": {"input_tokens": size}}
          for size in (10, 20, 30, 40, 50, 500)],
        "It was read six times.", "end",
    ]  # fmt: skip
    path = write_agent(tmp_path, answers, READ, said="<system>Be brief.</system>")
    heard = Heard()
    result = await load(path, compact_at=400).run("Read it often", on=heard)

    assert result.text == "end"
    (summed,) = heard.of(Compacted)
    assert "It was read six times." in summed.summary
    text = path.read_text("utf-8")
    assert text.count("<tool_call ") == 6
    assert 'status="compacted ' in text
    assert summed.items > 0
    again = load(path)
    from whence.loop.conversation import Reader

    items = Reader(again.file, str(tmp_path)).items()
    assert "Be brief." in items[0].text  # type: ignore[union-attr]
    assert "Summary of the conversation" in items[1].text  # type: ignore[union-attr]
    assert len(items) < 2 + 12


@pytest.mark.requirement("loop:output")
async def test_an_answer_that_does_not_fit_the_output_schema_is_corrected(tmp_path: Path) -> None:
    schema = '<output schema=\'{"type": "object", "required": ["n"]}\'/>'
    path = write_agent(tmp_path, ["ten", '```json\n{"n": 10}\n```'], schema)
    result = await load(path).run("How many?")
    assert result.value == {"n": 10}

    path = write_agent(tmp_path, ["ten"] * 3, schema, name="stubborn")
    with pytest.raises(ExecutionFailed, match="output schema"):
        await load(path).run("How many?")


async def test_named_inputs_are_checked_and_told(tmp_path: Path) -> None:
    inputs = '<input name="issue" type="integer" required/>'
    path = write_agent(tmp_path, ["ok"], inputs)
    await load(path).run({"issue": 17})
    assert "issue: 17" in path.read_text("utf-8")
    with pytest.raises(InvalidArgs, match="isue"):
        await load(path).run({"isue": 17})
    with pytest.raises(InvalidArgs, match="named inputs"):
        await load(path).run("seventeen")


async def test_a_file_that_asks_nothing_says_so(tmp_path: Path) -> None:
    path = write_agent(tmp_path, ["ok"])
    with pytest.raises(UsageError, match="asks nothing"):
        await load(path).run()


@pytest.mark.requirement("loop:outputs")
async def test_a_run_may_be_added_to_a_copy_or_nowhere(tmp_path: Path) -> None:
    path = write_agent(tmp_path, ["ok"])
    before = path.read_bytes()
    await load(path, ephemeral=True).run("a")
    copy = tmp_path / "copy.chatmd"
    await load(path, output=copy).run("b")

    assert path.read_bytes() == before
    assert copy.read_bytes().startswith(before)
    assert "ok" in copy.read_text("utf-8")
    with pytest.raises(Conflict, match="there already"):
        load(path, output=copy)


@pytest.mark.requirement("loop:outputs")
async def test_a_run_that_cannot_begin_leaves_no_copy(tmp_path: Path) -> None:
    path, copy = write_agent(tmp_path, ["ok"]), tmp_path / "copy.chatmd"
    with pytest.raises(NotFound, match="no provider"):
        await load(path, output=copy, model="nobody/m").run("a")
    assert not copy.exists()

    await load(path, output=copy).run("a")
    assert "ok" in copy.read_text("utf-8")


@pytest.mark.requirement("loop:mode")
async def test_a_mode_hides_and_refuses_what_it_does_not_have(tmp_path: Path) -> None:
    answers = [{"calls": [call("fs_write", path="a", content="b")]}, "{outcome}"]
    path = write_agent(tmp_path, answers, READ, WRITE)
    result = await load(path, mode="ask").run("go")
    assert "PERMISSION_DENIED" in result.text
    assert not (tmp_path / "a").exists()


@pytest.mark.requirement("loop:approval")
async def test_the_approver_of_the_program_decides(tmp_path: Path) -> None:
    @tool("launch", effects=[Effect.EXECUTE])
    async def launch() -> str:
        """Launch."""
        return "launched"

    asked: list[Question] = []
    path = write_agent(tmp_path, [{"calls": [call("launch")]}, "{outcome}"])
    for yes, expected in ((True, "launched"), (False, "PERMISSION_DENIED")):
        approver = approving(yes=yes, seen=asked.append)
        result = await load(path, tools=[launch], approver=approver, ephemeral=True).run("go")
        assert expected in result.text
    assert {question.why for question in asked} == {"Prove that the loop holds"}


@pytest.mark.requirement("loop:rules")
async def test_rules_hold_in_a_run(tmp_path: Path) -> None:
    answers = [{"calls": [call("fs_write", path="a", content="b")]}, "{outcome}"]
    path = write_agent(tmp_path, answers, WRITE)
    policy = Policy(rules=(Rule(Verdict.DENY, "fs.write", "a", "the test"),))
    result = await load(path, policy=policy).run("go")
    assert "PERMISSION_DENIED" in result.text


@pytest.mark.requirement("loop:stream")
async def test_a_stream_tells_everything_in_order(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    answers = [{"say": "Looking", "calls": [call("fs_read", path="a.txt")]}, "Found it"]
    path = write_agent(tmp_path, answers, READ)
    kinds = [type(news) async for news in load(path).stream("go")]
    assert kinds.index(TextPiece) < kinds.index(CallStarted) < kinds.index(CallEnded)
    assert kinds[-1] is Finished


async def test_leaving_a_stream_stops_the_run(tmp_path: Path) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    @tool("hang")
    async def hang() -> str:
        """Never end."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    path = write_agent(tmp_path, [{"calls": [call("hang")]}])
    stream = load(path, tools=[hang]).stream("go")
    async for news in stream:
        if isinstance(news, CallStarted):
            break
    await started.wait()
    await stream.aclose()
    assert stopped.is_set()


def test_a_program_without_an_event_loop_runs_an_agent(tmp_path: Path) -> None:
    path = write_agent(tmp_path, ["hello"])
    assert Agent.load(path, tmp_path).run_sync("hi").text == "hello"


@pytest.mark.requirement("loop:replay")
async def test_a_transcript_and_a_journal_can_be_the_model(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    answers = [{"say": "Looking", "calls": [call("fs_read", path="a.txt")]}, "Found it"]
    path = write_agent(tmp_path, answers, READ)
    copy = tmp_path / "copy.chatmd"
    first = await load(path, output=copy, session="first").run("go")
    again = await load(path, ephemeral=True, model="replay/copy.chatmd").run("go")
    journalled = await load(path, ephemeral=True, model="replay/first").run("go")

    assert first.text == again.text == journalled.text == "Found it"
