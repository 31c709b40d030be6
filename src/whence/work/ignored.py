"""An ignore file of the workspace, in the language of `.gitignore`: what tools must leave alone.

It is read again for every call, covers itself, and holds for the path as it is spelled and for
where it leads. One that cannot be read stops the call: what it would cover is not known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, replace

from whence.errors import NotFound, PermissionDenied, WhenceError
from whence.execute.ports import Files, Kind, Ports
from whence.shapes.json import JSONObject
from whence.shapes.tool import Tool
from whence.work.lexical.globs import Rules

NAME = ".rooignore"
_LARGEST = 1 << 20
_PLAIN = re.compile(r"[\w./*-][\w./* -]*")
"""A pattern that every engine reads in the same way and that takes nothing back."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """What the ignore file of a workspace covers."""

    rules: Rules | None
    """None: there is no such file."""
    patterns: tuple[str, ...] = ()
    """Patterns that a search need not look into; none where that would take too much away."""
    covering: tuple[str, ...] = ()
    """Patterns of at least all that it covers: what it takes back again is not taken back here."""

    @classmethod
    def of(cls, files: Files) -> Ignored:
        """What the file says now."""
        try:
            with files.open(NAME) as file:
                text = file.read(_LARGEST).decode("utf-8-sig", "replace")
        except NotFound:
            return cls(None)
        except WhenceError as error:
            raise PermissionDenied(
                f"{NAME} cannot be read, so that nothing can be allowed: {error.message}",
                f"Ask the user to correct {NAME}.",
            ) from None
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        stated = _stated(lines)
        covering = (NAME, *(line for line in stated if not line.startswith("!")))
        return cls(Rules.of(lines), _patterns(stated), covering)

    def covers(self, path: str, *, is_directory: bool) -> bool:
        """Whether a path of the workspace is covered, or a directory above it."""
        if self.rules is None:
            return False
        if path == NAME:
            return True
        if self.rules.excludes(path, is_directory=is_directory):
            return True
        above = os.path.dirname(path)
        return bool(above) and self.covers(above, is_directory=True)

    def refuse(self, files: Files, path: str) -> None:
        """Let a path pass that is not covered.

        Raises:
            PermissionDenied: It is.
        """
        if self.rules is None:
            return
        found = files.info(path)
        is_directory = found is not None and found.kind is Kind.DIRECTORY
        if any(self.covers(name, is_directory=is_directory) for name in _names(files, path)):
            raise PermissionDenied(
                f"access to {path!r} is blocked by {NAME}",
                f"Go on without it, or ask the user to change {NAME}.",
                details={"type": "access_denied", "path": path},
            )


def guarded(tool: Tool) -> Tool:
    """The tool, which refuses every path of a call that the ignore file covers."""
    run = tool.handler
    if run is None:
        return tool

    def handler(arguments: JSONObject, ports: object, /) -> Awaitable[object]:
        if isinstance(ports, Ports):
            ignored = Ignored.of(ports.files)
            for path in _paths(tool, arguments):
                ignored.refuse(ports.files, path)
        return run(arguments, ports)

    return replace(tool, handler=handler)


def _paths(tool: Tool, arguments: JSONObject) -> Iterable[str]:
    named = [arguments.get(name) for name in tool.paths]
    inside = [path for _, path in tool.touches(arguments)] if tool.touches else []
    return [path for path in (*named, *inside) if isinstance(path, str)]


def _names(files: Files, path: str) -> set[str]:
    """The path as it is spelled and as it leads, relative to the workspace, where it is inside."""
    root = files.real(".")
    spelled = os.path.relpath(os.path.join(root, path), root)
    names = {spelled, files.shown(path)} - {"."}
    return {name for name in names if not name.startswith(("../", "/")) and name != ".."}


def _stated(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _patterns(stated: list[str]) -> tuple[str, ...]:
    return tuple(stated) if all(map(_PLAIN.fullmatch, stated)) else ()
