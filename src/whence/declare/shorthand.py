"""Schema shorthand, as the protocol's documents write it, to JSON Schema 2020-12.

    union   = postfix {"|" postfix}             int | string, "file" | "directory", bullet | table
    postfix = primary {"[]" | "?"}              string[], int?, (int | string)[]
    primary = word | value | "(" union ")" | "{" [key ":" union {"," key ":" union}] "}"

Shorthand stands wherever JSON Schema expects a schema, and after `type:`. What it means:

- `T?` is T or null; a property so marked may also be left out, whatever `required` says.
- `{a: T, b: U?}`, and a mapping without a single schema keyword, is an object: every property
  that has no `?` is required. Under `properties:` only the written `required` counts.
- Bare alternatives are values where none of them is a type; beside types, values are quoted.
- Position decides, not name: below `properties:` the key `type` is a property like any other.

JSON Schema passes through unchanged, so that compiling twice is compiling once. Values (`default`,
`enum`, `const`, `examples`, unknown keywords) are never looked into.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from whence.declare.type_text import (
    MAX_DEPTH,
    TYPE_WORDS,
    Path,
    Schema,
    object_of,
    parse_type,
    problem,
    shortened,
    shown,
    too_deep,
    unknown_word,
)
from whence.errors import InvalidArgs

if TYPE_CHECKING:
    import jsonschema_rs

MAX_NODES = 20_000
"""How many values a schema may hold."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Below these a schema tests what is described elsewhere: a type added there would change it.
_TESTS = _words("allOf anyOf oneOf not if then else dependentSchemas")
_HOLDS_LIST = _words("allOf anyOf oneOf prefixItems")
_HOLDS_NAMED = _words("properties patternProperties $defs definitions dependentSchemas")
_HOLDS_SCHEMA = _words(
    """items additionalProperties unevaluatedProperties unevaluatedItems contains propertyNames
    contentSchema not if then else"""
)
_HOLDS_VALUE = _words(
    """type enum const default examples example title description deprecated readOnly writeOnly
    required dependentRequired dependencies minProperties maxProperties minItems maxItems
    uniqueItems minContains maxContains minLength maxLength pattern format contentEncoding
    contentMediaType minimum maximum exclusiveMinimum exclusiveMaximum multipleOf nullable
    discriminator xml externalDocs"""
)
_KEYWORDS = _HOLDS_SCHEMA | _HOLDS_LIST | _HOLDS_NAMED | _HOLDS_VALUE


def compile_schema(value: object) -> Schema:
    """The JSON Schema 2020-12 that a piece of shorthand, or JSON Schema itself, stands for.

    The argument is not changed, and the answer shares nothing with it.

    Raises:
        InvalidArgs: it is no schema; `details["at"]` holds the keys that lead to the problem.
    """
    _check_bounds(value)
    compiled, _ = _compile(_copy(value), (), typed=True)
    schema = _as_mapping(compiled)
    _check_bounds(schema)
    _check_against_metaschema(schema)
    return schema


def _as_mapping(compiled: Schema | bool) -> Schema:
    if isinstance(compiled, bool):
        return {} if compiled else {"not": {}}
    return compiled


def is_type_word(value: object) -> bool:
    """Whether a value is one bare word that names a type."""
    return isinstance(value, str) and value in TYPE_WORDS


def _compile(value: object, at: Path, *, typed: bool) -> tuple[Any, bool]:
    """A schema, and whether it carries the mark of an optional one.

    `typed` says whether bare `properties` may be given the type that they imply.
    """
    if isinstance(value, bool):
        return value, False
    if isinstance(value, str):
        return parse_type(value, at)
    if isinstance(value, dict):
        return _compile_mapping(value, at, typed=typed)
    if isinstance(value, list):
        hint = "For a choice write enum: […], for a tuple prefixItems: […]."
    else:
        hint = f"Write one of {', '.join(TYPE_WORDS)}; the type of JSON's null is written 'null'."
    found = (
        "nothing stands where a schema belongs" if value is None else f"{shown(value)} is no schema"
    )
    raise problem(found, hint, at)


