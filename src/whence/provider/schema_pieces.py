"""Small operations on JSON Schemas; none of them changes what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whence.provider.losses import Note
from whence.shapes.json import JSONObject
from whence.shapes.schema import followed, schema_list, type_list

_CHOICES = ("anyOf", "oneOf", "allOf")
_NOT_ON_TOP = (*_CHOICES, "enum", "not", "const", "if", "then", "else")
_MAX_DEPTH = 100


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, with null allowed too."""
    kinds = type_list(schema)
    if "null" in kinds:
        return schema
    if kinds and "const" not in schema:
        out = {**schema, "type": [*kinds, "null"]}
        if "enum" in schema:
            out["enum"] = [*schema_list(schema["enum"]), None]
        return out
    if "anyOf" in schema and set(schema) <= {"anyOf", "description", "title"}:
        return {**schema, "anyOf": [*schema_list(schema["anyOf"]), {"type": "null"}]}
    said = {key: schema[key] for key in ("description",) if key in schema}
    inner = {key: value for key, value in schema.items() if key not in said}
    return {"anyOf": [inner, {"type": "null"}], **said}


def merged(schema: Mapping[str, Any], root: JSONObject, depth: int = 0) -> dict[str, Any]:
    """The schema with its `allOf` folded into it."""
    out = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema_list(schema.get("allOf")):
        inner = followed(part, root)
        if "allOf" in inner and depth < _MAX_DEPTH:
            inner = merged(inner, root, depth + 1)
        known = out.get("properties") or {}
        more = inner.get("properties") or {}
        properties = {**known, **{name: more[name] for name in more if name not in known}}
        required = [*schema_list(out.get("required")), *schema_list(inner.get("required"))]
        out = {**inner, **out}
        if properties:
            out["properties"] = properties
        if required:
            out["required"] = list(dict.fromkeys(required))
    out.pop("allOf", None)
    return out


def flat_top(schema: Mapping[str, Any], root: JSONObject) -> tuple[dict[str, Any], list[Note]]:
    """The schema as one plain object.

    Of alternatives it has every property, and demands only what all of them demand.
    """
    if "$ref" in schema:
        reference = {"$ref": schema["$ref"]}
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = merged({**rest, "allOf": [*schema_list(rest.get("allOf")), reference]}, root)
    present = [key for key in _NOT_ON_TOP if key in schema]
    if not present:
        return dict(schema), []
    out = merged(schema, root)
    for key in ("anyOf", "oneOf"):
        variants = [merged(followed(one, root), root) for one in schema_list(out.pop(key, None))]
        out = _with_variants(out, variants)
    for key in _NOT_ON_TOP:
        out.pop(key, None)
    reason = "the alternatives are shown as one object; the gate still tells them apart"
    return out, [Note(f"{', '.join(present)} of the arguments", "changed", reason)]


def _with_variants(out: dict[str, Any], variants: list[dict[str, Any]]) -> dict[str, Any]:
    objects = [one for one in variants if one.get("properties")]
    if not objects:
        return out
    properties = dict(out.get("properties") or {})
    for variant in objects:
        for name, inner in variant["properties"].items():
            properties[name] = _either(properties.get(name), inner)
    common = set.intersection(*(set(schema_list(one.get("required"))) for one in objects))
    demanded = [name for name in schema_list(objects[0].get("required")) if name in common]
    required = list(dict.fromkeys([*schema_list(out.get("required")), *demanded]))
    return {**out, "type": "object", "properties": properties, "required": required}


def _either(known: Any, other: Any) -> Any:
    if known is None or known == other:
        return other
    choices = schema_list(known.get("anyOf")) if set(known) == {"anyOf"} else [known]
    return known if other in choices else {"anyOf": [*choices, other]}
