"""Tools as the protocol's documents declare them: YAML, alone or in the fences of a Markdown page.

A definition stands below its name (`fs.read: {description: …, input_schema: …}`), below `tool:` or
on its own with a `name`, in `tools:`, or in the list `custom_tools:`. Everything else in a document
(examples, error schemas, logs, templates whose values are type words) is left alone.

Documents need not be valid YAML: `type: "file" | "directory"` and `{start: int, end: int}?` are
read as the text that they are. Where a definition is silent:

- category: by the first part of the name (terminal, python and js are exec), else custom.
- effects: fs and search read, exec executes, memory writes, custom executes and uses the network
  unless its sandbox says `network: false`. What `paths` and `sandbox.network` grant is added.
- description: required, except in the driver form, which has `schema:` for `input_schema:`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml
from rapidfuzz import fuzz, process, utils

from whence.declare.shorthand import MAX_DEPTH, MAX_TEXT, Path, compile_schema, is_type_word
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
    "fs": {Effect.READ},
    "search": {Effect.READ},
    "exec": {Effect.EXECUTE},
    "memory": {Effect.WRITE},
    "custom": {Effect.EXECUTE, Effect.NETWORK},
}
_NAME = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,128}(?<!\.)")
_TOOL_KEY = re.compile(r"^ *(?:- +)*(?:input_schema|custom_tools) *:", re.MULTILINE)
_FENCE = re.compile(r"(?P<indent> *)(?P<marks>`{3,}|~{3,})\s*(?P<info>[^`]*)")


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
    blocks = _blocks(text.removeprefix("\ufeff"))
    definitions = [found for block in blocks for found in _definitions(block, source)]
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
class _Block:
    text: str
    first_line: int
    fenced: bool


def _blocks(text: str) -> Iterator[_Block]:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if not any(line.startswith(("```", "~~~")) for line in lines):
        yield _Block("\n".join(lines), 1, fenced=False)
        return
    opening, start = None, 0
    for number, line in enumerate([*lines, ""]):
        fence = _FENCE.fullmatch(line)
        if opening is None:
            opening, start = fence, number + 1
        elif number == len(lines) or _closes(fence, opening):
            if opening["info"].lower().split()[:1] in (["yaml"], ["yml"]):
                inside = (_dedented(inner, opening["indent"]) for inner in lines[start:number])
                yield _Block("\n".join(inside), start + 1, fenced=True)
            opening = None


def _closes(fence: re.Match[str] | None, opening: re.Match[str]) -> bool:
    return fence is not None and not fence["info"] and fence["marks"].startswith(opening["marks"])


def _dedented(line: str, indent: str) -> str:
    return line.removeprefix(indent) if line.startswith(indent) else line.lstrip(" ")


class _Document:
    """A YAML document as plain values, built event by event, with the line of every key.

    Keys are always text, scalars are those of YAML 1.2 (`no` is a word), and nothing is expanded.
    """

    def __init__(self, source: str, first_line: int) -> None:
        self.source = source
        self.first_line = first_line
        self.value: object = None
        self.lines: dict[Path, int] = {}
        self.repeats: list[tuple[Path, int, int]] = []
        self._open: list[dict[str, object] | list[object]] = []
        self._at: list[Any] = []
        """For each open container the current key or index; None where a key comes next."""

    def take(self, event: yaml.Event) -> None:
        """Add what one event says."""
        line = self.first_line + (event.start_mark.line if event.start_mark else 0)
        if isinstance(event, yaml.NodeEvent):
            self._refuse_indirection(event, line)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.MappingStartEvent):
            self._enter({}, line)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._enter([], line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._at.pop()
            self._put(self._open.pop())

    def _refuse_indirection(self, event: yaml.NodeEvent, line: int) -> None:
        if event.anchor is not None:
            raise self.problem(line, f"the anchor {event.anchor!r} is not read", "Write it out.")
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            raise self.problem(line, f"the tag {event.tag!r} is not read", "Drop the tag.")

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        if self._at and self._at[-1] is None:
            self._key(event.value, line)
            return
        self._begin_item(line)
        self._put(_resolved(event.value) if event.implicit[0] else event.value)

    def _key(self, name: str, line: int) -> None:
        self._at[-1] = name
        first = self.lines.setdefault(tuple(self._at), line)
        if name in self._open[-1]:
            self.repeats.append((tuple(self._at), first, line))

    def _enter(self, container: dict[str, object] | list[object], line: int) -> None:
        if self._at and self._at[-1] is None:
            raise self.problem(line, "a key is a list or a mapping", "Use text for keys.")
        if len(self._open) >= MAX_DEPTH:
            raise self.problem(line, f"nested more than {MAX_DEPTH} levels deep", "Flatten it.")
        self._begin_item(line)
        self._open.append(container)
        self._at.append(None if isinstance(container, dict) else 0)

    def _begin_item(self, line: int) -> None:
        """Remember where an item of a list, or the whole, starts; a key has its own line."""
        if not self._open or isinstance(self._open[-1], list):
            self.lines[tuple(self._at)] = line

    def _put(self, value: object) -> None:
        if not self._open:
            self.value = value
            return
        container = self._open[-1]
        if isinstance(container, dict):
            container.setdefault(self._at[-1], value)
            self._at[-1] = None
        else:
            container.append(value)
            self._at[-1] += 1

    def line_of(self, at: Path) -> int:
        """The line of a key, or of the nearest one above it that is known."""
        known = (self.lines[at[:end]] for end in range(len(at), -1, -1) if at[:end] in self.lines)
        return next(known, self.first_line)

    def problem(self, line: int, message: str, suggestion: str) -> ParseError:
        details = {"source": self.source, "line": line}
        return ParseError(f"{self.source}:{line}: {message}", suggestion, details=details)


_INTEGER = re.compile(r"[-+]?[0-9]{1,400}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_CONSTANTS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_CONSTANTS |= {"true": True, "True": True, "TRUE": True}
_CONSTANTS |= {"false": False, "False": False, "FALSE": False}


def _resolved(text: str) -> object:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if len(text) < 400 and _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def _read(block: _Block, source: str) -> list[_Document]:
    """The documents of a block as they stand, else with their shorthand quoted."""
    try:
        return _parsed(block.text, block.first_line, source)
    except yaml.YAMLError:
        pass
    try:
        return _parsed(_with_quotes(block.text), block.first_line, source)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        offset = mark.line if mark else block.text.count("\n", 0, getattr(error, "position", 0))
        line = block.first_line + offset
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
        raise ParseError(
            f"{source}:{line}: {problem}",
            "Correct the YAML; quote what holds `: ` or ` #`, and shorthand of several lines.",
            details={"source": source, "line": line},
        ) from None


def _parsed(text: str, first_line: int, source: str) -> list[_Document]:
    documents: list[_Document] = []
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.DocumentStartEvent):
            documents.append(_Document(source, first_line))
        elif documents:
            documents[-1].take(event)
    return documents


_QUOTED = re.compile(r"""\"(?:[^"\\]|\\.)*+\"|'(?:[^']|'')*+'""")
_ENTRY = re.compile(
    r"""(?P<dashes>\ *(?:-\ +)*)
    (?P<key>(?:"[^"]*"\ *|'[^']*'\ *|[^\s"'#\[\]{}|>&*!%@`,?:-][^:#]*):\ +)?
    (?P<value>.*)""",
    re.VERBOSE,
)
_BLOCK_SCALAR = re.compile(r"[|>][-+1-9]{0,2} *(?:#.*)?")