def _compile_mapping(value: Schema, at: Path, *, typed: bool) -> tuple[Schema, bool]:
    if _is_inline_object(value, at):
        return object_of(*_compile_named(value, at, typed=True)), False
    schema: Schema = {}
    optional, left_out = False, list[str]()
    for key, part in value.items():
        below, keep = (*at, key), typed and key not in _TESTS
        if key == "type":
            compiled, optional = _compile_type(part, below)
            _merge_type(schema, compiled, value, below)
        elif key in _HOLDS_SCHEMA:
            schema[key], _ = _compile(part, below, typed=keep)
        elif key in _HOLDS_LIST:
            schema[key] = _compile_list(part, below, typed=keep)
        elif key in _HOLDS_NAMED:
            schema[key], marked = _compile_named(part, below, typed=keep)
            left_out = marked if key == "properties" else left_out
        else:
            schema[key] = part
    if typed and "properties" in schema and not schema.keys() & {"type", "$ref", "$dynamicRef"}:
        schema = {"type": "object", **schema}
    return _without_required(schema, left_out), optional


def _compile_list(value: object, at: Path, *, typed: bool) -> list[Any]:
    if not isinstance(value, list):
        raise problem(f"{shown(value)} is not a list of schemas", "Write a list: [ … ].", at)
    return [_compile(part, (*at, index), typed=typed)[0] for index, part in enumerate(value)]


def _compile_named(value: object, at: Path, *, typed: bool) -> tuple[Schema, list[str]]:
    """Schemas by name, and the names of those that carry the mark of an optional one."""
    if not isinstance(value, dict):
        raise problem(f"{shown(value)} is not a mapping", "Write one `name: type` per line.", at)
    pairs = {name: _compile(part, (*at, name), typed=typed) for name, part in value.items()}
    schemas = {name: schema for name, (schema, _) in pairs.items()}
    return schemas, [name for name, (_, optional) in pairs.items() if optional]


def _without_required(schema: Schema, names: list[str]) -> Schema:
    required = schema.get("required")
    if not isinstance(required, list) or not any(name in names for name in required):
        return schema
    kept = [name for name in required if name not in names]
    rest = {key: part for key, part in schema.items() if key != "required"}
    return {**rest, "required": kept} if kept else rest


def _compile_type(value: object, at: Path) -> tuple[Schema, bool]:
    """What stands after `type:`, which JSON Schema allows to be a word or a list of words."""
    if isinstance(value, str):
        return parse_type(value, at)
    if isinstance(value, list):
        words = ["null" if word is None else word for word in value]
        types = [_plain_type(word, (*at, index)) for index, word in enumerate(words)]
        return {"type": list(dict.fromkeys(types))}, False
    raise problem(
        f"{shown(value)} is not a type",
        "Write a type word; a property that is called 'type' belongs below `properties:`.",
        at,
    )


def _plain_type(word: object, at: Path) -> str:
    if not isinstance(word, str) or "type" not in TYPE_WORDS.get(word, {}):
        raise unknown_word(str(word), at)
    return str(TYPE_WORDS[word]["type"])


def _merge_type(schema: Schema, compiled: Schema, siblings: Schema, at: Path) -> None:
    for key, part in compiled.items():
        if key != "type" and key in siblings:
            raise problem(
                f"{shown(siblings['type'])} already says what {key!r} is",
                f"Drop {key!r}, or write a plain type word after `type:`.",
                at,
            )
        schema[key] = part


