"""Agent files as the prompts of a server: what they are for, what they take, what they say."""

from __future__ import annotations

import os
from collections.abc import Mapping

from whence.errors import InvalidArgs
from whence.loop.agent_file import AgentFile
from whence.loop.bind import message_of
from whence.loop.conversation import Reader
from whence.provider.mcp_sampling import encode_items
from whence.shapes import document
from whence.shapes.item import Item, Message
from whence.shapes.json import JSONObject

_DESCRIPTION = 300
_INSTRUCTIONS = ("system", "developer")


def description_of(agent: AgentFile) -> str:
    """The first paragraph of its instructions, or its name."""
    for entry in agent.document.items():
        if isinstance(entry, document.Message) and entry.role in _INSTRUCTIONS:
            first = " ".join(entry.text.strip().partition("\n\n")[0].split())
            if first:
                return first if len(first) <= _DESCRIPTION else first[: _DESCRIPTION - 1] + "…"
    return f"Runs the agent {os.path.basename(agent.path)} and returns its answer."


def arguments_of(agent: AgentFile) -> list[JSONObject]:
    """What the prompt takes, as the protocol lists it."""
    inputs = agent.resolved.interface.inputs
    if not inputs:
        return [{"name": "input", "description": "What the agent is asked", "required": False}]
    return [
        {
            "name": param.name,
            "description": str(param.schema.get("description", "")),
            "required": param.required,
        }
        for param in inputs
    ]


def messages_of(agent: AgentFile, arguments: Mapping[str, str], workspace: str) -> list[JSONObject]:
    """What the file says, and what is asked of it.

    Raises:
        InvalidArgs: An argument is missing, or nobody knows it.
    """
    _check(agent, arguments)
    items: list[Item] = [*Reader(agent, workspace).items()]
    if arguments:
        items.append(message_of(dict(arguments), agent.resolved.interface))
    said, _ = encode_items([item for item in items if isinstance(item, Message)])
    return [
        {"role": message["role"], "content": block}
        for message in said
        for block in message["content"]
    ]


def _check(agent: AgentFile, arguments: Mapping[str, str]) -> None:
    taken = {str(one["name"]): bool(one["required"]) for one in arguments_of(agent)}
    unknown = [key for key in arguments if key not in taken]
    missing = [key for key, needed in taken.items() if needed and key not in arguments]
    if unknown or missing:
        what = f"does not take {unknown[0]!r}" if unknown else f"needs {missing[0]!r}"
        name = os.path.basename(agent.path)
        raise InvalidArgs(f"the prompt of {name} {what}", f"It takes {', '.join(taken)}.")
