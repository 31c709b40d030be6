"""The OpenAI Responses API, used without state: the whole conversation goes with each request.

Items to fragments: `encode_items`; around them: `frame`; back: `decode_response`,
`ResponsesAssembler`, `decode_input`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whence.declare.toolbox import Mounted
from whence.provider.exchange import Encoded, Frame, Settings, ToolChoice, ToolDefinition
from whence.provider.parts import native_of, own_fields
from whence.provider.profiles import OPENAI, Adapted, Profile
from whence.provider.responses_decode import decode_input, decode_response
from whence.provider.responses_encode import encode_items
from whence.provider.responses_parts import PROTOCOL
from whence.provider.responses_stream import ResponsesAssembler
from whence.provider.tools import encode_definitions, framed, strictness
from whence.provider.wire import mapping, objects, string, without
from whence.shapes.item import Native

__all__ = [
    "PROTOCOL",
    "ResponsesAssembler",
    "decode_input",
    "decode_response",
    "decode_tool_choice",
    "decode_tools",
    "encode_items",
    "encode_tool_choice",
    "encode_tools",
    "frame",
]

_TOOL_FIELDS = ("type", "name", "description", "parameters", "strict")


def encode_tools(tools: Iterable[Mounted | ToolDefinition], profile: Profile = OPENAI) -> Encoded:
    """The tools, one fragment each.

    Raises:
        InvalidArgs: A name that the provider refuses, or more tools than it takes.
    """
    return encode_definitions(tools, profile, PROTOCOL, _write_tool)


def _write_tool(definition: ToolDefinition, adapted: Adapted) -> dict[str, Any]:
    tool: dict[str, Any] = {"type": "function", "name": definition.name}
    if definition.description:
        tool["description"] = definition.description
    if definition.grammar is not None:
        form = {"type": "grammar", "syntax": "lark", "definition": definition.grammar}
        return {**tool, "type": "custom", "format": form}
    # Without a word about it this API would hold the model to a schema that is not made for it.
    strict = bool(strictness(definition, adapted))
    return {**tool, "parameters": adapted.schema, "strict": strict}


def decode_tools(tools: Sequence[Any]) -> tuple[ToolDefinition, ...]:
    """The function tools of a request; tools that the provider runs itself are none of ours."""
    return tuple(
        ToolDefinition(
            string(tool.get("name")),
            string(tool.get("description")),
            mapping(tool.get("parameters")),
            tool.get("strict"),
            native=native_of(PROTOCOL, without(tool, *_TOOL_FIELDS)),
        )
        for tool in objects(tools)
        if tool.get("type") == "function"
    )


def encode_tool_choice(choice: ToolChoice) -> dict[str, Any]:
    """The fields of a request that say whether the model must call a tool."""
    fields = own_fields(PROTOCOL, choice.native) or {"tool_choice": choice.mode}
    if choice.mode == "tool":
        fields["tool_choice"] = {"type": "function", "name": choice.name}
    if choice.parallel is not None:
        fields["parallel_tool_calls"] = choice.parallel
    return fields


def decode_tool_choice(request: dict[str, Any]) -> ToolChoice:
    """What a request says about calls."""
    choice, parallel = request.get("tool_choice"), request.get("parallel_tool_calls")
    flag = parallel if isinstance(parallel, bool) else None
    if choice in ("none", "required"):
        return ToolChoice(choice, parallel=flag)
    named = mapping(choice)
    if named.get("type") == "function" and isinstance(named.get("name"), str):
        return ToolChoice("tool", named["name"], flag)
    native = None if choice in (None, "auto") else Native(PROTOCOL, {"tool_choice": choice})
    return ToolChoice("auto", parallel=flag, native=native)


def frame(settings: Settings, tools: Sequence[bytes] = ()) -> Frame:
    """What stands around the input of a request.

    Nothing is stored at the provider, so its thoughts are asked for in their encrypted form.
    """
    body: dict[str, Any] = {
        "stream": settings.stream,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if settings.max_output_tokens is not None:
        body["max_output_tokens"] = settings.max_output_tokens
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.reasoning_effort is not None:
        body["reasoning"] = {"effort": settings.reasoning_effort, "summary": "auto"}
    if tools:
        body |= encode_tool_choice(settings.tool_choice)
    return framed(settings, "input", body, tools, encode_items(settings.system))
