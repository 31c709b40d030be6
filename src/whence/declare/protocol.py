"""Tools as the protocol's documents declare them: YAML, alone or in the fences of a Markdown page.

A definition stands below its name (`fs.read: {description: …, input_schema: …}`), below `tool:` or
on its own with a `name`, in `tools:`, or in the list `custom_tools:`. Everything else in a document
(examples, error schemas, logs, templates whose values are type words) is left alone.

Documents need not be valid YAML: `type: "file" | "directory"` and `{start: int, end: int}?` are
read as the text that they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from whence.declare.names import CANONICAL, HOW_TO_NAME
from whence.declare.protocol_tool import Definition, Fields, meant_key, shown_value, tool_of
from whence.declare.protocol_yaml import Block, Document, blocks, read
from whence.declare.shorthand import is_type_word
from whence.declare.type_text import Path
from whence.errors import Conflict, ParseError
from whence.shapes.tool import Tool

MAX_CHARACTERS = 2_000_000
"""How long a document may be."""

_SIGNS = frozenset(("output_schema", "sandbox", "examples", "mcp_server", "effects", "paths"))
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
    return [tool_of(definition) for definition in definitions]


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


def _definitions(block: Block, source: str) -> Iterator[Definition]:
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
                f"a document of tools is a mapping, not {shown_value(document.value)}",
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
            line, f"{key} is {shown_value(part)}", f"Make {key} a list of definitions."
        )


def _declares(part: object, enough: set[str]) -> bool:
    """Whether a mapping is meant as a definition: by its schema, or by keys only tools have."""
    if not isinstance(part, dict) or _is_template(part):
        return False
    return (
        bool(part.keys() & (enough | {"input_schema"}))
        or ("description" in part and bool(part.keys() & _SIGNS))
        or any(meant_key(key) == "input_schema" for key in part)
    )


def _is_template(fields: Fields) -> bool:
    """Whether a definition only shows the form: all that it says of itself are type words."""
    said = [fields[key] for key in ("name", "description", "category") if key in fields]
    return bool(said) and all(is_type_word(word) for word in said)


def _definition(at: Path, key: str | None, part: object, document: Document) -> Definition:
    place = Definition(key or ".".join(map(str, at)) or "tool", {}, at, document)
    if not isinstance(part, dict):
        raise place.problem(
            f"{shown_value(part)} is not a definition",
            "Write description and input_schema below it.",
        )
    name = part.get("name", key)
    if name is None:
        raise place.problem("the definition has no name", "Add `name:`, such as fs.read.")
    if key is not None and name != key:
        raise place.problem(
            f"it is called {shown_value(name)} inside", "Drop `name:`, or use one name.", "name"
        )
    if not isinstance(name, str) or not CANONICAL.fullmatch(name):
        raise place.problem(
            f"{shown_value(name)} cannot be the name of a tool", HOW_TO_NAME, "name"
        )
    return Definition(name, part, at, document)
