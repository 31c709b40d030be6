"""An agent file with a Python tool, run as a program would run it: gate, journal and transcript."""

from __future__ import annotations

import os
from pathlib import Path

from turns import URL, drive, work  # type: ignore[import-not-found]

from whence.declare.function import tool
from whence.loop.agent import Agent
from whence.shapes.policy import Policy, Quotas

# Kept: where many files were just removed, some disks are slow to make new ones.
FOLDER = Path(__file__).parents[2] / ".cache" / "turns"
FOLDER.mkdir(parents=True, exist_ok=True)
UNLIMITED = Policy(quotas=Quotas(calls=None, calls_per_turn=None, repeats=None))
ENVIRON = {**os.environ, "OPENAI_BASE_URL": URL, "OPENAI_API_KEY": "x"}


@tool("read")
async def read_quick(path: str, limit: int = 0) -> str:
    """Read a file."""
    return str(await work(False))


@tool("read")
async def read_slow(path: str, limit: int = 0) -> str:
    """Read a file."""
    return str(await work(True))


async def run(model: str, slow: bool) -> str:
    path = FOLDER / f"{model}-{os.urandom(4).hex()}.chatmd"
    path.write_text("<system>Be brief.</system>\n", "utf-8")
    agent = Agent.load(
        path, FOLDER, model=f"openai-chat/{model}", tools=[read_slow if slow else read_quick],
        policy=UNLIMITED, max_turns=1000, environ=ENVIRON, parallel=1000,
    )  # fmt: skip
    return (await agent.run("go")).text


drive(run)