def _with_quotes(text: str) -> str:
    """YAML whose shorthand values are quoted, line by line; block scalars and comments stay."""
    lines: list[str] = []
    scalar_indent, quote = math.inf, ""
    for line in text.split("\n"):
        lines.append(line)
        if not line.strip() or len(line) - len(line.lstrip(" ")) > scalar_indent:
            continue
        scalar_indent = math.inf
        if quote:
            quote = "" if _closing(quote + line, 0) else quote
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None or not (entry["key"] or entry["dashes"].strip()) or not entry["value"]:
            continue
        if _BLOCK_SCALAR.fullmatch(entry["value"]):
            dashes = entry["dashes"]
            scalar_indent = len(dashes) if entry["key"] else len(dashes.rstrip()) - 1
        elif entry["value"][0] in "\"'" and not _closing(entry["value"], 0):
            quote = entry["value"][0]
        elif len(line) <= MAX_TEXT:
            lines[-1] = line[: entry.start("value")] + _quoted_where_needed(entry["value"])
    return "\n".join(lines)


def _quoted_where_needed(value: str) -> str:
    end = _closing(value, 0) if value[0] in "\"'{[" else None
    comment = value.find(" #", end or 0)
    body, rest = (value, "") if comment < 0 else (value[:comment], value[comment:])
    return _readable(body, in_flow=False, depth=0) + rest


