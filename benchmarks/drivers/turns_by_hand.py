"""The least that a person would write: a loop on httpx2 and orjson."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import orjson
from turns import URL, drive, work  # type: ignore[import-not-found]

PROPERTIES = {"path": {"type": "string"}, "limit": {"type": "integer"}, "why": {"type": "string"}}
TOOL = {
    "type": "function",
    "function": {
        "name": "read", "description": "Read a file",
        "parameters": {"type": "object", "properties": PROPERTIES, "required": ["path"]},
    },
}  # fmt: skip
CLIENT = httpx2.AsyncClient(headers={"authorization": "Bearer x"})


async def run(model: str, slow: bool) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    while True:
        text, calls = await ask(model, messages)
        if not calls:
            return text
        messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        results = await asyncio.gather(*(perform(call, slow) for call in calls))
        messages += results


async def perform(call: dict[str, Any], slow: bool) -> dict[str, Any]:
    orjson.loads(call["function"]["arguments"])
    return {"role": "tool", "tool_call_id": call["id"], "content": await work(slow)}


async def ask(model: str, messages: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    body = orjson.dumps({"model": model, "stream": True, "tools": [TOOL], "messages": messages})
    text, calls = "", list[dict[str, Any]]()
    async with CLIENT.stream(
        "POST", f"{URL}/chat/completions", content=body,
        headers={"content-type": "application/json"},
    ) as response:  # fmt: skip
        async for line in response.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            delta = orjson.loads(line[6:])["choices"][0]["delta"]
            text += delta.get("content") or ""
            calls += delta.get("tool_calls") or []
    return text, [{key: call[key] for key in ("id", "type", "function")} for call in calls]


drive(run)
