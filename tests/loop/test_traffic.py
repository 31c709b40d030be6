"""Runs against servers that stop, refuse or speak in their own way: what is kept, what is told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.loop.agents import Heard, load
from tests.loop.test_models import agent_file, environment
from tests.provider.asking import ANTHROPIC, CHAT, RESPONSES, Voice
from tests.provider.streaming import chunk, piece
from tests.provider.test_anthropic_stream import START, STOP, begin, close, end, grow, use
from tests.provider.test_responses_stream import added
from tests.provider.test_responses_stream import end as responses_end
from tests.replay_server import (
    Answer,
    ReplayServer,
    answering,
    events,
    streamed,
    then_close,
    then_silence,
)
from whence.declare.function import tool
from whence.errors import BudgetExceeded, WhenceError
from whence.loop.news import Notice, TextPiece
from whence.shapes.item import StopReason

pytestmark = pytest.mark.anyio
WHY = "Find out what the note says"


def options(voice: Voice, server: ReplayServer) -> dict[str, Any]:
    return {"model": f"{voice.provider}/m", "environ": environment(voice, server)}


def calls(*names: str) -> list[Any]:
    arguments = json.dumps({"why": WHY})
    return [piece(at, f"call_{name}", name, arguments) for at, name in enumerate(names)]


async def stop_at_first_word(path: Path, **given: Any) -> None:
    """Cancel a run when the model has begun to speak."""
    spoken = asyncio.Event()

    def hear(news: object) -> None:
        if isinstance(news, TextPiece):
            spoken.set()

    running = asyncio.create_task(load(path, **given).run(on=hear))
    await asyncio.wait_for(spoken.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.requirement("run:ctrl-c")
async def test_a_thought_that_had_come_is_sent_back_after_the_answer_was_stopped(
    tmp_path: Path,
) -> None:
    path = agent_file(tmp_path)
    begun = [
        START, begin(0, type="thinking", thinking="", signature=""),
        grow(0, "thinking_delta", thinking="tides"), grow(0, "signature_delta", signature="SEAL"),
        close(0), *use(1, json.dumps({"why": WHY, "path": "note.txt"}), name="fs_read"),
        begin(2, type="text", text=""), grow(2, "text_delta", text="I look"),
    ]  # fmt: skip
    half = then_silence(streamed([events(*begun)], end=False))
    async with answering(half, streamed([events(*ANTHROPIC.says("Noon."))])) as server:
        await stop_at_first_word(path, **options(ANTHROPIC, server))
        await load(path, **options(ANTHROPIC, server)).run()
        answer, outcome = server.requests[1].json["messages"][1:3]

    thought = {"type": "thinking", "thinking": "tides", "signature": "SEAL"}
    assert answer["content"][0] == thought
    assert [block["type"] for block in answer["content"]] == ["thinking", "tool_use", "text"]
    assert "was not run" in outcome["content"][0]["content"]


@pytest.mark.requirement("run:ctrl-c")
async def test_of_a_call_that_was_stopped_half_way_everything_is_kept(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    begun = [
        chunk({"reasoning_content": "tides"}), piece(0, "call_1", "fs_read", '{"why": "Fi'),
        chunk({"content": "I look"}),
    ]  # fmt: skip
    half = then_silence(streamed([events(*begun)], end=False))
    async with answering(half, streamed([events(*CHAT.says("Noon."))])) as server:
        await stop_at_first_word(path, **options(CHAT, server))
        await load(path, **options(CHAT, server)).run()
        answer, outcome = server.requests[1].json["messages"][2:4]

    assert (answer["reasoning_content"], answer["content"]) == ("tides", "I look")
    assert answer["tool_calls"][0]["id"] == outcome["tool_call_id"] == "call_1"
    assert "INTERRUPTED" in outcome["content"]


@pytest.mark.requirement("loop:parallel")
async def test_outcomes_are_kept_as_they_come_and_sent_in_the_order_of_the_calls(
    tmp_path: Path,
) -> None:
    path = agent_file(tmp_path)

    @tool("early")
    async def early() -> str:
        """End first."""
        return "first"

    @tool("late")
    async def late() -> str:
        """End when the transcript has the other outcome."""
        while 'tool_response tool_call_id="call_early"' not in path.read_text("utf-8"):
            await asyncio.sleep(0.001)
        return "second"

    asking = streamed([events(*calls("late", "early"), chunk({}, "tool_calls"), "[DONE]")])
    async with answering(asking, streamed([events(*CHAT.says("Noon."))])) as server:
        agent = load(path, tools=[early, late], **options(CHAT, server))
        await asyncio.wait_for(agent.run(), 30)
        told = [one for one in server.requests[1].json["messages"] if one["role"] == "tool"]

    assert [one["tool_call_id"] for one in told] == ["call_late", "call_early"]
    assert [one["content"] for one in told] == ["second", "first"]
    assert path.read_text("utf-8").count("<tool_response ") == 2


def refusing_chat() -> list[Any]:
    return [chunk({"refusal": "I will "}), chunk({"refusal": "not."}), chunk({}, "stop"), "[DONE]"]


def refusing_responses() -> list[Any]:
    part = {"type": "refusal", "refusal": "I will not."}
    entry = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
    whole = {**entry, "content": [part]}
    return [added(0, {**entry, "content": []}), responses_end(whole)]


@pytest.mark.requirement("loop:endings")
@pytest.mark.parametrize(
    ("voice", "said"),
    [(CHAT, refusing_chat()), (RESPONSES, refusing_responses())],
    ids=["openai-chat", "openai"],
)
async def test_the_words_of_a_refusal_are_the_answer(
    tmp_path: Path, voice: Voice, said: list[Any]
) -> None:
    path = agent_file(tmp_path)
    heard = Heard()
    async with answering(streamed([events(*said)])) as server:
        result = await load(path, **options(voice, server)).run(on=heard)

    assert (result.text, result.stop) == ("I will not.", StopReason.REFUSAL)
    assert [one.text for one in heard.of(Notice)] == ["the model declined to answer"]


@pytest.mark.parametrize("voice", [CHAT, RESPONSES, ANTHROPIC], ids=lambda one: one.provider)
async def test_calls_under_the_names_of_files_are_sent_under_those_that_models_know(
    tmp_path: Path, voice: Voice
) -> None:
    path = agent_file(tmp_path)
    arguments = json.dumps({"why": WHY, "path": "note.txt"})
    (tmp_path / "script.yaml").write_text(
        f"- calls: [{{tool: fs.read, args: {arguments}}}]\n- Noon.\n", "utf-8"
    )
    await load(path, model="script/script.yaml").run()
    heard = Heard()
    async with answering(streamed([events(*voice.says("At noon."))])) as server:
        await load(path, **options(voice, server)).run("Again", on=heard)

    assert b"fs.read" not in server.requests[0].body
    assert server.requests[0].body.count(b'"fs_read"') == 2
    assert heard.of(Notice) == []


async def test_what_a_provider_cannot_be_told_is_said_once(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    blank = [START, begin(0, type="text", text=""), grow(0, "text_delta", text="\n"), close(0)]
    arguments = json.dumps({"why": WHY, "path": "note.txt"})
    turns = [
        streamed([events(*blank, *use(1, arguments, f"toolu_{turn}", "fs_read"), end(), STOP)])
        for turn in range(3)
    ]
    heard = Heard()
    async with answering(*turns, streamed([events(*ANTHROPIC.says("Noon."))])) as server:
        await load(path, **options(ANTHROPIC, server)).run(on=heard)
        answer = server.requests[1].json["messages"][1]

    assert [block["type"] for block in answer["content"]] == ["tool_use"]
    assert [one.text for one in heard.of(Notice)] == ["blank text dropped: Anthropic refuses it"]


def reading(turn: int, tokens: int) -> Answer:
    """An answer that makes a call and has used so many tokens."""
    arguments = json.dumps({"why": WHY, "path": "note.txt"})
    usage = {"id": "c1", "choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 1}}
    said = [chunk({"content": f"step {turn}"}), piece(0, f"call_{turn}", "fs_read", arguments)]
    return streamed([events(*said, chunk({}, "tool_calls"), usage, "[DONE]")])


@pytest.mark.requirement("loop:budget")
async def test_the_time_of_a_run_ends_while_it_is_summed_up_too(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    path.write_text('<config budget="2s"/>\n' + path.read_text("utf-8"), "utf-8")
    turns = [reading(0, 10), reading(1, 10), reading(2, 10), reading(3, 1000)]
    async with answering(*turns, then_silence()) as server:
        agent = load(path, compact_at=500, **options(CHAT, server))
        with pytest.raises(BudgetExceeded, match="seconds"):
            await asyncio.wait_for(agent.run(), 60)
        assert "Sum up" in server.requests[-1].json["messages"][0]["content"]


@pytest.mark.requirement("loop:compaction")
async def test_half_a_summary_is_none(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    turns = [reading(0, 10), reading(1, 10), reading(2, 10), reading(3, 1000)]
    half = then_close(streamed([events(chunk({"content": "The half of"}))], end=False))
    async with answering(*turns, half, streamed([events(*CHAT.says("Noon."))])) as server:
        await load(path, compact_at=500, **options(CHAT, server)).run()
        told = server.requests[-1].json["messages"][1]["content"]

    assert "The half of" not in told
    assert "call fs_read" in told


@pytest.mark.requirement("loop:endings")
async def test_a_call_that_the_limit_of_tokens_cut_off_says_so(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    half = [piece(0, "call_1", "fs_read", '{"path": "no'), chunk({}, "length"), "[DONE]"]
    async with answering(
        streamed([events(*half)]), streamed([events(*CHAT.says("Noon."))])
    ) as server:
        await load(path, **options(CHAT, server)).run()
        outcome = server.requests[1].json["messages"][-1]["content"]

    assert "PARSE_ERROR" in outcome
    assert "limit of tokens" in outcome


@pytest.mark.requirement("agents:ceiling")
async def test_a_child_is_not_shown_what_the_mode_above_it_does_not_have(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    path.write_text(
        '<config mode="ask"/>\n<tool name="child" agent="child.chatmd" local/>\n<user>go</user>\n',
        "utf-8",
    )
    declared = '<tool name="fs.read"/>\n<tool name="fs.write"/>\n<system>Help.</system>\n'
    (tmp_path / "child.chatmd").write_text(declared, "utf-8")
    arguments = json.dumps({"why": WHY, "input": "help"})
    asking = [piece(0, "call_1", "child", arguments), chunk({}, "tool_calls"), "[DONE]"]
    final = streamed([events(*CHAT.says("Noon."))])
    async with answering(streamed([events(*asking)]), final) as server:
        await load(path, **options(CHAT, server)).run()
        shown = server.requests[1].json["tools"]

    assert [one["function"]["name"] for one in shown] == ["fs_read"]


@pytest.mark.requirement("run:provider-down")
async def test_an_answer_is_kept_though_the_journal_is_full(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    log = tmp_path / ".agent" / "sessions" / "s" / "session-log.md"

    def fill(news: object) -> None:
        if isinstance(news, TextPiece):
            log.unlink()
            log.mkdir()

    async with answering(streamed([events(*CHAT.says("Noon."))])) as server:
        with pytest.raises(WhenceError):
            await load(path, session="s", **options(CHAT, server)).run(on=fill)

    assert "Noon." in path.read_text("utf-8")


@pytest.mark.requirement("loop:parallel")
@pytest.mark.parametrize(
    ("voice", "said"),
    [
        (CHAT, {"parallel_tool_calls": False}),
        (RESPONSES, {"parallel_tool_calls": False}),
        (ANTHROPIC, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    ],
    ids=["openai-chat", "openai", "anthropic"],
)
async def test_who_runs_one_call_at_a_time_asks_for_one_at_a_time(
    tmp_path: Path, voice: Voice, said: dict[str, Any]
) -> None:
    path = agent_file(tmp_path)
    async with answering(streamed([events(*voice.says("Noon."))])) as server:
        await load(path, parallel=1, **options(voice, server)).run()
        assert server.requests[0].json.items() >= said.items()
