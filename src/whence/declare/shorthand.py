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

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import jsonschema_rs
from rapidfuzz import process, utils

from whence.errors import InvalidArgs

Schema: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]

MAX_DEPTH = 64
"""How many objects and lists may be nested, in shorthand and in what it becomes."""
MAX_NODES = 20_000
"""How many values a schema may hold."""
MAX_TEXT = 4_000
"""How many characters one piece of shorthand may have."""

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}
_TYPES |= {name: name for name in ("string", "integer", "number", "boolean", "array", "object")}
TYPE_WORDS: Mapping[str, Schema] = {
    **{word: {"type": name} for word, name in _TYPES.items()},
    "null": {"type": "null"},
    "any": {},
}
"""The words that name a type, and their schemas."""


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

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<quoted>"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')
      | (?P<mark>\[\s*\]|[|?{}(),:])
      | (?P<word>[^\s|?{}(),:\[\]"']+)
      | (?P<end>$)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


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
        return _parse(value, at)
    if isinstance(value, dict):
        return _compile_mapping(value, at, typed=typed)
    if isinstance(value, list):
        hint = "For a choice write enum: […], for a tuple prefixItems: […]."
    else:
        hint = f"Write one of {', '.join(TYPE_WORDS)}; the type of JSON's null is written 'null'."
    found = (
        "nothing stands where a schema belongs"
        if value is None
        else f"{_shown(value)} is no schema"
    )
    raise _problem(found, hint, at)


def _compile_mapping(value: Schema, at: Path, *, typed: bool) -> tuple[Schema, bool]:
    if _is_inline_object(value, at):
        return _object_of(*_compile_named(value, at, typed=True)), False
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
        raise _problem(f"{_shown(value)} is not a list of schemas", "Write a list: [ … ].", at)
    return [_compile(part, (*at, index), typed=typed)[0] for index, part in enumerate(value)]


def _compile_named(value: object, at: Path, *, typed: bool) -> tuple[Schema, list[str]]:
    """Schemas by name, and the names of those that carry the mark of an optional one."""
    if not isinstance(value, dict):
        raise _problem(f"{_shown(value)} is not a mapping", "Write one `name: type` per line.", at)
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
        return _parse(value, at)
    if isinstance(value, list):
        words = ["null" if word is None else word for word in value]
        types = [_plain_type(word, (*at, index)) for index, word in enumerate(words)]
        return {"type": list(dict.fromkeys(types))}, False
    raise _problem(
        f"{_shown(value)} is not a type",
        "Write a type word; a property that is called 'type' belongs below `properties:`.",
        at,
    )


def _plain_type(word: object, at: Path) -> str:
    if not isinstance(word, str) or "type" not in TYPE_WORDS.get(word, {}):
        raise _unknown_word(str(word), at)
    return str(TYPE_WORDS[word]["type"])


def _merge_type(schema: Schema, compiled: Schema, siblings: Schema, at: Path) -> None:
    for key, part in compiled.items():
        if key != "type" and key in siblings:
            raise _problem(
                f"{_shown(siblings['type'])} already says what {key!r} is",
                f"Drop {key!r}, or write a plain type word after `type:`.",
                at,
            )
        schema[key] = part


def _is_inline_object(value: Schema, at: Path) -> bool:
    """Whether a mapping lists properties, which only unknown keywords can tell."""
    unknown = [key for key in value if not _is_keyword(key)]
    if len(unknown) == len(value):
        return bool(unknown)
    stray = [key for key in unknown if _looks_like_type(value[key])]
    if stray and "type" not in value and all(_looks_like_type(part) for part in value.values()):
        return True
    if stray:
        raise _problem(
            f"{stray[0]!r} is no keyword of JSON Schema, yet {_shown(value[stray[0]])} is a type",
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
        return isinstance(value, str) and bool(_parse(value, ()))
    except InvalidArgs:
        return False


def _object_of(properties: Schema, optional: list[str]) -> Schema:
    """The object of an inline form: what is not marked is required."""
    required = [name for name in properties if name not in optional]
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


@dataclass(slots=True)
class _Alternative:
    """One part of a union, before the others say how a bare word is meant."""

    schema: Schema | None = None
    values: list[Any] = field(default_factory=list)
    bare: str | None = None
    optional: bool = False


def _parse(text: str, at: Path) -> tuple[Schema, bool]:
    if len(text) > MAX_TEXT:
        raise _problem(
            f"{_shown(text)} has {len(text):,} characters of shorthand, more than {MAX_TEXT:,}",
            "Write it as JSON Schema.",
            at,
        )
    parser = _Parser(text, at)
    schema, optional = parser.union()
    if parser.kind != "end":
        raise parser.unexpected()
    return schema, optional


class _Parser:
    """One pass over the tokens of a piece of shorthand."""

    def __init__(self, text: str, at: Path) -> None:
        self.text = text
        self.at = at
        self.position = 0
        self.depth = 0
        self.kind, self.token = "", ""
        self.advance()

    def advance(self) -> str:
        """Step to the next token; returns the one that was current."""
        previous = self.token
        match = _TOKEN.match(self.text, self.position)
        if match is None or match.lastgroup is None:
            raise self.unexpected()
        self.kind, self.token = match.lastgroup, match[match.lastgroup]
        self.position = match.end()
        return previous

    def accept(self, mark: str) -> bool:
        found = self.kind == "mark" and self.token == mark
        if found:
            self.advance()
        return found

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            raise self.unexpected(f"{mark!r} is missing")

    def union(self) -> tuple[Schema, bool]:
        """A schema, and whether the last mark of its text was `?`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(self.at)
        alternatives = [self.postfix()]
        while self.accept("|"):
            alternatives.append(self.postfix())
        self.depth -= 1
        return _unite(alternatives, self.at), alternatives[-1].optional

    def postfix(self) -> _Alternative:
        part = self.primary()
        while self.kind == "mark" and self.token[0] in "[?":
            if self.advance() == "?":
                part.optional = True
            else:
                part = _Alternative({"type": "array", "items": _unite([part], self.at)})
        return part

    def primary(self) -> _Alternative:
        if self.accept("("):
            schema, optional = self.union()
            self.expect(")")
            return _Alternative(schema, optional=optional)
        if self.accept("{"):
            return _Alternative(self.entries())
        if self.kind == "quoted":
            return _Alternative(values=[self.string()])
        if self.kind == "word":
            return _meaning_of(self.advance())
        raise self.unexpected()

    def entries(self) -> Schema:
        properties: Schema = {}
        optional: list[str] = []
        while not self.accept("}"):
            name = self.string()
            if name in properties:
                raise self.unexpected(f"{name!r} stands twice")
            self.expect(":")
            properties[name], marked = self.union()
            optional += [name] if marked else []
            if not self.accept(","):
                self.expect("}")
                break
        return _object_of(properties, optional)

    def string(self) -> str:
        """A word or what stands between quotes."""
        if self.kind not in ("word", "quoted"):
            raise self.unexpected()
        quoted = self.advance()
        if quoted[0] == "'":
            return quoted[1:-1].replace("''", "'")
        if quoted[0] != '"':
            return quoted
        try:
            return str(json.loads(quoted, strict=False))
        except ValueError:
            raise self.unexpected(f"{quoted} has an escape that JSON does not know") from None

    def unexpected(self, reason: str = "") -> InvalidArgs:
        found = "it ends too early" if self.kind == "end" else f"stopped at {self.token!r}"
        return _problem(
            f"{_shown(self.text)} is not a type: {reason or found}",
            'Write a word, T[], T?, T | U, "a" | "b" or {name: T}.',
            self.at,
        )


def _meaning_of(word: str) -> _Alternative:
    if word == "null":
        return _Alternative(values=[None])
    if word in TYPE_WORDS:
        return _Alternative(dict(TYPE_WORDS[word]))
    if word in ("true", "false"):
        return _Alternative(values=[word == "true"], bare=word)
    if _NUMBER.fullmatch(word) and math.isfinite(number := json.loads(word)):
        return _Alternative(values=[number], bare=word)
    return _Alternative(bare=word)


def _unite(alternatives: list[_Alternative], at: Path) -> Schema:
    schemas = [part.schema for part in alternatives if part.schema is not None]
    values = [value for part in alternatives for value in _values_of(part, alternatives, at)]
    nullable = None in values or any(part.optional for part in alternatives)
    named = [value for value in values if value is not None]
    if named:
        schemas.append(_enum_of(named))
    if not schemas:
        return {"type": "null"}
    distinct = [part for index, part in enumerate(schemas) if part not in schemas[:index]]
    united = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    if {} in distinct:
        return {}
    return _or_null(united) if nullable else united


def _values_of(part: _Alternative, among: list[_Alternative], at: Path) -> list[Any]:
    """The values of one alternative; a bare word is one where nothing beside it is a type."""
    if part.bare is None:
        return part.values
    beside_type = any(other.schema is not None for other in among)
    if len(among) == 1 or (beside_type and not part.values):
        raise _unknown_word(part.bare, at)
    return part.values or [part.bare]


def _enum_of(values: list[Any]) -> Schema:
    distinct = list({(type(value), value): value for value in values}.values())
    kinds = {type(value) for value in distinct}
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    name = names[kinds.pop()] if len(kinds) == 1 else "number" if kinds == {int, float} else None
    return {"type": name, "enum": distinct} if name else {"enum": distinct}


def _or_null(schema: Schema) -> Schema:
    """The same schema with null allowed; it has one of the forms that `_unite` makes."""
    if "anyOf" in schema:
        null = TYPE_WORDS["null"]
        return schema if null in schema["anyOf"] else {"anyOf": [*schema["anyOf"], dict(null)]}
    wider = dict(schema)
    if "enum" in schema and None not in schema["enum"]:
        wider["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("type"), str) and schema["type"] != "null":
        wider["type"] = [schema["type"], "null"]
    return wider


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
            raise _too_deep(at)
        pending.extend((part, (*at, key)) for key, part in _children(item, at))
    raise _problem(
        f"the schema holds more than {MAX_NODES:,} values", "Describe less, or split the tool.", ()
    )


def _children(item: object, at: Path) -> Iterable[tuple[str | int, object]]:
    if isinstance(item, Mapping):
        for key in item:
            if not isinstance(key, str):
                raise _problem(f"the key {key!r} is not text", f"Quote it: '{key}'.", at)
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
            raise _problem(f"{_shown(value)} cannot be written as UTF-8", hint, at)
    elif isinstance(value, float) and not math.isfinite(value):
        raise _problem(f"{value!r} is not a JSON number", "Write a finite number.", at)
    elif isinstance(value, int) and value.bit_length() > 1024:
        raise _problem("a number has more than 300 digits", "Write a smaller number.", at)
    elif value is not None and not isinstance(value, bool | int | float):
        kind = type(value).__name__
        hint = "Quote it, so that it is text."
        raise _problem(f"{_shown(value)} is a {kind}, which JSON does not have", hint, at)


@cache
def _metaschema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        {"$ref": "https://json-schema.org/draft/2020-12/schema"}, offline=True
    )


def _check_against_metaschema(schema: Schema) -> None:
    error = next(iter(_metaschema().iter_errors(schema)), None)
    if error is not None:
        raise _problem(
            _shortened(error.message),
            "Write there what JSON Schema 2020-12 allows.",
            tuple(error.instance_path),
        )


def _too_deep(at: Path) -> InvalidArgs:
    return _problem(
        f"the schema is nested more than {MAX_DEPTH} levels deep", "Flatten it.", at[:3]
    )


def _unknown_word(word: str, at: Path) -> InvalidArgs:
    near = process.extractOne(
        word, list(TYPE_WORDS), processor=utils.default_process, score_cutoff=60
    )
    known = f"Did you mean {near[0]!r}?" if near else f"The types are {', '.join(TYPE_WORDS)}."
    return _problem(f"unknown type {_shown(word)}", f'{known} A value is quoted: "a" | "b".', at)


def _problem(message: str, suggestion: str, at: Path) -> InvalidArgs:
    where = f" (at {'.'.join(map(str, at))})" if at else ""
    return InvalidArgs(f"{message}{where}", suggestion, details={"at": list(at)})


def _shown(value: object) -> str:
    return _shortened(repr(value))


def _shortened(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}…"
