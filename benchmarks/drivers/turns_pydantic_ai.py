"""The same with pydantic-ai."""

from __future__ import annotations

from pydantic_ai import Agent, UsageLimits  # type: ignore[import-not-found]
from pydantic_ai.models.openai import OpenAIChatModel  # type: ignore[import-not-found]
from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found]
from turns import URL, drive, work  # type: ignore[import-not-found]

PROVIDER = OpenAIProvider(base_url=URL, api_key="x")


async def run(model: str, slow: bool) -> str:
    async def read(path: str, limit: int, why: str) -> str:
        """Read a file."""
        return str(await work(slow))

    agent = Agent(OpenAIChatModel(model, provider=PROVIDER), tools=[read])
    async with agent.run_stream("go", usage_limits=UsageLimits(request_limit=None)) as result:
        return str(await result.get_output())


drive(run)
