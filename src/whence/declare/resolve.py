"""The front door: the declarations of an agent file, as tools, servers, settings and an interface.

Nothing is read or run here but through what the caller hands in, and nothing raises for what a file
says: every problem of the file comes back with its place and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from whence.declare import agent, builtin, python
from whence.declare.config import read_config
from whence.declare.interface import read_interface
from whence.declare.report import Report
from whence.shapes.declaration import Declared, McpServer, Resolved
from whence.shapes.document import Document, Element, Span
from whence.shapes.tool import Tool

Makers: TypeAlias = Mapping[str, Callable[[Element], Iterable[Declared | McpServer]]]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SOURCES = ("command", "agent", "mcp_server", "python", "catalog")
_ATTRIBUTES = {
    "builtin": _words("name catalog include includes description timeout network freeform"),
    "command": _words(
        "name command description timeout max_output cwd env network sandbox effects"
    ),
    "agent": _words("name agent local description timeout"),
    "mcp_server": _words(
        "name mcp_server include includes strict client_id_env client_secret_env headers_env env"
        " cwd timeout network"
    ),
    "python": _words("name python description timeout effects"),
}
"""What an attribute can mean depends on where the tool comes from."""
_CHILDREN = {"builtin": "read", "command": "param"}
_HARMLESS = _words("description local strict")
_KNOWN = frozenset[str]().union(*_ATTRIBUTES.values())
_KINDS = {
    "builtin": "a built-in tool",
    "command": "a command",
    "agent": "an agent",
    "mcp_server": "a server",
    "python": "a Python function",
}


def resolve(
    document: Document,
    *,
    catalogs: Mapping[str, Sequence[Tool]],
    default_catalogs: Sequence[str],
    load_document: agent.LoadDocument,
    load_function: python.LoadFunction,
) -> Resolved:
    """Everything that a file declares, and every problem with its declarations.

    Args:
        document: The file, its imports already in place.
        catalogs: The built-ins that there are, by catalog.
        default_catalogs: Where a name is looked up that comes without a catalog, in order.
        load_document: Reads another agent file, by the path as it is written here.
        load_function: Loads a function, by the path as it is written here and its name.
    """
    report = Report(document.source)
    shelf = builtin.Shelf(catalogs, default_catalogs)

    def command(element: Element) -> Iterable[Declared]:
        from whence.declare import shell

        return shell.declare(element, report)

    def mcp_server(element: Element) -> Iterable[McpServer]:
        from whence.declare import mcp

        return mcp.declare(element, report)

    makers: Makers = {
        "builtin": lambda element: builtin.declare(element, shelf, report),
        "command": command,
        "agent": lambda element: agent.declare(element, load_document, report),
        "mcp_server": mcp_server,
        "python": lambda element: python.declare(element, load_function, report),
    }
    found = [one for each in document.tagged("tool") for one in _declare(each, makers, report)]
    kept = _distinct(found, report)
    declared = [one for one in kept if isinstance(one, Declared)]
    return Resolved(
        tools=tuple(one.tool for one in declared),
        bindings={one.tool.name: one.binding for one in declared},
        servers=tuple(one for one in kept if isinstance(one, McpServer)),
        config=read_config(document, report),
        interface=read_interface(document, report),
        roots={one.tool.name: one.roots for one in declared if one.roots},
        spans={one.tool.name: one.span for one in declared},
        problems=report.diagnostics(),
    )


def _declare(element: Element, makers: Makers, report: Report) -> Iterable[Declared | McpServer]:
    given = [name for name in _SOURCES if name in element.attributes]
    if len(given) > 1:
        message = f"<tool> cannot combine {' and '.join(given)}."
        report.error("mixed-sources", element, message, "Declare one tool for each.", at=given[1])
        return ()
    kind = given[0] if given and given[0] != "catalog" else "builtin"
    if kind == "builtin" and not element.attributes.keys() & {"name", "catalog"}:
        hint = 'Name a built-in: name="…"; or add command, agent, mcp_server or python.'
        report.error("empty-tool", element, "This tool says nothing about what it is.", hint)
        return ()
    _check_attributes(element, kind, report)
    _check_children(element, kind, report)
    return makers[kind](element)


def _check_attributes(element: Element, kind: str, report: Report) -> None:
    for name in element.attributes.keys() & _KNOWN - _ATTRIBUTES[kind]:
        say = report.warning if name in _HARMLESS else report.error
        message = f"{name} does nothing for {_KINDS[kind]}."
        say("misplaced-attribute", element, message, "Remove it.", at=name)


def _check_children(element: Element, kind: str, report: Report) -> None:
    for child in element.children:
        if child.tag != _CHILDREN.get(kind):
            message = f"<{child.tag}> does nothing for {_KINDS[kind]}."
            report.error("misplaced-child", child, message, "Remove it.")


def _distinct(found: Iterable[Declared | McpServer], report: Report) -> list[Declared | McpServer]:
    """What was found, without the later ones of those that share a name."""
    first: dict[str, Span] = {}
    kept: list[Declared | McpServer] = []
    for one in found:
        if isinstance(one, Declared):
            kept += [one] if _claim(one.tool.name, one.span, first, report) else []
        elif one.include is None:
            kept.append(one)
        else:
            names = tuple(n for n in one.include if _claim(n, one.span, first, report))
            kept += [replace(one, include=names)] if names else []
    return kept


def _claim(name: str, span: Span, first: dict[str, Span], report: Report) -> bool:
    """Whether nobody had the name before."""
    owner = first.setdefault(name, span)
    if owner is span:
        return True
    lines = f"on line {report.line(owner)} and on line {report.line(span)}"
    hint = "Rename one of them, or declare only one."
    report.error_at("duplicate-tool", span, f"Two tools are called {name}: {lines}.", hint)
    return False
