"""OpenAI Chat Completions and the many servers that speak it.

Items to fragments: `encode_items`; around them: `frame`; back: `decode_response`, `ChatAssembler`,
`decode_messages`. Servers differ by their `Dialect`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whence.declare.toolbox import Mounted
from whence.provider.chat_decode import decode_messages, decode_response
from whence.provider.chat_dialect import OPENAI_CHAT, PROTOCOL, Dialect, dialect_of
from whence.provider.chat_encode import encode_items
from whence.provider.chat_stream import ChatAssembler
from whence.provider.exchange import Encoded, Frame, Settings, ToolChoice, ToolDefinition
from whence.provider.parts import native_of, own_fields
from whence.provider.profiles import Adapted
from whence.provider.tools import encode_definitions, framed, strictness
from whence.provider.wire import mapping, objects, string, without
from whence.shapes.item import Message, Native, Text

__all__ = [
    "PROTOCOL",
    "ChatAssembler",
    "Dialect",
    "decode_messages",
    "decode_response",
    "decode_tool_choice",
    "decode_tools",
    "dialect_of",
    "encode_items",
    "encode_tool_choice",
    "encode_tools",
    "frame",
]


def encode_tools(
    tools: Iterable[Mounted | ToolDefinition], dialect: Dialect = OPENAI_CHAT
) -> Encoded:
    """The tools, one fragment each.

    Raises:
        InvalidArgs: A name that the server refuses, or more tools than it takes.
    """
    return encode_definitions(tools, dialect.profile, PROTOCOL, _write_tool)


def _write_tool(definition: ToolDefinition, adapted: Adapted) -> dict[str, Any]:
    function: dict[str, Any] = {"name": definition.name}
    if definition.description:
        function["description"] = definition.description
    function["parameters"] = adapted.schema
    strict = strictness(definition, adapted)
    if strict is not None:
        function["strict"] = strict
    return {"type": "function", "function": function}


def decode_tools(tools: Sequence[Any]) -> tuple[ToolDefinition, ...]:
    """The function tools of a request; tools that the provider runs itself are none of ours."""
    definitions = []
    for tool in objects(tools):
        function = mapping(tool.get("function"))
        if tool.get("type", "function") != "function" or not function:
            continue
        rest = without(tool, "type", "function")
        definitions.append(
            ToolDefinition(
                string(function.get("name")),
                string(function.get("description")),
                mapping(function.get("parameters")),
                function.get("strict"),
                native=native_of(PROTOCOL, rest),
            )
        )
    return tuple(definitions)


def encode_tool_choice(choice: ToolChoice) -> dict[str, Any]:
    """The fields of a request that say whether the model must call a tool."""
    fields = own_fields(PROTOCOL, choice.native) or {"tool_choice": choice.mode}
    if choice.mode == "tool":
        fields["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    if choice.parallel is not None:
        fields["parallel_tool_calls"] = choice.parallel
    return fields


def decode_tool_choice(request: dict[str, Any]) -> ToolChoice:
    """What a request says about calls."""
    choice, parallel = request.get("tool_choice"), request.get("parallel_tool_calls")
    flag = parallel if isinstance(parallel, bool) else None
    named = mapping(mapping(choice).get("function")).get("name")
    if isinstance(named, str):
        return ToolChoice("tool", named, flag)
    if choice in ("none", "required"):
        return ToolChoice(choice, parallel=flag)
    native = None if choice in (None, "auto") else Native(PROTOCOL, {"tool_choice": choice})
    return ToolChoice("required" if choice == "any" else "auto", parallel=flag, native=native)


def frame(settings: Settings, tools: Sequence[bytes] = (), dialect: Dialect = OPENAI_CHAT) -> Frame:
    """What stands around the messages of a request."""
    system = encode_items(_instructions(settings.system, dialect), dialect)
    body: dict[str, Any] = {"stream": settings.stream}
    if settings.stream and dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if settings.max_output_tokens is not None:
        body[dialect.max_tokens_field] = settings.max_output_tokens
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.reasoning_effort is not None:
        body["reasoning_effort"] = settings.reasoning_effort
    if tools:
        body |= encode_tool_choice(settings.tool_choice)
    return framed(settings, "messages", body, tools, system)


def _instructions(system: tuple[Message, ...], dialect: Dialect) -> tuple[Message, ...]:
    if len(system) < 2 or not dialect.one_system:
        return system
    apart = [Text("\n\n")]
    parts = [part for message in system for part in (*apart, *message.parts)][1:]
    if all(isinstance(part, Text) for part in parts):
        parts = [Text("".join(part.text for part in parts if isinstance(part, Text)))]
    return (Message("system", tuple(parts)),)
