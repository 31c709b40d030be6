"""A definition of the protocol's documents, made into a tool.

Where it is silent:

- category: by the first part of the name (terminal, python and js are exec), else custom.
- effects: fs reads and writes, search reads, exec executes, memory writes, custom executes and
  uses the network unless its sandbox says `network: false`. What `paths` and `sandbox.network`
  grant is added.
- description: required, except in the driver form, which has `schema:` for `input_schema:`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rapidfuzz import fuzz, process, utils

from whence.declare.protocol_yaml import Document
from whence.declare.shorthand import compile_schema
from whence.declare.type_text import Path, shown
from whence.errors import InvalidArgs
from whence.shapes.tool import Effect, Example, Sandbox, Tool

Fields: TypeAlias = Mapping[str, Any]

_KEYS = ["name", "description", "category", "input_schema", "schema", "output_schema", "sandbox"]
_KEYS += ["examples", "notes", "mcp_server", "effects", "paths", "aliases"]
_PREFIXES = {"fs": "fs", "search": "search", "memory": "memory"}
_PREFIXES |= dict.fromkeys(("exec", "terminal", "python", "js"), "exec")
_EFFECTS = {
    "fs": {Effect.READ, Effect.WRITE},
    "search": {Effect.READ},
    "exec": {Effect.EXECUTE},
    "memory": {Effect.WRITE},
    "custom": {Effect.EXECUTE, Effect.NETWORK},
}


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool definition as it was found, with what an error message needs."""

    name: str
    fields: Fields
    at: Path
    document: Document

    def line(self, *keys: str | int) -> int:
        """Where it stands, or what is below those keys of it."""
        return self.document.line_of((*self.at, *keys))

    def problem(self, message: str, suggestion: str, *keys: str | int) -> InvalidArgs:
        """An error that says where it is."""
        source, line = self.document.source, self.line(*keys)
        details = {"source": source, "line": line, "tool": self.name}
        return InvalidArgs(f"{source}:{line}: {self.name}: {message}", suggestion, details=details)


def tool_of(definition: Definition) -> Tool:
    """The tool, without a handler.

    Raises:
        InvalidArgs: the definition lacks something, or holds what cannot be used.
    """
    for key in definition.fields:
        if meant := meant_key(key):
            raise definition.problem(f"unknown key {key!r}", f"Did you mean {meant!r}?", key)
    schema = _input_schema(definition)
    category = _category(definition)
    sandbox = _sandbox(definition)
    paths = _paths(definition, schema)
    server = _text(definition, "mcp_server")
    notes = [_text(definition, "notes"), f"MCP server: {server}" if server else ""]
    return Tool(
        name=definition.name,
        description=_description(definition),
        input_schema=schema,
        handler=None,
        output_schema=_schema(definition, "output_schema"),
        category=category,
        effects=_effects(definition, category) | _granted(paths, sandbox),
        sandbox=sandbox,
        examples=_examples(definition),
        aliases=_aliases(definition),
        paths=paths,
        source="mcp" if server else "builtin",
        notes="\n".join(filter(None, notes)),
    )


def _text(definition: Definition, key: str) -> str:
    value = definition.fields.get(key)
    if value is not None and not isinstance(value, str):
        raise definition.problem(f"{key} is {shown_value(value)}, not text", f"Quote {key}.", key)
    return (value or "").strip()


def _description(definition: Definition) -> str:
    text = _text(definition, "description")
    if not text and "schema" not in definition.fields:
        raise definition.problem(
            "it has no description", "Say in a sentence what it does.", "description"
        )
    return text


def _category(definition: Definition) -> str:
    given = _text(definition, "category")
    if given and given not in _EFFECTS:
        raise definition.problem(
            f"unknown category {given!r}", f"Use one of {_listed(_EFFECTS)}.", "category"
        )
    return given or _PREFIXES.get(definition.name.partition(".")[0], "custom")


def _input_schema(definition: Definition) -> dict[str, Any]:
    given = [key for key in ("input_schema", "schema") if definition.fields.get(key) is not None]
    if len(given) > 1:
        raise definition.problem(
            "input_schema and schema are both given", "Keep input_schema.", "schema"
        )
    if not given and not definition.fields.get("mcp_server"):
        hint = "Add it; a tool without arguments has `input_schema: {}`."
        raise definition.problem("it has no input_schema", hint, "input_schema")
    value = definition.fields[given[0]] if given else {}
    schema = _schema(definition, given[0]) if given else {"properties": {}}
    if schema is None or isinstance(value, bool) or schema.get("type", "object") != "object":
        hint = "List its `properties:`."
        raise definition.problem(
            f"{shown_value(value)} does not describe an object", hint, given[0]
        )
    return _without_reason({"type": "object", **schema})


def _schema(definition: Definition, key: str) -> dict[str, Any] | None:
    value = definition.fields.get(key)
    if value is None:
        return None
    try:
        return compile_schema(value)
    except InvalidArgs as error:
        at = error.details["at"]
        inner = at if isinstance(at, list) else []
        raise definition.problem(f"{key}: {error.message}", error.suggestion, key, *inner) from None


