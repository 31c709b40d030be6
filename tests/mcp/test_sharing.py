"""Many servers and many calls at once, and what none of them costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.loop.agents import Heard, call, load, write_agent
from tests.mcp.serving import declared, logged, yes
from whence.loop.news import CallEnded


@pytest.mark.anyio
@pytest.mark.requirement("mcp:concurrent")
async def test_servers_are_connected_to_at_the_same_time(tmp_path: Path) -> None:
    """Each server waits for the two others: one after the other, none would ever be ready."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    servers = [
        declared("old", only=name, meet=meeting, more='timeout="20s"')
        for name in ("echo", "fail", "who")
    ]
    heard = Heard()
    path = write_agent(tmp_path, [{"calls": [call("echo", text="a")]}, "end"], *servers)
    await load(path, ephemeral=True, approver=yes).run("go", on=heard)
    assert [each.outcome.result for each in heard.of(CallEnded)] == ["a"]


@pytest.mark.anyio
@pytest.mark.requirement("mcp:burst")
async def test_calls_of_one_turn_share_a_connection_and_its_listing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    calls = [call("echo", text=str(number)) for number in range(30)]
    path = write_agent(tmp_path, [{"calls": calls}, "end"], declared("old", log=log))
    heard = Heard()
    await load(path, ephemeral=True, approver=yes).run("go", on=heard)
    done = {each.outcome.result for each in heard.of(CallEnded)}
    assert done == {str(number) for number in range(30)}
    methods = [each.get("method") for each in logged(log)]
    assert methods.count("initialize") == 1
    assert methods.count("tools/list") < 10


@pytest.mark.requirement("mcp:idle")
def test_the_sdk_is_imported_only_for_a_file_that_names_a_server(tmp_path: Path) -> None:
    path = write_agent(tmp_path, ["end"], '<tool name="list" command="ls"/>')
    script = (
        "import sys; from whence.loop.agent import Agent;"
        f"Agent.load({os.fspath(path)!r}, {os.fspath(tmp_path)!r}, ephemeral=True).run_sync('go');"
        "print([name for name in ('mcp', 'pydantic', 'whence.mcp', 'whence.loop.servers')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
