"""Real servers for tests: programs to declare, and one that listens on a port of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.loop.agents import Heard, call, load, write_agent
from whence.loop.agent import Agent
from whence.loop.news import CallEnded
from whence.shapes.approval import Answer, Approver, Question
from whence.shapes.call import Outcome

SERVERS = Path(__file__).parent / "servers"
WHENCE = os.path.join(os.path.dirname(sys.executable), "whence")


def command(script: str, **options: object) -> str:
    """The command of a server, as `mcp_server` takes it."""
    words = [sys.executable, os.fspath(SERVERS / f"{script}.py")]
    return "stdio:" + " ".join([*words, *(f"{key}={value}" for key, value in options.items())])


def declared(script: str, include: str = "", more: str = "", **options: Any) -> str:
    """The element that names a server."""
    chosen = f'include="{include}" ' if include else ""
    return f'<tool mcp_server="{command(script, **options)}" {chosen}{more}/>'


async def yes(question: Question) -> Answer:
    """Lets every call through, and never trusts a change."""
    return Answer(approved=not question.difference)


def agent(folder: Path, calls: list[dict[str, Any]], *declarations: str, **options: Any) -> Agent:
    """An agent whose model makes these calls, one after the other."""
    answers = [*({"calls": [each]} for each in calls), "end"]
    options.setdefault("approver", yes)
    return load(write_agent(folder, answers, *declarations), ephemeral=True, **options)


async def outcomes(
    folder: Path,
    calls: list[dict[str, Any]],
    *declarations: str,
    heard: Heard | None = None,
    **options: Any,
) -> list[Outcome]:
    """What becomes of some calls."""
    heard = heard or Heard()
    await agent(folder, calls, *declarations, **options).run("go", on=heard)
    return [news.outcome for news in heard.of(CallEnded)]


async def outcome(
    folder: Path, declaration: str, tool: str, approver: Approver = yes, **args: Any
) -> Outcome:
    """What becomes of one call."""
    (done,) = await outcomes(folder, [call(tool, **args)], declaration, approver=approver)
    return done


def logged(path: Path) -> list[dict[str, Any]]:
    """What a server was told."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@asynccontextmanager
async def listening(script: str, *options: str) -> AsyncIterator[str]:
    """The address of a server on a port of its own, ready to be asked."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [os.fspath(SERVERS / f"{script}.py"), str(port), *options]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(60):
            while not await _accepts(port):
                assert process.returncode is None, await process.communicate()
                await asyncio.sleep(0.02)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.communicate()


async def _accepts(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


def whence(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The installed command, run to its end in a workspace."""
    done = subprocess.run(
        [WHENCE, *arguments, "-C", os.fspath(folder)],
        cwd=folder, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
        check=False, env={**os.environ, **environ},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done
