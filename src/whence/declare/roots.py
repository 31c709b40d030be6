"""`<read id path/>`: directories that one tool may read, and the only ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from whence.shapes.declaration import Root
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Handler, Tool

Named: TypeAlias = Callable[[JSONObject], JSONObject]
ROOT = "root"
"""The argument that names a root by its id."""


def shown_root(root: Root) -> str:
    """A root as a model is told of it."""
    said = f": {root.description}" if root.description else ""
    return f"Root {root.id} is {root.path}{said}"


def with_roots(tool: Tool, directories: Mapping[str, str]) -> Tool:
    """The tool, held to these directories, by id; absolute and without links.

    Its one path is relative to the root that a call names, else to the workspace.
    """
    (argument,) = tool.paths

    def named(arguments: JSONObject) -> JSONObject:
        root, path = arguments.get(ROOT), arguments.get(argument)
        if root not in directories or not isinstance(path, str) or path.startswith("/"):
            return arguments
        rest = {name: value for name, value in arguments.items() if name != ROOT}
        return {**rest, argument: f"{directories[str(root)].rstrip('/')}/{path}"}

    def touches(arguments: JSONObject) -> list[tuple[Effect, str]]:
        path = named(arguments).get(argument)
        return [(Effect.READ, path)] if isinstance(path, str) else []

    return replace(
        tool,
        paths={},
        touches=touches,
        sandbox=replace(tool.sandbox, read_roots=tuple(directories.values())),
        handler=_below(tool.handler, named) if tool.handler else None,
    )


def _below(handler: Handler, named: Named) -> Handler:
    def call(arguments: JSONObject, ports: object, /) -> Awaitable[object]:
        return handler(named(arguments), ports)

    return call
