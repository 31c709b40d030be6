"""What code prints reaches whoever watches, while it still runs; every end says its isolation."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.loop.agents import Heard, approving, call, load, write_agent
from whence.execute.process import Processes
from whence.journal.read import last_entries
from whence.loop.live import MOST_SHOWN
from whence.loop.news import CallEnded, News, Output
from whence.loop.session import Session
from whence.shapes.approval import Answer, Question

pytestmark = pytest.mark.anyio

WHY = "Prove that what runs is seen"
needs_engine = pytest.mark.skipif(
    importlib.util.find_spec("_quickjs") is None, reason="the extra js is not installed"
)
js = pytest.param(
    "js.exec",
    "console.log('é', 1); console.error('\\ud800'); setTimeout(() => console.log('late'), 5)",
    "é 1\nerror: \ufffd\nlate\n",
    marks=needs_engine,
    id="js",
)
python = pytest.param(
    "python.exec",
    "import os\nprint('é', 1)\nos.write(2, b'two\\n')\nos.write(1, b'\\xff\\n')\n'\\ud800'",
    "é 1\ntwo\n\ufffd\n",
    id="python",
)
FOR_EVER: dict[str, dict[str, Any]] = {
    "terminal.run": {"cmd": ["sh", "-c", "echo on; sleep 600"]},
    "python.exec": {"code": "print('on')\nwhile True: pass"},
    "js.exec": {"code": "console.log('on'); for (;;);"},
}
ENDLESS = [
    pytest.param(tool, id=tool, marks=[needs_engine] if tool == "js.exec" else [])
    for tool in FOR_EVER
]


def fault_in_journal(folder: Path) -> Any:
    (journal,) = (folder / ".agent" / "sessions").iterdir()
    (entry,) = [one for one in last_entries(journal, 8) if one.type == "tool_error"]
    return entry.fields


async def heard_of(folder: Path, tool: str, **args: Any) -> Heard:
    declared = f'<tool name="{tool}"/>'
    path = write_agent(folder, [{"calls": [call(tool, **args)]}, "end"], declared)
    heard = Heard()
    await load(path, ephemeral=True, approver=approving()).run("go", on=heard)
    return heard


@pytest.mark.requirement("exec:live")
@pytest.mark.parametrize(("tool", "code", "text"), [python, js])
async def test_what_code_prints_is_told_before_the_call_has_ended(
    tool: str, code: str, text: str, tmp_path: Path
) -> None:
    heard = await heard_of(tmp_path, tool, code=code)
    kinds = [type(one) for one in heard.news if isinstance(one, Output | CallEnded)]
    shown = "".join(one.text for one in heard.of(Output))
    assert sorted(shown.splitlines()) == sorted(text.splitlines())  # two streams, two orders
    assert kinds[-1] is CallEnded
    (ended,) = heard.of(CallEnded)
    assert ended.outcome.ok, ended.outcome.fault


@pytest.mark.requirement("exec:live")
@pytest.mark.requirement("exec:faults-isolated")
@pytest.mark.parametrize("tool", ENDLESS)
async def test_a_line_is_seen_while_code_runs_on_and_its_stop_says_how_far_it_was_kept_apart(
    tool: str, tmp_path: Path
) -> None:
    declared = f'<tool name="{tool}"/>'
    answers = [{"calls": [call(tool, **FOR_EVER[tool])]}, "end"]
    seen = asyncio.Event()

    def on(news: News, /) -> None:
        if isinstance(news, Output) and "on\n" in news.text:
            seen.set()

    agent = load(write_agent(tmp_path, answers, declared), ephemeral=True, approver=approving())
    run = asyncio.create_task(agent.run("go", on=on))
    try:
        async with asyncio.timeout(30):
            await seen.wait()
        assert not run.done()
    finally:
        run.cancel()
        await asyncio.wait({run})
    told = fault_in_journal(tmp_path)
    assert told["error"]["code"] == "CANCELLED"
    assert told["isolation"] == Processes().isolation().as_json()


@pytest.mark.requirement("exec:live")
async def test_a_flood_of_code_is_shown_up_to_a_bound(tmp_path: Path) -> None:
    heard = await heard_of(tmp_path, "python.exec", code="print('x' * 50_000_000)")
    shown = "".join(one.text for one in heard.of(Output))
    assert len(shown) <= MOST_SHOWN + 100
    assert shown.endswith("…truncated\n")


async def yes(question: Question) -> Answer:
    return Answer(approved=True, by="test")


@pytest.mark.requirement("exec:faults-isolated")
@pytest.mark.parametrize("tool", ENDLESS)
async def test_a_call_that_is_out_of_time_says_how_far_it_was_kept_apart(
    tool: str, tmp_path: Path
) -> None:
    with Session(tmp_path, durable=False, approver=yes) as session:
        outcome = await session.call(tool, WHY, **FOR_EVER[tool], timeout_ms=400)
        assert outcome.fault is not None
        assert outcome.fault.code == "TIMEOUT"
        expected = Processes().isolation().as_json()
        assert outcome.as_json()["isolation"] == expected
        assert fault_in_journal(tmp_path)["isolation"] == expected


@pytest.mark.requirement("exec:faults-isolated")
async def test_a_call_that_started_nothing_says_nothing(tmp_path: Path) -> None:
    with Session(tmp_path, durable=False, approver=yes) as session:
        missing = await session.call("terminal.run", WHY, cmd=["no-such-program"])
        assert missing.fault is not None
        assert "isolation" not in missing.as_json()
        read = await session.call("fs.read", WHY, path="absent")
        assert "isolation" not in read.as_json()
