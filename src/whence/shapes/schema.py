"""What a JSON Schema says, read without compiling it; nothing here changes what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whence.shapes.json import JSONObject

_MAX_STEPS = 100


def schema_list(value: object) -> list[Any]:
    """The value as a list; an empty one where it is none."""
    return list(value) if isinstance(value, list | tuple) else []


def type_list(schema: Mapping[str, Any]) -> list[str]:
    """The types that a schema names."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    return [one for one in schema_list(kind) if isinstance(one, str)]


def resolve(ref: str, root: JSONObject) -> object:
    """What a reference inside the same document names; None where it names nothing."""
    if not ref.startswith("#"):
        return None
    found: object = root
    for step in ref[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found


def followed(schema: object, root: JSONObject) -> Mapping[str, Any]:
    """The schema with a chain of references followed to its end."""
    for _ in range(_MAX_STEPS):
        if not isinstance(schema, Mapping):
            return {}
        if not isinstance(schema.get("$ref"), str):
            return schema
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        target = resolve(schema["$ref"], root)
        schema = {**target, **rest} if isinstance(target, Mapping) else rest
    return {}


def without_nulls(arguments: Mapping[str, Any], schema: JSONObject) -> dict[str, Any]:
    """The arguments without nulls that mean "left out", at every depth.

    Many models write null for what they do not use, and strict providers make all of them do so.
    Where the schema takes null itself, or demands the property, the null stays.
    """
    return _without_nulls(arguments, followed(schema, schema), schema)


def _without_nulls(
    arguments: Mapping[str, Any], schema: Mapping[str, Any], root: JSONObject
) -> dict[str, Any]:
    known = schema.get("properties")
    properties = known if isinstance(known, Mapping) else {}
    demanded = schema_list(schema.get("required"))
    kept = {}
    for name, value in arguments.items():
        inner = followed(properties[name], root) if name in properties else None
        if value is None and inner is not None and name not in demanded and not _takes_null(inner):
            continue
        kept[name] = value if inner is None else _inside(value, inner, root)
    return kept


def _inside(value: Any, schema: Mapping[str, Any], root: JSONObject) -> Any:
    if isinstance(value, Mapping):
        return _without_nulls(value, schema, root)
    if isinstance(value, list) and "items" in schema:
        items = followed(schema["items"], root)
        return [_inside(item, items, root) for item in value]
    return value


def _takes_null(schema: Mapping[str, Any]) -> bool:
    if "type" in schema:
        return "null" in type_list(schema)
    if "enum" in schema:
        return None in schema_list(schema["enum"])
    if "const" in schema:
        return schema["const"] is None
    choices = schema_list(schema.get("anyOf") or schema.get("oneOf"))
    nullable = (not isinstance(choice, Mapping) or _takes_null(choice) for choice in choices)
    return any(nullable) if choices else True
