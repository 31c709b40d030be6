"""A run may be stopped at any moment, again and again: its file stays whole and resumes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loop.agents import load
from tests.loop.test_models import environment
from tests.provider.asking import CHAT
from tests.provider.streaming import chunk, piece
from tests.replay_server import ReplayServer, answering, events, streamed
from whence.declare.function import tool
from whence.journal.read import read_entries
from whence.loop.agent_file import load_agent
from whence.loop.conversation import Reader
from whence.loop.news import News
from whence.shapes.item import ToolCall, ToolOutcome
from whence.shapes.policy import Policy, Quotas

UNLIMITED = Policy(quotas=Quotas(repeats=None))
FILE = """\
<config show_tool_call/>
<tool name="helper" agent="helper.chatmd" local/>
<system>Be brief.</system>
"""


@tool("work")
async def work(rounds: int) -> int:
    """Take a while."""
    for _ in range(rounds):
        await asyncio.sleep(0)
    return rounds


def calling(depth: int) -> list[Any]:
    """Words, and calls that take different times; on top also of an agent that does the same."""
    made = [
        piece(0, "a", "work", '{"rounds": 1, "why": "Do it quickly"}'),
        piece(1, "b", "work", '{"rounds": 40, "why": "Do it slowly"}'),
        piece(2, "c", "nowhere", '{"rounds":'),
    ]
    if depth == 0:
        made.append(piece(3, "d", "helper", '{"input": "x", "why": "Have it done"}'))
    words = [chunk({"role": "assistant", "content": "Let"}), chunk({"content": " me see"})]
    return [*words, *made, chunk({}, "tool_calls"), "[DONE]"]


@asynccontextmanager
async def server_that_calls() -> AsyncIterator[ReplayServer]:
    """Answers a question with calls, and outcomes with words."""

    async def respond(writer: asyncio.StreamWriter) -> None:
        asked = here.requests[-1].json
        if asked["messages"][-1]["role"] == "tool":
            said = CHAT.says("That is it.")
        else:
            names = [one["function"]["name"] for one in asked.get("tools", [])]
            said = calling(0 if "helper" in names else 1)
        await streamed([events(one) for one in said])(writer)

    async with answering(respond) as here:
        yield here


async def stopped_run(path: Path, environ: Any, after: int, rounds: int) -> bool:
    """Run, and cancel some rounds of the event loop after an event; whether it was in time."""
    loop = asyncio.get_running_loop()
    heard = 0

    def stop(left: int) -> None:
        if left:
            loop.call_soon(stop, left - 1)
        else:
            task.cancel()

    def on(_news: News) -> None:
        nonlocal heard
        heard += 1
        if heard == after:
            stop(rounds)

    agent = load(path, model="openai-chat/m", environ=environ, tools=[work], policy=UNLIMITED)
    task = asyncio.create_task(agent.run("go", on=on))
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


def assert_whole(path: Path) -> None:
    """No problems, and every call answered exactly once, in the file and in each journal."""
    file = load_agent(str(path), str(path.parent))
    assert [str(one.diagnostic) for one in file.problems()] == []
    items = Reader(file, str(path.parent)).items()
    called = [item.id for item in items if isinstance(item, ToolCall)]
    answered = [item.call_id for item in items if isinstance(item, ToolOutcome)]
    assert len(set(called)) == len(called)
    assert sorted(answered) == sorted(called)
    for session in (path.parent / ".agent" / "sessions").iterdir():
        entries = list(read_entries(session))
        made = [one.fields["call_id"] for one in entries if one.type == "tool_call"]
        ended = [
            one.fields["call_id"] for one in entries if one.type in ("tool_result", "tool_error")
        ]
        assert sorted(made) == sorted(ended)
        assert entries[-1].type == "session_end"


async def stop_and_resume(moments: list[tuple[int, int]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agent.chatmd"
        path.write_text(FILE, "utf-8")
        declared = '<tool name="work" python="work.py:work"/>\n'
        (Path(folder) / "work.py").write_text(
            'import asyncio\n\nasync def work(rounds: int) -> int:\n    "Work."\n'
            "    for _ in range(rounds):\n        await asyncio.sleep(0)\n    return rounds\n"
        )
        (Path(folder) / "helper.chatmd").write_text(declared, "utf-8")
        async with server_that_calls() as server:
            environ = environment(CHAT, server)
            for after, rounds in moments:
                await stopped_run(path, environ, after, rounds)
                assert_whole(path)
            agent = load(
                path, model="openai-chat/m", environ=environ, tools=[work], policy=UNLIMITED
            )
            assert (await agent.run("to the end")).text == "That is it."
            assert_whole(path)


@pytest.mark.requirement("loop:cancel")
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(1, 24), st.integers(0, 60)), min_size=1, max_size=3))
def test_a_run_that_is_stopped_anywhere_leaves_a_whole_file_that_resumes(
    moments: list[tuple[int, int]],
) -> None:
    asyncio.run(stop_and_resume(moments))


@pytest.mark.requirement("loop:cancel")
def test_every_event_of_a_run_is_a_moment_to_stop_it() -> None:
    asyncio.run(stop_and_resume([(after, 0) for after in range(1, 20)]))
