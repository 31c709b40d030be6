"""Tools as the protocol's documents declare them: YAML, alone or in the fences of a Markdown page.

A definition stands below its name (`fs.read: {description: …, input_schema: …}`), below `tool:` or
on its own with a `name`, in `tools:`, or in the list `custom_tools:`. Everything else in a document
(examples, error schemas, logs, templates whose values are type words) is left alone.

Documents need not be valid YAML: `type: "file" | "directory"` and `{start: int, end: int}?` are
read as the text that they are. Where a definition is silent:

- category: by the first part of the name (terminal, python and js are exec), else custom.
- effects: fs reads and writes, search reads, exec executes, memory writes, custom executes and
  uses the network unless its sandbox says `network: false`. What `paths` and `sandbox.network`
  grant is added.
- description: required, except in the driver form, which has `schema:` for `input_schema:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rapidfuzz import fuzz, process, utils

from whence.declare.protocol_yaml import Block, Document, blocks, read
from whence.declare.shorthand import compile_schema, is_type_word
from whence.declare.type_text import Path, shown
from whence.errors import Conflict, InvalidArgs, ParseError
from whence.shapes.tool import Effect, Example, Sandbox, Tool

Fields: TypeAlias = Mapping[str, Any]

MAX_CHARACTERS = 2_000_000
"""How long a document may be."""

_KEYS = ["name", "description", "category", "input_schema", "schema", "output_schema", "sandbox"]
_KEYS += ["examples", "notes", "mcp_server", "effects", "paths", "aliases"]
_SIGNS = frozenset(("output_schema", "sandbox", "examples", "mcp_server", "effects", "paths"))
_PREFIXES = {"fs": "fs", "search": "search", "memory": "memory"}
_PREFIXES |= dict.fromkeys(("exec", "terminal", "python", "js"), "exec")
_EFFECTS = {
    "fs": {Effect.READ, Effect.WRITE},
    "search": {Effect.READ},
    "exec": {Effect.EXECUTE},
    "memory": {Effect.WRITE},
    "custom": {Effect.EXECUTE, Effect.NETWORK},
}
_NAME = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,128}(?<!\.)")
_TOOL_KEY = re.compile(r"^ *(?:- +)*(?:input_schema|custom_tools) *:", re.MULTILINE)


def load_tools(text: str, *, source: str) -> list[Tool]:
    """The tools that a document declares, in its order; none of them has a handler.

    The reason that every call must give is taken out of the input schemas: the gate puts it in.

    Args:
        text: Markdown whose `yaml` fences are read, or YAML where no line starts with a fence.
        source: What error messages call the document.

    Raises:
        ParseError: a block that declares tools cannot be read.
        InvalidArgs: a definition lacks something, or holds what cannot be used.
        Conflict: two definitions have one name.
    """
    _check_text(text, source)
    found_blocks = blocks(text.removeprefix("\ufeff"))
    definitions = [found for block in found_blocks for found in _definitions(block, source)]
    first_lines: dict[str, int] = {}
    for each in definitions:
        if each.name in first_lines:
            raise _conflict(source, each.name, first_lines[each.name], each.line())
        first_lines[each.name] = each.line()
    return [_tool(definition) for definition in definitions]


def _check_text(text: str, source: str) -> None:
    if len(text) > MAX_CHARACTERS:
        raise ParseError(
            f"{source} has {len(text):,} characters, more than {MAX_CHARACTERS:,}",
            "Split the document.",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ParseError(
            f"{source}: character {error.start} is half of a surrogate pair",
            "Save the document as UTF-8.",
        ) from None


def _conflict(source: str, name: str, first: int, again: int) -> Conflict:
    return Conflict(
        f"{source}:{again}: {name!r} is defined again; the first definition is on line {first}",
        "Keep one of the two, or rename one.",
        details={"source": source, "lines": [first, again]},
    )


@dataclass(frozen=True, slots=True)
class _Definition:
    """A tool definition as it was found, with what an error message needs."""

    name: str
    fields: Fields
    at: Path
    document: Document

    def line(self, *keys: str | int) -> int:
        return self.document.line_of((*self.at, *keys))

    def problem(self, message: str, suggestion: str, *keys: str | int) -> InvalidArgs:
        source, line = self.document.source, self.line(*keys)
        details = {"source": source, "line": line, "tool": self.name}
        return InvalidArgs(f"{source}:{line}: {self.name}: {message}", suggestion, details=details)


def _definitions(block: Block, source: str) -> Iterator[_Definition]:
    try:
        documents = read(block, source)
    except ParseError:
        # A page may show any YAML; only what declares tools has to be right.
        if block.fenced and not _TOOL_KEY.search(block.text):
            return
        raise
    for document in documents:
        if isinstance(document.value, dict):
            places = _found(document.value, document)
            found = [_definition(at, key, part, document) for at, key, part in places]
            if found or not block.fenced:
                _refuse_repeats(document, {each.at: each.name for each in found})
            yield from found
        elif not block.fenced and document.value is not None:
            raise document.problem(
                document.first_line,
                f"a document of tools is a mapping, not {_shown(document.value)}",
                "Write `name:` and below it `description:` and `input_schema:`.",
            )


def _refuse_repeats(document: Document, names: Mapping[Path, str]) -> None:
    for path, first, again in document.repeats:
        if path in names:
            raise _conflict(document.source, names[path], first, again)
        message = f"the key {path[-1]!r} is already on line {first}"
        raise document.problem(again, message, "Keep one of the two.")


def _found(value: Fields, document: Document) -> Iterator[tuple[Path, str | None, object]]:
    """Where definitions stand, and the name that their place gives them."""
    if "name" in value and "input_schema" in value and not _is_template(value):
        yield (), None, value
        return
    for key, part in value.items():
        if key == "custom_tools":
            yield from _members(key, part, document)
        elif key == "tools" and isinstance(part, dict | list):
            members = _members(key, part, document)
            yield from (each for each in members if _declares(each[2], {"schema"}))
        elif key == "tool" and _declares(part, {"name", "description"}):
            yield (key,), None, part
        elif key not in ("tool", "tools") and _declares(part, set()):
            yield (key,), key, part


def _members(
    key: str, part: object, document: Document
) -> Iterator[tuple[Path, str | None, object]]:
    if isinstance(part, dict):
        yield from (((key, name), name, each) for name, each in part.items())
    elif isinstance(part, list):
        yield from (((key, index), None, each) for index, each in enumerate(part))
    elif part is not None:
        line = document.line_of((key,))
        raise document.problem(
            line, f"{key} is {_shown(part)}", f"Make {key} a list of definitions."
        )


def _declares(part: object, enough: set[str]) -> bool:
    """Whether a mapping is meant as a definition: by its schema, or by keys only tools have."""
    if not isinstance(part, dict) or _is_template(part):
        return False
    return (
        bool(part.keys() & (enough | {"input_schema"}))
        or ("description" in part and bool(part.keys() & _SIGNS))
        or any(_meant(key) == "input_schema" for key in part)
    )


def _is_template(fields: Fields) -> bool:
    """Whether a definition only shows the form: all that it says of itself are type words."""
    said = [fields[key] for key in ("name", "description", "category") if key in fields]
    return bool(said) and all(is_type_word(word) for word in said)


def _meant(key: str) -> str | None:
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


def _definition(at: Path, key: str | None, part: object, document: Document) -> _Definition:
    place = _Definition(key or ".".join(map(str, at)) or "tool", {}, at, document)
    if not isinstance(part, dict):
        raise place.problem(
            f"{_shown(part)} is not a definition", "Write description and input_schema below it."
        )
    name = part.get("name", key)
    if name is None:
        raise place.problem("the definition has no name", "Add `name:`, such as fs.read.")
    if key is not None and name != key:
        raise place.problem(
            f"it is called {_shown(name)} inside", "Drop `name:`, or use one name.", "name"
        )
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise place.problem(
            f"{_shown(name)} cannot be the name of a tool",
            "Use 1 to 128 letters, digits, `_`, `-` and `.`, with no dot at either end.",
            "name",
        )
    return _Definition(name, part, at, document)


def _tool(definition: _Definition) -> Tool:
    for key in definition.fields:
        if meant := _meant(key):
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


def _text(definition: _Definition, key: str) -> str:
    value = definition.fields.get(key)
    if value is not None and not isinstance(value, str):
        raise definition.problem(f"{key} is {_shown(value)}, not text", f"Quote {key}.", key)
    return (value or "").strip()


def _description(definition: _Definition) -> str:
    text = _text(definition, "description")
    if not text and "schema" not in definition.fields:
        raise definition.problem(
            "it has no description", "Say in a sentence what it does.", "description"
        )
    return text


def _category(definition: _Definition) -> str:
    given = _text(definition, "category")
    if given and given not in _EFFECTS:
        raise definition.problem(
            f"unknown category {given!r}", f"Use one of {_listed(_EFFECTS)}.", "category"
        )
    return given or _PREFIXES.get(definition.name.partition(".")[0], "custom")


def _input_schema(definition: _Definition) -> dict[str, Any]:
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
        raise definition.problem(f"{_shown(value)} does not describe an object", hint, given[0])
    return _without_reason({"type": "object", **schema})


def _schema(definition: _Definition, key: str) -> dict[str, Any] | None:
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


def _sandbox(definition: _Definition) -> Sandbox:
    given = definition.fields.get("sandbox")
    if given is None or given is True:
        return Sandbox()
    if not isinstance(given, dict):
        hint = (
            "Say what it needs: network, filesystem, timeout_ms. A sandbox cannot be switched off."
        )
        raise definition.problem(f"sandbox is {_shown(given)}", hint, "sandbox")
    limits = {key: _limit(definition, key, value) for key, value in given.items()}
    return Sandbox(**limits)


def _limit(definition: _Definition, key: str, value: Any) -> Any:
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
    raise definition.problem(f"sandbox.{key} is {_shown(value)}", hint, "sandbox", key)


def _strings(definition: _Definition, value: object, *keys: str) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(each, str) and each for each in items):
        raise definition.problem(
            f"{'.'.join(keys)} is {_shown(value)}", "Write a list of texts.", *keys
        )
    return tuple(items)


def _effect(definition: _Definition, word: object, *keys: str) -> Effect:
    if word in list(Effect):
        return Effect(str(word))
    near = _closest(word, list(Effect))
    hint = f"Did you mean '{near}'?" if near else f"Use one of {_listed(Effect)}."
    raise definition.problem(f"unknown effect {_shown(word)}", hint, *keys)


def _effects(definition: _Definition, category: str) -> frozenset[Effect]:
    given = definition.fields.get("effects")
    if given is not None:
        words = _strings(definition, given, "effects")
        return frozenset(_effect(definition, word, "effects") for word in words)
    sandbox = definition.fields.get("sandbox")
    offline = isinstance(sandbox, dict) and sandbox.get("network") is False
    return frozenset(_EFFECTS[category] - ({Effect.NETWORK} if offline else set()))


def _granted(paths: Mapping[str, Effect], sandbox: Sandbox) -> frozenset[Effect]:
    return frozenset(paths.values()) | ({Effect.NETWORK} if sandbox.network else frozenset())


def _paths(definition: _Definition, schema: Fields) -> dict[str, Effect]:
    given = definition.fields.get("paths")
    if given is None:
        return {}
    if not isinstance(given, dict):
        hint = "Write `argument: read` or `argument: write` below it."
        raise definition.problem(f"paths is {_shown(given)}", hint, "paths")
    arguments = schema.get("properties", {})
    for name in given:
        if name not in arguments:
            hint = f"Use one of {_listed(arguments)}."
            raise definition.problem(
                f"paths names {name!r}, which is no argument", hint, "paths", name
            )
    return {name: _effect(definition, word, "paths", name) for name, word in given.items()}


def _aliases(definition: _Definition) -> tuple[str, ...]:
    given = definition.fields.get("aliases")
    return () if given is None else _strings(definition, given, "aliases")


def _examples(definition: _Definition) -> tuple[Example, ...]:
    given = definition.fields.get("examples")
    if given is None:
        return ()
    if not isinstance(given, list):
        raise definition.problem(f"examples is {_shown(given)}", "Write a list.", "examples")
    return tuple(_example(definition, each, index) for index, each in enumerate(given))


def _example(definition: _Definition, given: object, index: int) -> Example:
    called = given.get("input") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(called, dict):
        hint = "An example has `input:`, a mapping of arguments."
        raise definition.problem(f"example {index + 1} is {_shown(given)}", hint, "examples", index)
    why = given.get("why", called.get("why", ""))
    if not isinstance(why, str):
        hint = "Give the reason in a sentence."
        raise definition.problem(f"why is {_shown(why)}", hint, "examples", index, "why")
    reason = {"why": why} if why else {}
    return Example({**reason, **called}, given.get("output"), why)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


def _shown(value: object) -> str:
    return "nothing" if value is None else shown(value)
