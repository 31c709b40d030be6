"""Runs in pydantic-ai's environment: CPU seconds of loading a conversation of so many turns."""

from __future__ import annotations

import sys
import time
from functools import cache

from pydantic_ai import (  # type: ignore[import-not-found]
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)


def turn(number: int) -> list[ModelMessage]:
    """The same as one turn of the transcript in `benchmarks/agent_files.py`."""
    call = f"call-{number}"
    arguments = f'{{"path": "file-{number}"}}'
    result = "line of text\n" * 150
    return [
        ModelRequest([UserPromptPart(f"What is in file {number}? " + "please " * 20)]),
        ModelResponse([ToolCallPart("fs_read", arguments, tool_call_id=call)]),
        ModelRequest([ToolReturnPart("fs_read", result, tool_call_id=call)]),
        ModelResponse([TextPart("It says: " + "word " * 150)]),
    ]


@cache
def stored(turns: int) -> bytes:
    messages = [message for number in range(turns) for message in turn(number)]
    data: bytes = ModelMessagesTypeAdapter.dump_json(messages)
    return data


def cost(turns: int) -> float:
    data = stored(turns)
    start = time.process_time()
    ModelMessagesTypeAdapter.validate_json(data)
    return time.process_time() - start


for line in sys.stdin:
    print(cost(int(line)), flush=True)
