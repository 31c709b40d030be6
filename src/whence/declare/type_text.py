"""A type written as text: `int?`, `string[]`, `"a" | "b"`, `{start: int, end: int}`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from whence.errors import InvalidArgs

Schema: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]

MAX_DEPTH = 64
"""How many objects and lists may be nested, in shorthand and in what it becomes."""
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
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<quoted>"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')
      | (?P<mark>\[\s*\]|[|?{}(),:])
      | (?P<word>[^\s|?{}(),:\[\]"']+)
      | (?P<end>$)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(slots=True)
class _Alternative:
    """One part of a union, before the others say how a bare word is meant."""

    schema: Schema | None = None
    values: list[Any] = field(default_factory=list)
    bare: str | None = None
    optional: bool = False


def parse_type(text: str, at: Path) -> tuple[Schema, bool]:
    """The schema that the text stands for, and whether it ends with `?`."""
    if len(text) > MAX_TEXT:
        raise problem(
            f"{shown(text)} has {len(text):,} characters of shorthand, more than {MAX_TEXT:,}",
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
            raise too_deep(self.at)
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
        return object_of(properties, optional)

    def string(self) -> str:
        """A word or what stands between quotes."""
        if self.kind not in ("word", "quoted"):
            raise self.unexpected()
        quoted = self.advance()
        if quoted[0] == "'":
            return quoted[1:-1].replace("''", "'")
        if quoted[0] != '"':
            return quoted
        import json

        try:
            return str(json.loads(quoted, strict=False))
        except ValueError:
            raise self.unexpected(f"{quoted} has an escape that JSON does not know") from None

    def unexpected(self, reason: str = "") -> InvalidArgs:
        found = "it ends too early" if self.kind == "end" else f"stopped at {self.token!r}"
        return problem(
            f"{shown(self.text)} is not a type: {reason or found}",
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
    if _NUMBER.fullmatch(word):
        import json

        if math.isfinite(number := json.loads(word)):
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
        raise unknown_word(part.bare, at)
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


def object_of(properties: Schema, optional: list[str]) -> Schema:
    """The object of an inline form: what is not marked is required."""
    required = [name for name in properties if name not in optional]
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def too_deep(at: Path) -> InvalidArgs:
    """The error for nesting without end."""
    return problem(f"the schema is nested more than {MAX_DEPTH} levels deep", "Flatten it.", at[:3])


def unknown_word(word: str, at: Path) -> InvalidArgs:
    """The error for a word that names no type, with the closest one that does."""
    from rapidfuzz import process, utils

    near = process.extractOne(
        word, list(TYPE_WORDS), processor=utils.default_process, score_cutoff=60
    )
    known = f"Did you mean {near[0]!r}?" if near else f"The types are {', '.join(TYPE_WORDS)}."
    return problem(f"unknown type {shown(word)}", f'{known} A value is quoted: "a" | "b".', at)


def problem(message: str, suggestion: str, at: Path) -> InvalidArgs:
    """An error that says where in the schema it is."""
    where = f" (at {'.'.join(map(str, at))})" if at else ""
    return InvalidArgs(f"{message}{where}", suggestion, details={"at": list(at)})


def shown(value: object) -> str:
    """A value for a message, cut to size."""
    return shortened(repr(value))


def shortened(text: str) -> str:
    """Text for a message, cut to size."""
    return text if len(text) <= 120 else f"{text[:119]}…"
