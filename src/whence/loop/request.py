"""The request that an agent file makes, in each protocol, and what it weighs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from whence.declare.toolbox import Mounted, Toolbox
from whence.gate.mode import group_of
from whence.loop.agent_file import AgentFile
from whence.loop.conversation import Reader
from whence.loop.pairing import Paired, paired
from whence.loop.settings import load_mode
from whence.provider import mcp_tools, xml
from whence.provider.chat_dialect import OPENAI_CHAT
from whence.provider.codec import Codec, anthropic_codec, chat_codec, responses_codec
from whence.provider.exchange import (
    Encoded,
    Frame,
    Settings,
    ToolChoice,
    leading_system,
)
from whence.provider.wire import dumps
from whence.provider.xml import ToolProtocol, from_text, resolve_tool_protocol
from whence.provider.xml_prompt import render_prompt
from whence.provider.xml_stream import definitions_of
from whence.shapes.declaration import Config
from whence.shapes.item import Item, Message
from whence.shapes.policy import Mode

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


class Opening(NamedTuple):
    """What a file says, as a model is told it: in its mode, and each call with its outcome."""

    tools: Toolbox
    system: tuple[Message, ...]
    said: Paired
    xml: bool
    """Whether calls are made in words."""


_CODECS: Mapping[str, Codec] = {
    "openai": chat_codec(OPENAI_CHAT),
    "responses": responses_codec(),
    "anthropic": anthropic_codec(),
    "xml": chat_codec(OPENAI_CHAT),
}
"""XML is words in a chat."""


def opening(config: Config, toolbox: Toolbox, mode: Mode | None, items: Sequence[Item]) -> Opening:
    """A conversation made ready for a model: what its mode leaves and says, every call answered."""
    tools = in_mode(toolbox, mode)
    definitions = definitions_of(tools)
    xml = resolve_tool_protocol(config.protocol, items, definitions) is ToolProtocol.XML
    spoken, rest = leading_system(from_text(items, definitions) if xml else tuple(items))
    role = (Message.of("system", mode.role),) if mode and mode.role else ()
    return Opening(tools, (*role, *spoken), paired(rest), xml)


def in_mode(toolbox: Toolbox, mode: Mode | None) -> Toolbox:
    """The tools that a mode leaves: what it does not have, the model is not shown."""
    if mode is None:
        return toolbox
    kept = [tool.tool for tool in toolbox if group_of(tool.tool) in (None, *mode.groups)]
    return Toolbox(kept)


def show(agent: AgentFile, workspace: str, protocol: str) -> Shown:
    """The request of an agent file in one protocol, built as a run would build it."""
    reader, config = Reader(agent, workspace), agent.resolved.config
    mode = load_mode(workspace, config.mode) if config.mode else None
    opened = opening(config, Toolbox(agent.resolved.tools), mode, reader.items())
    if protocol == "mcp":
        return _tools_only(opened.tools)
    settings = settings_of(agent, opened.system, config.model or "default")
    encode = _in_words if opened.xml or protocol == "xml" else _native
    said, codec = opened.said, _CODECS[protocol]
    frame, messages, tools = encode(codec, settings, tuple(said.items), opened.tools)
    losses = (*frame.losses, *messages.losses, *tools.losses)
    names = [tool.name for tool in opened.tools]
    sizes = dict(zip(names, map(tokens, tools.fragments), strict=False))
    body = frame.body(messages.fragments)
    return Shown(
        body,
        (*reader.notes, *said.notes, *map(str, losses)),
        len(opened.system) + len(messages.fragments),
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
        fragments = list(_CODECS[protocol].encode_tools(tools).fragments)
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


def _native(
    codec: Codec, settings: Settings, items: tuple[Item, ...], toolbox: Toolbox
) -> tuple[Frame, Encoded, Encoded]:
    tools = codec.encode_tools(toolbox)
    if tools.fragments:
        settings = replace(settings, extra={**codec.with_tools, **settings.extra})
    return codec.frame(settings, tools.fragments), codec.encode_items(items), tools


def _in_words(
    codec: Codec, settings: Settings, items: tuple[Item, ...], toolbox: Toolbox
) -> tuple[Frame, Encoded, Encoded]:
    """Tools described in the instructions, calls and outcomes as words."""
    definitions = definitions_of(toolbox)
    prompt = Message.of("system", render_prompt(definitions))
    words, losses = xml.as_text(items, definitions)
    described = replace(settings, system=(*settings.system, prompt)) if definitions else settings
    encoded = codec.encode_items(words)
    described_losses = (*encoded.losses, *losses)
    return codec.frame(described, ()), Encoded(encoded.fragments, described_losses), Encoded(())


def _tools_only(toolbox: Toolbox) -> Shown:
    fragments = {tool.name: dumps(mcp_tools.encode_tool(tool)) for tool in toolbox}
    body = b'{"tools":[' + b",".join(fragments.values()) + b"]}"
    return Shown(body, (), 0, 0, {name: tokens(text) for name, text in fragments.items()})
