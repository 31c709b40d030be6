"""Runs in openai-agents' environment: CPU seconds of a run whose one turn makes so many calls."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from agents import (  # type: ignore[import-not-found]
    Agent,
    ModelResponse,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.models.interface import Model  # type: ignore[import-not-found]
from openai.types.responses import (  # type: ignore[import-not-found]
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

RUNS = 10
ARGUMENTS = '{"path": "src/a.txt", "limit": %d, "why": "Find out where the settings are read"}'


@function_tool  # type: ignore[untyped-decorator]
async def read(path: str, limit: int, why: str) -> str:
    """Read a file."""
    return path


class Scripted(Model):  # type: ignore[misc]
    """Makes its calls in the first turn and is done in the second."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    async def get_response(self, *_: Any, input: Any, **__: Any) -> ModelResponse:
        answered = any(item.get("type") == "function_call_output" for item in input)
        output = [done()] if answered or not self.calls else [call(n) for n in range(self.calls)]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def call(number: int) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", id=f"i{number}", call_id=f"c{number}", name="read",
        arguments=ARGUMENTS % number,
    )  # fmt: skip


def done() -> ResponseOutputMessage:
    text = ResponseOutputText(type="output_text", text="done", annotations=[])
    return ResponseOutputMessage(
        type="message", id="m", role="assistant", status="completed", content=[text]
    )


async def cost(agent: Agent) -> float:
    await Runner.run(agent, "go")
    start = time.process_time()
    for _ in range(RUNS):
        await Runner.run(agent, "go")
    return (time.process_time() - start) / RUNS


set_tracing_disabled(True)
for line in sys.stdin:
    agent = Agent(name="bench", tools=[read], model=Scripted(int(line)))
    print(asyncio.run(cost(agent)), flush=True)