def _readable(text: str, *, in_flow: bool, depth: int) -> str:
    """One value, quoted where YAML would not read it as the text that it is."""
    body = text.strip()
    if not body or depth > MAX_DEPTH or (body[-1] == "," and not in_flow):
        return text
    if body[0] in "\"'{[":
        end = _closing(body, 0)
        after = body[end:].strip() if end else "unclosed"
        quote = after[:1] in ("?", "[", "|")
        inner = _flow(body, depth) if not after and body[0] in "{[" else body
    else:
        quote = any(sign in body for sign in "[]{}") if in_flow else ": " in body and "{" in body
        inner = body
    fixed = "'" + body.replace("'", "''") + "'" if quote else inner
    return text.replace(body, fixed, 1)


def _flow(body: str, depth: int) -> str:
    """A closed `{…}` or `[…]`, each of its parts made readable."""
    parts, position = [body[0]], 1
    while position < len(body):
        end = _part_end(body, position)
        parts += [_readable(body[position:end], in_flow=True, depth=depth + 1), body[end : end + 1]]
        position = end + 1
    return "".join(parts)


def _part_end(body: str, position: int) -> int:
    while position < len(body):
        sign = body[position]
        if sign in ",}]" or (sign == ":" and body[position + 1 : position + 2] in ("", " ")):
            return position
        end = _closing(body, position) if sign in "\"'{[(" else None
        position = end or position + 1
    return position


def _closing(text: str, start: int) -> int | None:
    """The position after what closes the quote or bracket at `start`; None: it stays open."""
    depth, position = 0, start
    while position < len(text):
        if text[position] in "\"'":
            quoted = _QUOTED.match(text, position)
            if quoted is None:
                return None
            position = quoted.end()
        else:
            depth += (text[position] in "{[(") - (text[position] in "}])")
            position += 1
        if depth == 0:
            return position
    return None


@dataclass(frozen=True, slots=True)
class _Definition:
    """A tool definition as it was found, with what an error message needs."""

    name: str
    fields: Fields
    at: Path
    document: _Document

    def line(self, *keys: str | int) -> int:
        return self.document.line_of((*self.at, *keys))

    def problem(self, message: str, suggestion: str, *keys: str | int) -> InvalidArgs:
        source, line = self.document.source, self.line(*keys)
        details = {"source": source, "line": line, "tool": self.name}
        return InvalidArgs(f"{source}:{line}: {self.name}: {message}", suggestion, details=details)


def _definitions(block: _Block, source: str) -> Iterator[_Definition]:
    try:
        documents = _read(block, source)
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


def _refuse_repeats(document: _Document, names: Mapping[Path, str]) -> None:
    for path, first, again in document.repeats:
        if path in names:
            raise _conflict(document.source, names[path], first, again)
        message = f"the key {path[-1]!r} is already on line {first}"
        raise document.problem(again, message, "Keep one of the two.")


def _found(value: Fields, document: _Document) -> Iterator[tuple[Path, str | None, object]]:
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
    key: str, part: object, document: _Document
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


def _definition(at: Path, key: str | None, part: object, document: _Document) -> _Definition:
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
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 120 else f"{text[:119]}…"
