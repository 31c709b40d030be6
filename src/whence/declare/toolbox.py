"""The tools mounted for one run, with everything compiled that a call needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whence.declare.names import Names
from whence.errors import InvalidArgs
from whence.shapes.json import JSONObject
from whence.shapes.schema import type_list
from whence.shapes.tool import EVERYWHERE, Effect, Tool

if TYPE_CHECKING:
    import jsonschema_rs

WHY_PROPERTY: JSONObject = {
    "type": "string",
    "description": "One sentence: what this call is meant to achieve.",
}
_LIMIT_DEPTH = 64
_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})


class Mounted:
    """A tool in a toolbox: its wire name, the schema a model sees, and its compiled checks."""

    def __init__(self, tool: Tool, wire: str) -> None:
        properties = _mapping(tool.input_schema.get("properties"))
        self.tool = tool
        self.name = tool.name
        self.wire = wire
        self.properties = frozenset(properties)
        self.required = frozenset(_strings(tool.input_schema.get("required")))
        self.why_key = "_why" if "why" in properties else "why"
        self.note_key = None if "note" in properties else "note"
        self.is_open = _is_open(tool.input_schema)
        self.is_flat = not self.is_open and all(_is_scalar(part) for part in properties.values())
        """Whether no argument can be a list or an object."""
        self.is_harmless = (
            tool.effects <= {Effect.READ, Effect.WRITE}
            and tool.sandbox.filesystem == EVERYWHERE
            and not tool.sandbox.read_roots
        )
        """Whether it does no more than read and write files, anywhere in the workspace."""
        self.writes = Effect.WRITE in tool.effects
        self.paths = tuple(tool.paths.items())

    @cached_property
    def wire_schema(self) -> dict[str, Any]:
        """The input schema with the reason as its first property."""
        schema = dict(self.tool.input_schema)
        properties = _mapping(schema.get("properties"))
        required = [name for name in _strings(schema.get("required")) if name != self.why_key]
        return {
            **schema,
            "type": "object",
            "properties": {self.why_key: WHY_PROPERTY, **properties},
            "required": [self.why_key, *required],
        }

    @cached_property
    def validator(self) -> jsonschema_rs.Draft202012Validator:
        """Compiled on the first call; patterns are linear-time and nothing is fetched."""
        import jsonschema_rs

        try:
            return jsonschema_rs.Draft202012Validator(
                dict(self.tool.input_schema),
                pattern_options=jsonschema_rs.RegexOptions(),
                offline=True,
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise InvalidArgs(
                f"the input schema of {self.name!r} cannot be used: {_first_line(error)}",
                "Correct the schema: JSON Schema 2020-12, without references to other documents.",
                recoverable=False,
            ) from None


class Toolbox:
    """A closed set of tools, found by canonical name, wire name or alias."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        listed = list(tools)
        for tool in listed:
            _check_schema_shape(tool)
        self.names = Names.of((tool.name, tool.aliases) for tool in listed)
        self._mounted = {tool.name: Mounted(tool, self.names.wire(tool.name)) for tool in listed}

    def find(self, name: str) -> Mounted | None:
        """The tool of that canonical name, wire name or alias."""
        mounted = self._mounted.get(name)
        if mounted is not None:
            return mounted
        canonical = self.names.canonical(name)
        return self._mounted[canonical] if canonical is not None else None

    def __iter__(self) -> Iterator[Mounted]:
        return iter(self._mounted.values())

    def __len__(self) -> int:
        return len(self._mounted)


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _is_scalar(schema: object) -> bool:
    if not isinstance(schema, dict):
        return False
    kinds = type_list(schema)
    return bool(kinds) and _SCALARS.issuperset(kinds)


def _is_open(schema: JSONObject) -> bool:
    """Whether the schema itself says that it takes arguments that it does not name."""
    extra = schema.get("additionalProperties")
    combined = any(
        key in schema for key in ("patternProperties", "$ref", "anyOf", "oneOf", "allOf")
    )
    return combined or (extra is not None and extra is not False)


def _check_schema_shape(tool: Tool) -> None:
    given: object = tool
    if not isinstance(given, Tool):
        raise InvalidArgs(f"{given!r} is no tool", "Make one of a function with @whence.tool().")
    if (
        not isinstance(tool.input_schema, dict)
        or tool.input_schema.get("type", "object") != "object"
    ):
        raise InvalidArgs(
            f"the input schema of {tool.name!r} does not describe an object",
            'Start it with {"type": "object", "properties": {…}}.',
        )
    if _depth(tool.input_schema) > _LIMIT_DEPTH:
        raise InvalidArgs(
            f"the input schema of {tool.name!r} is nested more than {_LIMIT_DEPTH} levels deep",
            "Flatten it: no model fills such arguments reliably.",
        )


def _depth(value: object) -> int:
    level, layer = 0, [value]
    while layer and level <= _LIMIT_DEPTH:
        level += 1
        layer = [child for item in layer for child in _children(item)]
    return level


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return [item for item in value.values() if isinstance(item, dict | list)]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict | list)]
    return []


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