def _without_reason(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without its own `why`; those of nested objects are data and stay."""
    kept = dict(schema)
    if "properties" in schema:
        kept["properties"] = {k: v for k, v in schema["properties"].items() if k != "why"}
    required = [name for name in kept.pop("required", []) if name != "why"]
    return {**kept, "required": required} if required else kept


def _sandbox(definition: Definition) -> Sandbox:
    given = definition.fields.get("sandbox")
    if given is None or given is True:
        return Sandbox()
    if not isinstance(given, dict):
        hint = (
            "Say what it needs: network, filesystem, timeout_ms. A sandbox cannot be switched off."
        )
        raise definition.problem(f"sandbox is {shown_value(given)}", hint, "sandbox")
    limits = {key: _limit(definition, key, value) for key, value in given.items()}
    return Sandbox(**limits)


def _limit(definition: Definition, key: str, value: Any) -> Any:
    if key == "network" and isinstance(value, bool):
        return value
    if key == "timeout_ms" and type(value) is int and value > 0:
        return value
    if key == "filesystem":
        return _strings(definition, value, "sandbox", "filesystem")
    hints = {
        "network": "Write true or false.",
        "timeout_ms": "Write a whole number of milliseconds above 0.",
    }
    hint = hints.get(key, "A sandbox has network, filesystem and timeout_ms.")
    raise definition.problem(f"sandbox.{key} is {shown_value(value)}", hint, "sandbox", key)


def _strings(definition: Definition, value: object, *keys: str) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(each, str) and each for each in items):
        raise definition.problem(
            f"{'.'.join(keys)} is {shown_value(value)}", "Write a list of texts.", *keys
        )
    return tuple(items)


def _effect(definition: Definition, word: object, *keys: str) -> Effect:
    if word in list(Effect):
        return Effect(str(word))
    near = _closest(word, list(Effect))
    hint = f"Did you mean '{near}'?" if near else f"Use one of {_listed(Effect)}."
    raise definition.problem(f"unknown effect {shown_value(word)}", hint, *keys)


def _effects(definition: Definition, category: str) -> frozenset[Effect]:
    given = definition.fields.get("effects")
    if given is not None:
        words = _strings(definition, given, "effects")
        return frozenset(_effect(definition, word, "effects") for word in words)
    sandbox = definition.fields.get("sandbox")
    offline = isinstance(sandbox, dict) and sandbox.get("network") is False
    return frozenset(_EFFECTS[category] - ({Effect.NETWORK} if offline else set()))


def _granted(paths: Mapping[str, Effect], sandbox: Sandbox) -> frozenset[Effect]:
    return frozenset(paths.values()) | ({Effect.NETWORK} if sandbox.network else frozenset())


def _paths(definition: Definition, schema: Fields) -> dict[str, Effect]:
    given = definition.fields.get("paths")
    if given is None:
        return {}
    if not isinstance(given, dict):
        hint = "Write `argument: read` or `argument: write` below it."
        raise definition.problem(f"paths is {shown_value(given)}", hint, "paths")
    arguments = schema.get("properties", {})
    for name in given:
        if name not in arguments:
            hint = f"Use one of {_listed(arguments)}."
            raise definition.problem(
                f"paths names {name!r}, which is no argument", hint, "paths", name
            )
    return {name: _effect(definition, word, "paths", name) for name, word in given.items()}


def _aliases(definition: Definition) -> tuple[str, ...]:
    given = definition.fields.get("aliases")
    return () if given is None else _strings(definition, given, "aliases")


def _examples(definition: Definition) -> tuple[Example, ...]:
    given = definition.fields.get("examples")
    if given is None:
        return ()
    if not isinstance(given, list):
        raise definition.problem(f"examples is {shown_value(given)}", "Write a list.", "examples")
    return tuple(_example(definition, each, index) for index, each in enumerate(given))


def _example(definition: Definition, given: object, index: int) -> Example:
    called = given.get("input") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(called, dict):
        hint = "An example has `input:`, a mapping of arguments."
        raise definition.problem(
            f"example {index + 1} is {shown_value(given)}", hint, "examples", index
        )
    why = given.get("why", called.get("why", ""))
    if not isinstance(why, str):
        hint = "Give the reason in a sentence."
        raise definition.problem(f"why is {shown_value(why)}", hint, "examples", index, "why")
    reason = {"why": why} if why else {}
    return Example({**reason, **called}, given.get("output"), why)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


def shown_value(value: object) -> str:
    """What a definition holds, for a message."""
    return "nothing" if value is None else shown(value)


def meant_key(key: str) -> str | None:
    """The key of a definition that an unknown one was probably meant to be."""
    return None if key in _KEYS else _closest(key, _KEYS, 80)


def _closest(word: object, known: Iterable[str], likeness: int = 60) -> str | None:
    near = process.extractOne(
        str(word)[:200],
        list(known),
        scorer=fuzz.ratio,
        processor=utils.default_process,
        score_cutoff=likeness,
    )
    return near[0] if near else None
