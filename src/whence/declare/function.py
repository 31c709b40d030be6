"""Typed Python functions as tools: the schema comes from the signature."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from types import UnionType
from typing import (
    Annotated,
    Any,
    Self,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from whence.errors import InvalidArgs
from whence.shapes.call import Reply
from whence.shapes.command import CommandsOf
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Example, Freeform, Handler, Legacy, Sandbox, Tool, Touches

PORTS = "ports"
"""A parameter of this name receives the ports to the world and is hidden from the model."""


def tool(  # noqa: PLR0913 - these are the fields of a tool, all optional and by name
    name: str | None = None,
    *,
    description: str | None = None,
    category: str = "custom",
    effects: Iterable[Effect] = (),
    paths: Mapping[str, Effect] | None = None,
    touches: Touches | None = None,
    commands: CommandsOf | None = None,
    sandbox: Sandbox = Sandbox(),
    output: object = None,
    examples: Iterable[Example] = (),
    aliases: Iterable[str] = (),
    argument_aliases: Mapping[str, str] | None = None,
    freeform: Freeform | None = None,
    legacy: Legacy | None = None,
    source: str = "python",
    notes: str = "",
) -> Callable[[Callable[..., Any]], Tool]:
    """A decorator that turns a typed function, async or not, into a `Tool`.

    The name defaults to the function's, the description to the first line of its docstring.
    `Annotated[str, "text"]` describes a parameter; `X | None = None` makes it optional.
    `output` gives the result's type where the function returns a `Reply`.
    A function that is not async runs in a thread, so that it cannot hold up others.
    """
    if callable(name):
        raise TypeError("@tool was written without brackets; write @tool()")

    def wrap(function: Callable[..., Any]) -> Tool:
        typed = partial(_typed, function, output)
        late = source == "builtin"
        arguments, result, handler = ({}, None, None) if late else typed()
        path_effects = dict(paths or {})
        made = (_Late if late else Tool)(
            name=name or function.__name__,
            description=description or _summary(function),
            input_schema=arguments,
            output_schema=result,
            handler=handler,
            category=category,
            effects=frozenset(effects) | frozenset(path_effects.values()),
            sandbox=sandbox,
            examples=tuple(examples),
            aliases=tuple(aliases),
            paths=path_effects,
            argument_aliases=dict(argument_aliases or {}),
            touches=touches,
            commands=commands,
            freeform=freeform,
            legacy=legacy,
            source=source,
            notes=notes,
        )
        return made.looking_at(typed) if isinstance(made, _Late) else made

    return wrap


builtin = partial(tool, source="builtin")
"""The same for a tool of ours, whose types are looked at only when somebody asks for them."""

Typed: TypeAlias = tuple[JSONObject, JSONObject | None, Handler | None]
"""The schemas of arguments and result, and the handler."""


def _typed(function: Callable[..., Any], output: object) -> Typed:
    hints = get_type_hints(function, include_extras=True)
    returned = hints.pop("return", None)
    arguments = _arguments_type(function, hints)
    result = output if output is not None else returned
    shown = result not in (None, type(None), Reply, Any)
    handler = _handler(function, arguments, takes_ports=PORTS in hints)
    try:
        return schema_of(arguments), schema_of(result) if shown else None, handler
    except TypeError as error:
        said = str(error).rpartition("\n")[2]
        raise TypeError(f"{function.__name__}: a type has no JSON Schema: {said}") from None


class _Late(Tool):
    """A tool that looks at its function when somebody asks for its schemas or its handler.

    Whole catalogs are loaded for the sake of a few tools, and types are slow to look at.
    """

    __slots__ = ("_typed",)
    __qualname__ = "Tool"
    _LATE = ("input_schema", "output_schema", "handler")

    def looking_at(self, typed: Callable[[], Typed]) -> Self:
        object.__setattr__(self, "_typed", typed)
        for name in self._LATE:
            object.__delattr__(self, name)
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in self._LATE:
            raise AttributeError(name)
        for each, value in zip(self._LATE, self._typed(), strict=True):
            object.__setattr__(self, each, value)
        return getattr(self, name)


def schema_of(kind: object) -> JSONObject:
    """JSON Schema of a Python type, with definitions inlined and nothing but what was written."""
    schema = msgspec.json.schema(kind)
    definitions = schema.pop("$defs", {})
    inlined: JSONObject = _inline(schema, definitions, ())
    return inlined


def _summary(function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function) or ""
    return text.partition("\n\n")[0].replace("\n", " ").removesuffix(".")


def _arguments_type(function: Callable[..., Any], hints: Mapping[str, Any]) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == PORTS:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{function.__name__}: a tool cannot take *{parameter.name}")
        if parameter.name not in hints:
            raise TypeError(f"{function.__name__}: parameter {parameter.name!r} needs a type")
        kind = _described(hints[parameter.name])
        if parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind, parameter.default))
    return msgspec.defstruct(
        function.__name__, fields, kw_only=True, forbid_unknown_fields=True, frozen=True
    )


def _described(kind: Any) -> Any:
    """The type with its plain texts as descriptions, also where it may be left out."""
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(_described(part) for part in get_args(kind))]  # noqa: UP007 - a value
    if get_origin(kind) is not Annotated:
        return kind
    base, *extras = get_args(kind)
    for extra in extras:
        meta = msgspec.Meta(description=extra) if isinstance(extra, str) else extra
        base = Annotated[base, meta]
    return base


def _inline(value: Any, definitions: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_inline(item, definitions, within) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        if name in within:
            raise TypeError(f"type {name} contains itself; a tool's types must be finite")
        return _inline(definitions[name], definitions, (*within, name))
    if "properties" in value:
        return _object(value, definitions, within)
    return {key: _inline(item, definitions, within) for key, item in value.items()}


def _object(value: dict[str, Any], definitions: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    properties = {
        name: _optional(_inline(schema, definitions, within))
        for name, schema in value["properties"].items()
    }
    rest = {k: v for k, v in value.items() if k not in ("title", "properties") and v != []}
    return {**rest, "properties": properties}


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    """`X | None = None` says "may be left out"; the gate reads a null there as left out."""
    if "default" in schema and schema["default"] is None:
        schema = {key: item for key, item in schema.items() if key != "default"}
        kinds = [kind for kind in schema.pop("anyOf", []) if kind != {"type": "null"}]
        if len(kinds) == 1:
            return {**kinds[0], **schema}
        if kinds:
            return {"anyOf": kinds, **schema}
    return schema


def _whole_numbers(value: Any) -> Any:
    """The value with 2 for 2.0, which is an integer to JSON Schema."""
    if type(value) is float and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _whole_numbers(item) for key, item in value.items()}
    return [_whole_numbers(item) for item in value] if isinstance(value, list) else value


def _handler(
    function: Callable[..., Any], arguments: type[msgspec.Struct], *, takes_ports: bool
) -> Handler:
    convert, as_dict = msgspec.convert, msgspec.structs.asdict
    is_async = inspect.iscoroutinefunction(function)

    def bound(given: JSONObject, ports: object) -> dict[str, Any]:
        try:
            try:
                typed = convert(given, arguments)
            except msgspec.ValidationError:
                typed = convert(_whole_numbers(given), arguments)
        except msgspec.ValidationError as error:
            raise InvalidArgs(
                f"{function.__name__}: {error}", "Give the argument the type that the schema says."
            ) from None
        values = as_dict(typed)
        if takes_ports:
            values[PORTS] = ports
        return values

    def call_async(given: JSONObject, ports: object, /) -> Awaitable[object]:
        result: Awaitable[object] = function(**bound(given, ports))
        return result

    async def call_in_thread(given: JSONObject, ports: object, /) -> object:
        from whence.shapes.threads import in_thread

        return await in_thread(partial(function, **bound(given, ports)))

    return call_async if is_async else call_in_thread
