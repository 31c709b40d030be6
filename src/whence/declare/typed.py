"""Typed arguments, as `<param>` and `<input>` declare them, to JSON Schema.

An argument may be left out unless it says `required`, as in HTML; a type that ends with `?` may be
left out even then. Values in `enum` and `default` are read as text where the type takes text, else
as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from whence.chatmd.suggest import quoted
from whence.declare.report import Report
from whence.declare.shorthand import compile_schema
from whence.declare.type_text import Schema
from whence.declare.values import items, text
from whence.errors import InvalidArgs
from whence.shapes.declaration import Param
from whence.shapes.document import Element

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MISSING = object()


def read_params(elements: Iterable[Element], report: Report) -> tuple[Param, ...]:
    """The arguments that elements declare, each name once."""
    params: dict[str, Param] = {}
    first: dict[str, Element] = {}
    for element in elements:
        param = read_param(element, report)
        if param is None:
            continue
        if param.name in params:
            line = report.line(first[param.name].span)
            message = f"{param.name} is declared again; the first time was on line {line}."
            report.error(f"duplicate-{element.tag}", element, message, "Rename or remove one.")
            continue
        params[param.name], first[param.name] = param, element
    return tuple(params.values())


def read_param(element: Element, report: Report) -> Param | None:
    """The argument that one element declares; None where it has no usable name.

    Whatever else is wrong is reported and left out, so that the rest can be looked at too.
    """
    name = text(element, "name")
    if name is None:
        return None
    if not _NAME.fullmatch(name):
        hint = "Use up to 64 letters, digits, `_` and `-`, and no digit or dash first."
        report.bad(element, "name", f"name is {quoted(name)}.", hint)
        return None
    schema, may_be_null = _type(element, name, report)
    schema = _narrowed(element, schema, report)
    schema |= {"description": said} if (said := text(element, "description")) else {}
    default = _default(element, schema, report)
    schema |= {"default": default} if default is not _MISSING else {}
    return Param(name, schema, element.flag("required") and not may_be_null)


def object_of(params: Iterable[Param]) -> Schema:
    """The schema of a call with these arguments and no others."""
    listed = tuple(params)
    required = [param.name for param in listed if param.required]
    return {
        "type": "object",
        "properties": {param.name: param.schema for param in listed},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _type(element: Element, name: str, report: Report) -> tuple[Schema, bool]:
    """The schema of the type, and whether it carries the mark of what may be left out."""
    word = text(element, "type")
    whole = {"type": "object", "properties": {name: word or "string"}, "required": [name]}
    try:
        compiled = compile_schema(whole)
    except InvalidArgs as error:
        message = error.message.partition(" (at ")[0]
        report.bad(element, "type", f"{message[:1].upper()}{message[1:]}.", error.suggestion)
        return {}, False
    schema: Schema = compiled["properties"][name]
    return schema, "required" not in compiled


def _narrowed(element: Element, schema: Schema, report: Report) -> Schema:
    """The schema with its choices and pattern; for a list they are those of its items."""
    if isinstance(schema.get("items"), dict):
        return {**schema, "items": _narrowed(element, schema["items"], report)}
    choices = _choices(element, schema, report)
    pattern = _pattern(element, schema, report)
    return {
        **schema,
        **({"enum": choices} if choices else {}),
        **({"pattern": pattern} if pattern else {}),
    }


def _choices(element: Element, schema: Schema, report: Report) -> list[Any]:
    written = text(element, "enum")
    if written is None:
        return []
    listed = _json(written) if written.startswith("[") else list(items(written))
    fits = _checker(schema)
    values = [_meant(each, fits) for each in listed] if isinstance(listed, list) else []
    if not values or any(value is _MISSING for value in values):
        hint = "List values of the type with commas, or write a JSON list."
        report.bad(element, "enum", f"enum is {quoted(written)}.", hint)
        return []
    return values


def _pattern(element: Element, schema: Schema, report: Report) -> str | None:
    pattern = element.get("pattern")
    if pattern is None:
        return None
    kinds = schema.get("type", "string")
    if "string" not in (kinds if isinstance(kinds, list) else [kinds]):
        report.bad(element, "pattern", "Only text can have a pattern.", 'Use type="string".')
        return None
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        message = f"pattern is {quoted(pattern)}: {error}."
        report.bad(element, "pattern", message, "Correct the expression; RE2 reads it.")
        return None
    return pattern


def _default(element: Element, schema: Schema, report: Report) -> Any:
    written = element.get("default")
    if written is None:
        return _MISSING
    value = _meant(written, _checker(schema))
    if value is _MISSING:
        hint = "Write a value that the type and the choices allow."
        report.bad(element, "default", f"default is {quoted(written)}.", hint)
    return value


def _meant(written: Any, fits: Callable[[Any], bool]) -> Any:
    """The value that fits: what is written itself, else what it is as JSON."""
    if fits(written):
        return written
    value = _json(written) if isinstance(written, str) else _MISSING
    return value if value is not _MISSING and fits(value) else _MISSING


def _json(written: str) -> Any:
    try:
        import json

        return json.loads(written, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _MISSING


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _checker(schema: Schema) -> Callable[[Any], bool]:
    """Whether a value fits; what is no JSON at all does not."""
    import jsonschema_rs

    validator = jsonschema_rs.Draft202012Validator(
        schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True
    )

    def fits(value: Any) -> bool:
        try:
            return validator.is_valid(value)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return False

    return fits
