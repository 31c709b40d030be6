"""Tools, calls and results in the words of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whence.declare.toolbox import Mounted
from whence.errors import ParseError
from whence.provider.arguments import call_with
from whence.provider.exchange import Loss, ToolChoice, ToolDefinition
from whence.provider.losses import Ledger, Note, foreign_notes
from whence.provider.mcp_parts import PROTOCOL, decode_parts, encode_parts, native_of, own_fields
from whence.provider.wire import dumps, mapping, objects, string, without
from whence.shapes.item import ToolCall, ToolOutcome
from whence.shapes.tool import Effect, Tool

__all__ = [
    "PROTOCOL",
    "decode_call",
    "decode_result",
    "decode_tool_choice",
    "decode_tools",
    "encode_call",
    "encode_result",
    "encode_tool",
    "encode_tool_choice",
    "hints",
]

_TOOL_FIELDS = ("name", "description", "inputSchema", "outputSchema")


def encode_tool(tool: Mounted | ToolDefinition, *, require_why: bool = False) -> dict[str, Any]:
    """A tool as a server offers it; its reason is among the arguments, and demanded on request."""
    if isinstance(tool, ToolDefinition):
        return _written(tool)
    schema = tool.wire_schema
    if not require_why:
        demanded = [name for name in schema["required"] if name != tool.why_key]
        schema = {**schema, "required": demanded}
    written = _written(ToolDefinition.of(tool))
    return {**written, "inputSchema": schema, "annotations": hints(tool.tool)}


def _written(definition: ToolDefinition) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": definition.name}
    if definition.description:
        tool["description"] = definition.description
    tool["inputSchema"] = definition.schema
    if definition.output_schema is not None:
        tool["outputSchema"] = definition.output_schema
    return {**tool, **own_fields(definition.native)}


def hints(tool: Tool) -> dict[str, bool]:
    """What a tool may do, as far as the protocol has words for it."""
    changes = bool(tool.effects & {Effect.WRITE, Effect.EXECUTE})
    return {
        "readOnlyHint": not changes,
        "destructiveHint": changes,
        "openWorldHint": Effect.NETWORK in tool.effects,
    }


def decode_tools(tools: Sequence[Any]) -> tuple[ToolDefinition, ...]:
    """The tools that a server lists."""
    return tuple(
        ToolDefinition(
            string(tool.get("name")),
            string(tool.get("description")),
            mapping(tool.get("inputSchema")) or {"type": "object"},
            output_schema=mapping(tool.get("outputSchema")) or None,
            native=native_of(without(tool, *_TOOL_FIELDS)),
        )
        for tool in objects(tools)
    )


def encode_tool_choice(choice: ToolChoice) -> tuple[dict[str, str], tuple[Loss, ...]]:
    """The mode of a sampling request, and what it cannot say."""
    notes = []
    if choice.mode == "tool":
        note = Note(f"tool {choice.name!r}", "changed", "MCP can only demand some tool")
        notes.append(note)
    if choice.parallel is not None:
        notes.append(Note("parallel calls", "dropped", "MCP has no word for it"))
    ledger = Ledger()
    ledger.add("tool_choice", notes)
    return {"mode": "required" if choice.mode == "tool" else choice.mode}, ledger.book()


def decode_tool_choice(choice: object) -> ToolChoice:
    """The choice of a sampling request."""
    mode = mapping(choice).get("mode")
    return ToolChoice(mode) if mode in ("none", "required") else ToolChoice()


def encode_call(call: ToolCall) -> dict[str, Any]:
    """The parameters of `tools/call`; the id travels with the request around them.

    Raises:
        ParseError: The call has a problem; such a call is never made.
    """
    if call.arguments is None:
        raise ParseError(
            f"the call of {call.name!r} cannot be made: {call.problem}",
            "Send the problem back to the model as the outcome of the call.",
        )
    return {"name": call.name, "arguments": dict(call.arguments), **own_fields(call.native)}


def decode_call(params: Mapping[str, Any], call_id: str) -> ToolCall:
    """The call that a client makes; `args` is taken for `arguments`, as older clients write it."""
    given = params.get("arguments", params.get("args"))
    rest = without(params, "name", "arguments", "args")
    name = string(params.get("name"))
    if given is None or isinstance(given, dict):
        call = call_with(call_id, name, given or {})
        return ToolCall(call.id, name, call.text, call.arguments, native=native_of(rest))
    text = given if isinstance(given, str) else dumps(given).decode()
    problem = f"the arguments are {text[:40]!r}, not a JSON object, at character 0"
    return ToolCall(call_id, name, text, None, problem, native=native_of(rest))


def encode_result(outcome: ToolOutcome) -> tuple[dict[str, Any], tuple[Loss, ...]]:
    """The result of `tools/call`, and what it cannot say.

    A structured value is repeated as text where no part says it, for clients that read only that.
    """
    notes = foreign_notes(outcome, PROTOCOL)
    content = encode_parts(outcome.parts, notes)
    result: dict[str, Any] = {"content": content, "isError": outcome.is_error}
    if outcome.structured is not None:
        if not content:
            result["content"] = [{"type": "text", "text": dumps(outcome.structured).decode()}]
        result["structuredContent"] = _as_object(outcome.structured, notes)
    ledger = Ledger()
    ledger.add(0, notes)
    return {**result, **own_fields(outcome.native)}, ledger.book()


def _as_object(value: object, notes: list[Note]) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    notes.append(Note("structured content", "changed", "MCP takes an object; it is its `result`"))
    return {"result": value}


def decode_result(result: Mapping[str, Any], call_id: str, name: str | None = None) -> ToolOutcome:
    """What came of a call."""
    structured = result.get("structuredContent")
    return ToolOutcome(
        call_id,
        decode_parts(result.get("content")),
        result.get("isError") is True,
        structured,
        name,
        native=native_of(without(result, "content", "isError", "structuredContent")),
    )
