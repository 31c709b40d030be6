"""The request that an agent file makes, in each protocol, and what it weighs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from whence.declare.toolbox import Mounted, Toolbox
from whence.loop.agent_file import AgentFile
from whence.loop.conversation import Reader
from whence.provider import anthropic, mcp_tools, openai_chat, openai_responses, xml
from whence.provider.exchange import (
    Encoded,
    Frame,
    Settings,
    ToolChoice,
    leading_system,
)
from whence.provider.wire import dumps
from whence.provider.xml_prompt import render_prompt
from whence.provider.xml_stream import definitions_of
from whence.shapes.item import Item, Message

BYTES_PER_TOKEN = 4.3
"""Measured on source text; providers count more exactly, and say so in their answers."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A request as it would be sent."""

    body: bytes
    notes: tuple[str, ...]
    """What is not in it, and why."""
    messages: int
    """How many there are."""
    message_tokens: int
    """About how many tokens they have, instructions included."""
    tool_tokens: Mapping[str, int]


Encode = Callable[[Settings, tuple[Item, ...], Toolbox], tuple[Frame, Encoded, Encoded]]


def show(agent: AgentFile, workspace: str, protocol: str) -> Shown:
    """The request of an agent file in one protocol, built as a run would build it."""
    toolbox = Toolbox(agent.resolved.tools)
    reader = Reader(agent, workspace)
    items = reader.items()
    if protocol == "mcp":
        return _tools_only(toolbox)
    system, rest = leading_system(items)
    settings = settings_of(agent, system, agent.resolved.config.model or "default")
    frame, messages, tools = _encoders()[protocol](settings, rest, toolbox)
    losses = (*frame.losses, *messages.losses, *tools.losses)
    names = [tool.name for tool in toolbox]
    sizes = dict(zip(names, map(tokens, tools.fragments), strict=False))
    body = frame.body(messages.fragments)
    return Shown(
        body,
        (*reader.notes, *map(str, losses)),
        len(system) + len(messages.fragments),
        tokens(body) - sum(sizes.values()),
        sizes,
    )


def show_tools(tools: Iterable[Mounted], protocol: str) -> str:
    """Tools as one protocol sends them: a JSON list, or the words of the XML form."""
    if protocol == "xml":
        return render_prompt(definitions_of(tools))
    if protocol == "mcp":
        fragments = [dumps(mcp_tools.encode_tool(tool)) for tool in tools]
    else:
        codecs = {"openai": openai_chat, "responses": openai_responses, "anthropic": anthropic}
        codec: Any = codecs[protocol]
        fragments = list(codec.encode_tools(tools).fragments)
    return msgspec.json.format(b"[" + b",".join(fragments) + b"]", indent=2).decode()


def tokens(text: bytes) -> int:
    """About how many tokens a text has."""
    return round(len(text) / BYTES_PER_TOKEN) or 1


def settings_of(agent: AgentFile, system: tuple[Message, ...], model: str) -> Settings:
    """What a request of this file says besides the conversation and the tools."""
    config = agent.resolved.config
    return Settings(
        model.partition("/")[2] or model,
        system,
        ToolChoice(parallel=None if config.parallel_tool_calls else False),
        max_output_tokens=config.max_tokens,
        temperature=config.temperature,
        reasoning_effort=config.reasoning_effort.value if config.reasoning_effort else None,
    )


def _encoders() -> dict[str, Encode]:
    return {
        "openai": lambda settings, items, box: _with(openai_chat, settings, items, box),
        "responses": lambda settings, items, box: _with(openai_responses, settings, items, box),
        "anthropic": lambda settings, items, box: _with(anthropic, settings, items, box),
        "xml": _as_xml,
    }


def _with(
    codec: Any, settings: Settings, items: tuple[Item, ...], toolbox: Toolbox
) -> tuple[Frame, Encoded, Encoded]:
    tools = codec.encode_tools(toolbox)
    return codec.frame(settings, tools.fragments), codec.encode_items(items), tools


def _as_xml(
    settings: Settings, items: tuple[Item, ...], toolbox: Toolbox
) -> tuple[Frame, Encoded, Encoded]:
    """Tools described in the instructions, calls and outcomes as words, in a chat request."""
    definitions = definitions_of(toolbox)
    prompt = Message.of("system", render_prompt(definitions))
    words, losses = xml.as_text(items, definitions)
    described = replace(settings, system=(*settings.system, prompt)) if definitions else settings
    frame = openai_chat.frame(described)
    encoded = openai_chat.encode_items(words)
    return frame, Encoded(encoded.fragments, (*encoded.losses, *losses)), Encoded(())


def _tools_only(toolbox: Toolbox) -> Shown:
    fragments = {tool.name: dumps(mcp_tools.encode_tool(tool)) for tool in toolbox}
    body = b'{"tools":[' + b",".join(fragments.values()) + b"]}"
    return Shown(body, (), 0, 0, {name: tokens(text) for name, text in fragments.items()})
