"""Arguments as text between tags: typed by the tool's schema, written so that they read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whence.errors import ParseError
from whence.provider.wire import dumps, loads
from whence.shapes.json import JSONObject, JSONValue
from whence.shapes.schema import followed, schema_list, type_list

CDATA = "<![CDATA["
CDATA_END = "]]>"
_SPLIT = "]]]]><![CDATA[>"
_ALL = frozenset({"string", "number", "integer", "boolean", "null", "array", "object"})
_MAX_DEPTH = 16


def kinds_of(schema: object, root: JSONObject, depth: int = 0) -> frozenset[str]:
    """The JSON types that a schema allows, as far as it says."""
    rule = followed(schema, root)
    if depth > _MAX_DEPTH or not rule:
        return _ALL
    named = type_list(rule)
    if named:
        return frozenset(named)
    values = [rule["const"]] if "const" in rule else schema_list(rule.get("enum"))
    if values:
        return frozenset(_kind(value) for value in values)
    choices = schema_list(rule.get("anyOf")) or schema_list(rule.get("oneOf"))
    if choices:
        return frozenset().union(*(kinds_of(choice, root, depth + 1) for choice in choices))
    return _ALL


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def read_value(written: str, schema: object, root: JSONObject) -> JSONValue:
    """The value that stands between two tags.

    A text is taken as it is, less the line breaks that set it off from its tags. What is not the
    value that the schema asks for stays a text: the gate will say so.
    """
    kinds = kinds_of(schema, root)
    inner = _unwrapped(written)
    if inner is not None and "string" in kinds:
        return inner
    text = _unframed(written) if inner is None else inner
    if kinds == {"string"}:
        return text
    value = _as_json(text)
    fits = not isinstance(value, str) and _fits(_kind(value), kinds)
    return value if fits else text


def _fits(kind: str, kinds: frozenset[str]) -> bool:
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _as_json(text: str) -> Any:
    word = text.strip()
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    try:
        return loads(word)
    except ParseError:
        return text


def _unframed(text: str) -> str:
    for newline in ("\r\n", "\n"):
        if text.startswith(newline):
            inner = text[len(newline) :]
            for end in ("\r\n", "\n"):
                if inner.endswith(end):
                    return inner[: -len(end)]
            return inner
    return text


def _unwrapped(text: str) -> str | None:
    bare = text.strip()
    if not (bare.startswith(CDATA) and bare.endswith(CDATA_END)):
        return None
    return bare[len(CDATA) : -len(CDATA_END)].replace(_SPLIT, CDATA_END)


def write_value(value: JSONValue, schema: object, root: JSONObject, tags: tuple[str, ...]) -> str:
    """The value as it stands between tags, such that it can be read back.

    `tags` are those that must not stand in it by themselves.
    """
    if not isinstance(value, str):
        return dumps(value).decode().replace("<", "\\u003c")
    plain = f"\n{value}\n" if "\n" in value or value.startswith("\r") else value
    risky = any(tag in value for tag in tags) or value.lstrip().startswith(CDATA)
    if not risky and read_value(plain, schema, root) == value:
        return plain
    return f"{CDATA}{value.replace(CDATA_END, _SPLIT)}{CDATA_END}"
