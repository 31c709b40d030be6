"""No server outlives the run that started it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.loop.agents import call, write_agent
from tests.mcp.serving import agent, command, declared, outcome
from whence.execute.dialogue import Dialogue

pytestmark = pytest.mark.anyio
STUBBORN = """\
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
lines = "import os, time", "os.setsid()", "print(os.getpid(), flush=True)", "time.sleep(600)"
inner = [sys.executable, "-c", "; ".join(lines)]
child = subprocess.Popen(inner, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
print(os.getpid(), child.stdout.readline().decode().strip(), flush=True)
time.sleep(600)
"""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def gone(*pids: int) -> None:
    async with asyncio.timeout(20):
        while any(map(is_running, pids)):
            await asyncio.sleep(0.02)


@pytest.mark.requirement("mcp:ends")
async def test_a_server_ends_with_the_run(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    assert (await outcome(tmp_path, declared("old", pid=pid, stubborn=1), "echo", text="a")).ok
    await gone(int(pid.read_text("utf-8")))


@pytest.mark.requirement("mcp:ends")
async def test_a_server_ends_when_the_run_is_cancelled_during_a_call(tmp_path: Path) -> None:
    pid, log = tmp_path / "pid", tmp_path / "log"
    run = agent(tmp_path, [call("hang")], declared("old", pid=pid, log=log, stubborn=1))
    task = asyncio.create_task(run.run("go"))
    async with asyncio.timeout(20):
        while not log.exists() or "tools/call" not in log.read_text("utf-8"):
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(int(pid.read_text("utf-8")))


@pytest.mark.requirement("mcp:killed")
async def test_a_killed_whence_leaves_no_server_behind(tmp_path: Path) -> None:
    pid, log = tmp_path / "pid", tmp_path / "log"
    server = declared("old", pid=pid, log=log, stubborn=1)
    path = write_agent(tmp_path, [{"calls": [call("hang")]}, "end"], server)
    whence = os.path.join(os.path.dirname(sys.executable), "whence")
    process = await asyncio.create_subprocess_exec(
        whence, "run", os.fspath(path), "go", "--allow", "hang", "--ephemeral",
        cwd=tmp_path, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(30):
            while not log.exists() or "tools/call" not in log.read_text("utf-8"):
                assert process.returncode is None
                await asyncio.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
    await gone(int(pid.read_text("utf-8")))


@pytest.mark.requirement("mcp:killed")
async def test_a_program_that_ignores_everything_ends_with_all_that_it_started() -> None:
    argv = [sys.executable, "-c", STUBBORN]
    talk = await Dialogue.start(argv, cwd="/", env={"PATH": os.environ["PATH"]}, grace_s=0.2)
    pids = [int(word) for word in (await anext(talk)).split()]
    assert all(map(is_running, pids))
    await talk.stop()
    await gone(talk.pid, *pids)


@pytest.mark.requirement("mcp:stderr")
async def test_what_a_server_writes_for_people_is_not_on_the_terminal(tmp_path: Path) -> None:
    whence = os.path.join(os.path.dirname(sys.executable), "whence")
    process = await asyncio.create_subprocess_exec(
        whence, "mcp", command("old", silent=1), "--timeout", "3s", cwd=tmp_path,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert out == b""
    assert err.decode().startswith("whence mcp: the MCP server ")
    assert "it wrote 'still thinking'" in err.decode()
