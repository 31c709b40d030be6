"""`<tool name="read_file"/>`, `<tool catalog="moollm"/>`: tools that come with the program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from whence.chatmd.suggest import closest, quoted
from whence.declare.names import Names
from whence.declare.report import Report
from whence.declare.roots import shown_root
from whence.declare.values import duration_ms, hosts, include, text
from whence.shapes.declaration import Builtin, Declared, Root
from whence.shapes.document import Element
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Tool

_READS_ROOTS = "read_file"
_ROOT_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}?")
_PLACES = ("workspace", "tool_dir", "prompt_dir", "source_dir", "session_dir", "cache_dir", "home")


class Shelf:
    """The built-ins that can be declared, by catalog."""

    def __init__(self, catalogs: Mapping[str, Sequence[Tool]], defaults: Sequence[str]) -> None:
        self.catalogs = catalogs
        self.defaults = defaults
        self._tables: dict[str, Names] = {}

    def find(self, name: str, catalogs: Sequence[str]) -> tuple[str, Tool] | None:
        """The first of these catalogs that knows the name or alias, and the tool it means."""
        for catalog in catalogs:
            canonical = self._names(catalog).canonical(name)
            if canonical is not None:
                return catalog, next(t for t in self.catalogs[catalog] if t.name == canonical)
        return None

    def suggest(self, name: str, catalogs: Sequence[str]) -> str:
        """What to do about a name that none of these catalogs knows."""
        elsewhere = self.find(name, [each for each in self.catalogs if each not in catalogs])
        if elsewhere:
            return f'It belongs to another catalog: write catalog="{elsewhere[0]}".'
        near = [match for catalog in catalogs for match in self._names(catalog).closest(name)]
        if near:
            return f"Did you mean {' or '.join(dict.fromkeys(near[:3]))}?"
        return "A tool of your own needs command, agent, mcp_server or python."

    def _names(self, catalog: str) -> Names:
        if catalog not in self._tables:
            tools = self.catalogs[catalog]
            self._tables[catalog] = Names.of((tool.name, tool.aliases) for tool in tools)
        return self._tables[catalog]


def declare(element: Element, shelf: Shelf, report: Report) -> list[Declared]:
    """The built-ins that one element mounts, under the names that their catalog gives them."""
    catalogs = _catalogs(element, shelf, report)
    wanted = include(element, report)
    if wanted is None and "catalog" in element.attributes:
        found = [(name, tool) for name in catalogs for tool in shelf.catalogs[name]]
    else:
        found = _named(element, wanted or (), shelf, catalogs, report)
    found = _as_text(element, _reaching(element, found, report), report)
    timeout_ms = duration_ms(element, "timeout", report)
    if "name" not in element.attributes:
        _refuse_what_one_tool_has(element, report)
        return [_declared(element, catalog, tool, timeout_ms) for catalog, tool in found]
    said = text(element, "description")
    return [
        _declared(element, catalog, tool, timeout_ms, said, _roots(element, tool, report))
        for catalog, tool in found
    ]


def _catalogs(element: Element, shelf: Shelf, report: Report) -> Sequence[str]:
    name = text(element, "catalog")
    if name is None:
        return shelf.defaults
    if name in shelf.catalogs:
        return (name,)
    near = closest(name, shelf.catalogs)
    known = f"Catalogs: {', '.join(shelf.catalogs) or 'none'}."
    hint = f"Did you mean {near}? {known}" if near else known
    message = f"There is no catalog {quoted(name)}."
    report.error("unknown-catalog", element, message, hint, at="catalog")
    return ()


def _named(
    element: Element, wanted: Sequence[str], shelf: Shelf, catalogs: Sequence[str], report: Report
) -> list[tuple[str, Tool]]:
    """The tools of these names, each once, whatever alias it was called by."""
    found: dict[str, tuple[str, Tool]] = {}
    for name in wanted:
        known = shelf.find(name, catalogs)
        if known:
            found.setdefault(known[1].name, known)
        elif catalogs:
            at = next(key for key in ("name", "include", "includes") if key in element.attributes)
            message = f"Unknown built-in tool: {quoted(name)}."
            report.error("unknown-builtin", element, message, shelf.suggest(name, catalogs), at=at)
    return list(found.values())


def _reaching(
    element: Element, found: list[tuple[str, Tool]], report: Report
) -> list[tuple[str, Tool]]:
    """The tools, those that use the network held to the hosts that the element lists."""
    if "network" not in element.attributes or not found:
        return found
    if not any(Effect.NETWORK in tool.effects for _, tool in found):
        message = f"network does nothing for {found[0][1].name}."
        report.error("misplaced-attribute", element, message, "Remove it.", at="network")
        return found
    listed = hosts(element, report, networks=True)
    if listed == ():
        hint = "List hosts, or do not declare it."
        report.bad(element, "network", "The tool is nothing without the network.", hint)
    return [(catalog, _held(tool, listed) if listed else tool) for catalog, tool in found]


def _as_text(
    element: Element, found: list[tuple[str, Tool]], report: Report
) -> list[tuple[str, Tool]]:
    """The tools, those that take plain text asked for it, where the element says so."""
    if not element.flag("freeform"):
        return found
    if not any(tool.freeform for _, tool in found):
        message = "freeform does nothing for a tool that takes more than one text."
        report.error("misplaced-attribute", element, message, "Remove it.", at="freeform")
    return [
        (
            name,
            replace(tool, freeform=replace(tool.freeform, asked=True)) if tool.freeform else tool,
        )
        for name, tool in found
    ]


def _held(tool: Tool, listed: tuple[str, ...]) -> Tool:
    if Effect.NETWORK not in tool.effects:
        return tool
    return replace(tool, sandbox=replace(tool.sandbox, hosts=listed))


def _refuse_what_one_tool_has(element: Element, report: Report) -> None:
    for child in element.children:
        hint = f'Name the tool that it is for: name="{_READS_ROOTS}".'
        report.error("misplaced-child", child, "Several tools cannot share a root.", hint)
    if "description" in element.attributes:
        message = "One description cannot fit several tools."
        report.warning("misplaced-attribute", element, message, "Remove it.", at="description")


def _declared(
    element: Element,
    catalog: str,
    tool: Tool,
    timeout_ms: int | None,
    said: str | None = None,
    roots: tuple[Root, ...] = (),
) -> Declared:
    if timeout_ms is not None:
        tool = replace(tool, sandbox=replace(tool.sandbox, timeout_ms=timeout_ms))
    if roots:
        tool = replace(tool, input_schema=_with_roots(tool.input_schema, roots))
    lines = [tool.description, *map(shown_root, roots), said]
    tool = replace(tool, description="\n".join(filter(None, lines)))
    return Declared(tool, Builtin(catalog), element.span, roots)


def _with_roots(schema: JSONObject, roots: Sequence[Root]) -> dict[str, Any]:
    """The schema, with `root` as a choice of the ids."""
    properties: Any = schema.get("properties", {})
    root = {"type": "string", "description": "The root that the path is relative to"}
    choice = {**root, **properties.get("root", {}), "enum": [each.id for each in roots]}
    return {**schema, "properties": {**properties, "root": choice}}


def _roots(element: Element, tool: Tool, report: Report) -> tuple[Root, ...]:
    children = [child for child in element.children if child.tag == "read"]
    properties: Any = tool.input_schema.get("properties", {})
    if children and tool.name != _READS_ROOTS and "root" not in properties:
        message = f"{tool.name} takes no roots."
        hint = f"Put <read> into {_READS_ROOTS} of a catalog that has it, or remove it."
        report.error("misplaced-child", children[0], message, hint)
        return ()
    roots: dict[str, Root] = {}
    for child in children:
        root = _root(child, report)
        if root is None:
            continue
        if root.id in roots:
            message = f"There is another root {quoted(root.id)}."
            report.error("duplicate-root", child, message, "Give each root an id of its own.")
        roots.setdefault(root.id, root)
    return tuple(roots.values())


def _root(element: Element, report: Report) -> Root | None:
    path = text(element, "path")
    if path is None:
        return None
    unknown = [name for name in _PLACEHOLDER.findall(path) if name not in _PLACES]
    if not path or "\0" in path or unknown:
        places = ", ".join(f"${{{name}}}" for name in _PLACES)
        message = f"path is {quoted(path)}."
        report.bad(
            element, "path", message, f"Name a directory; it may begin with one of {places}."
        )
        return None
    given = text(element, "id")
    known_as = path.rstrip("/").rpartition("/")[2] if given is None else given
    if not _ROOT_ID.fullmatch(known_as):
        hint = 'Give it one in up to 64 letters, digits, `_`, `-` and `.`: id="docs".'
        report.bad(element, "id", f"The id of this root is {quoted(known_as)}.", hint)
        return None
    return Root(known_as, path, text(element, "description") or "")
