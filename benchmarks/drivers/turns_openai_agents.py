"""The same with openai-agents."""

from __future__ import annotations

from agents import (  # type: ignore[import-not-found]
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI  # type: ignore[import-not-found]
from turns import URL, drive, work  # type: ignore[import-not-found]

CLIENT = AsyncOpenAI(base_url=URL, api_key="x")
set_tracing_disabled(True)


async def run(model: str, slow: bool) -> str:
    @function_tool  # type: ignore[untyped-decorator]
    async def read(path: str, limit: int, why: str) -> str:
        """Read a file."""
        return str(await work(slow))

    agent = Agent(
        name="bench", tools=[read], model=OpenAIChatCompletionsModel(model, openai_client=CLIENT)
    )
    result = Runner.run_streamed(agent, "go", max_turns=1000)
    async for _ in result.stream_events():
        pass
    return str(result.final_output)


drive(run)
