"""Runs in pydantic-ai's environment: CPU seconds of a run whose one turn makes so many calls."""

from __future__ import annotations

import asyncio
import sys
import time

from pydantic_ai import (  # type: ignore[import-not-found]
    Agent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel  # type: ignore[import-not-found]

RUNS = 10
ARGUMENTS = '{"path": "src/a.txt", "limit": %d, "why": "Find out where the settings are read"}'


async def read(path: str, limit: int, why: str) -> str:
    """Read a file."""
    return path


def agent_that_makes(calls: int) -> Agent:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if calls and len(messages) == 1:
            return ModelResponse(
                [ToolCallPart("read", ARGUMENTS % n, tool_call_id=f"c{n}") for n in range(calls)]
            )
        return ModelResponse([TextPart("done")])

    return Agent(FunctionModel(answer), tools=[read])


async def cost(agent: Agent) -> float:
    await agent.run("go")
    start = time.process_time()
    for _ in range(RUNS):
        await agent.run("go")
    return (time.process_time() - start) / RUNS


for line in sys.stdin:
    print(asyncio.run(cost(agent_that_makes(int(line)))), flush=True)