def _is_inline_object(value: Schema, at: Path) -> bool:
    """Whether a mapping lists properties, which only unknown keywords can tell."""
    unknown = [key for key in value if not _is_keyword(key)]
    if len(unknown) == len(value):
        return bool(unknown)
    # `any` leaves no keyword behind that would tell the schema from a list of properties.
    any_type = str(value.get("type")).strip(" ?()") == "any"
    stray = [key for key in unknown if any_type or _looks_like_type(value[key])]
    if stray and "type" not in value and all(_looks_like_type(part) for part in value.values()):
        return True
    if stray:
        raise problem(
            f"{stray[0]!r} is no keyword of JSON Schema, and {shown(value[stray[0]])} is its value",
            "Put properties below `properties:`; start a keyword of your own with 'x-'.",
            (*at, stray[0]),
        )
    return False


def _is_keyword(key: str) -> bool:
    return key in _KEYWORDS or key.startswith(("$", "x-"))


def _looks_like_type(value: object) -> bool:
    if isinstance(value, dict):
        return bool(value.keys() & {"type", "properties"})
    try:
        return isinstance(value, str) and bool(parse_type(value, ()))
    except InvalidArgs:
        return False


def _copy(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _copy(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(part) for part in value]
    return value


def _check_bounds(value: object) -> None:
    """Refuse what is not JSON, too deep or too large, without recursion of our own."""
    pending: list[tuple[object, Path]] = [(value, ())]
    for _ in range(MAX_NODES + 1):
        if not pending:
            return
        item, at = pending.pop()
        if isinstance(item, Mapping | list | tuple) and len(at) >= MAX_DEPTH:
            raise too_deep(at)
        pending.extend((part, (*at, key)) for key, part in _children(item, at))
    raise problem(
        f"the schema holds more than {MAX_NODES:,} values", "Describe less, or split the tool.", ()
    )


def _children(item: object, at: Path) -> Iterable[tuple[str | int, object]]:
    if isinstance(item, Mapping):
        for key in item:
            if not isinstance(key, str):
                raise problem(f"the key {key!r} is not text", f"Quote it: '{key}'.", at)
            _check_scalar(key, at)
        return item.items()
    if isinstance(item, list | tuple):
        return enumerate(item)
    _check_scalar(item, at)
    return ()


def _check_scalar(value: object, at: Path) -> None:
    if isinstance(value, str):
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            hint = "Drop the half of a surrogate pair."
            raise problem(f"{shown(value)} cannot be written as UTF-8", hint, at)
    elif isinstance(value, float) and not math.isfinite(value):
        raise problem(f"{value!r} is not a JSON number", "Write a finite number.", at)
    elif isinstance(value, int) and value.bit_length() > 1024:
        raise problem("a number has more than 300 digits", "Write a smaller number.", at)
    elif value is not None and not isinstance(value, bool | int | float):
        kind = type(value).__name__
        hint = "Quote it, so that it is text."
        raise problem(f"{shown(value)} is a {kind}, which JSON does not have", hint, at)


def _is_plain(schema: object) -> bool:
    """Whether it is surely a schema: types, properties and descriptions, and nothing else."""
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    return all(_is_plain_part(key, value) for key, value in schema.items())


def _is_plain_part(key: object, value: Any) -> bool:
    match key:
        case "type":
            return isinstance(value, str) and TYPE_WORDS.get(value) == {"type": value}
        case "description":
            return isinstance(value, str)
        case "properties":
            return isinstance(value, dict) and all(_is_plain(part) for part in value.values())
        case "items" | "additionalProperties":
            return _is_plain(value)
        case "required" if isinstance(value, list):
            return all(isinstance(name, str) for name in value) and len({*value}) == len(value)
    return False


@cache
def _metaschema() -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(
        {"$ref": "https://json-schema.org/draft/2020-12/schema"}, offline=True
    )


def _check_against_metaschema(schema: Schema) -> None:
    if _is_plain(schema):  # most are, and the library takes its time to load
        return
    error = next(iter(_metaschema().iter_errors(schema)), None)
    if error is not None:
        raise problem(
            shortened(error.message),
            "Write there what JSON Schema 2020-12 allows.",
            tuple(error.instance_path),
        )
