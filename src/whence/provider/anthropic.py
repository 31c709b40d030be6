"""The Anthropic Messages API.

Items to fragments: `encode_items`; around them: `frame`; back: `decode_response`,
`AnthropicAssembler`, `decode_messages`, `decode_system`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whence.declare.toolbox import Mounted
from whence.provider.anthropic_decode import decode_messages, decode_response, decode_system
from whence.provider.anthropic_encode import encode_items, encode_system
from whence.provider.anthropic_parts import PROTOCOL
from whence.provider.anthropic_stream import AnthropicAssembler
from whence.provider.exchange import Encoded, Frame, Settings, ToolChoice, ToolDefinition
from whence.provider.losses import Ledger
from whence.provider.parts import native_of, own_fields
from whence.provider.profiles import ANTHROPIC, Adapted, Profile
from whence.provider.tools import encode_definitions, framed, strictness
from whence.provider.wire import mapping, objects, string, without
from whence.shapes.item import Native

__all__ = [
    "PROTOCOL",
    "AnthropicAssembler",
    "decode_messages",
    "decode_response",
    "decode_system",
    "decode_tool_choice",
    "decode_tools",
    "encode_items",
    "encode_system",
    "encode_tool_choice",
    "encode_tools",
    "frame",
]

_DEFAULT_MAX_TOKENS = 32_000
"""A limit has to be named; this is the most that every present model takes."""
_TOOL_FIELDS = ("type", "name", "description", "input_schema", "strict")
_TO_WIRE = {"auto": "auto", "none": "none", "required": "any", "tool": "tool"}


def encode_tools(
    tools: Iterable[Mounted | ToolDefinition], profile: Profile = ANTHROPIC
) -> Encoded:
    """The tools, one fragment each.

    Raises:
        InvalidArgs: A name that the provider refuses.
    """
    return encode_definitions(tools, profile, PROTOCOL, _write_tool)


def _write_tool(definition: ToolDefinition, adapted: Adapted) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": definition.name}
    if definition.description:
        tool["description"] = definition.description
    tool["input_schema"] = adapted.schema
    strict = strictness(definition, adapted)
    return tool if strict is None else {**tool, "strict": strict}


def decode_tools(tools: Sequence[Any]) -> tuple[ToolDefinition, ...]:
    """The tools of a request that we run; those that the provider runs itself are none of ours."""
    return tuple(
        ToolDefinition(
            string(tool.get("name")),
            string(tool.get("description")),
            mapping(tool.get("input_schema")),
            tool.get("strict"),
            native=native_of(PROTOCOL, without(tool, *_TOOL_FIELDS)),
        )
        for tool in objects(tools)
        if tool.get("type", "custom") == "custom"
    )


def encode_tool_choice(choice: ToolChoice) -> dict[str, Any]:
    """The fields of a request that say whether the model must call a tool."""
    if own := own_fields(PROTOCOL, choice.native):
        return own
    value: dict[str, Any] = {"type": _TO_WIRE[choice.mode]}
    if choice.mode == "tool":
        value["name"] = choice.name
    if choice.parallel is not None and choice.mode != "none":
        value["disable_parallel_tool_use"] = not choice.parallel
    return {"tool_choice": value}


def decode_tool_choice(request: dict[str, Any]) -> ToolChoice:
    """What a request says about calls."""
    choice = mapping(request.get("tool_choice"))
    disabled = choice.get("disable_parallel_tool_use")
    parallel = not disabled if isinstance(disabled, bool) else None
    match choice.get("type"):
        case None | "auto":
            return ToolChoice("auto", parallel=parallel)
        case "any":
            return ToolChoice("required", parallel=parallel)
        case "none":
            return ToolChoice("none", parallel=parallel)
        case "tool":
            return ToolChoice("tool", string(choice.get("name")), parallel)
        case _:
            native = Native(PROTOCOL, {"tool_choice": choice})
            return ToolChoice("auto", parallel=parallel, native=native)


def frame(settings: Settings, tools: Sequence[bytes] = ()) -> Frame:
    """What stands around the messages of a request; `extra` carries `thinking` and the like."""
    blocks, notes = encode_system(settings.system)
    ledger = Ledger()
    ledger.add("system", notes)
    body: dict[str, Any] = {
        "max_tokens": settings.max_output_tokens or _DEFAULT_MAX_TOKENS,
        "stream": settings.stream,
    }
    if blocks:
        body["system"] = blocks
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.reasoning_effort is not None:
        body["output_config"] = {"effort": settings.reasoning_effort}
    if tools:
        body |= encode_tool_choice(settings.tool_choice)
    return framed(settings, "messages", body, tools, Encoded((), ledger.book()))
