"""The directories that an agent file lets its tools read: what their names mean on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from whence.chatmd.include import Expanded
from whence.declare.roots import shown_root, with_roots
from whence.journal.sessions import SESSIONS
from whence.shapes.declaration import Resolved, Root
from whence.shapes.document import Diagnostic, Severity, Span, places
from whence.shapes.tool import Tool

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_MADE_LATER = ("${session_dir}", "${cache_dir}")
"""What a run makes when it needs it."""


def grant_roots(resolved: Resolved, expanded: Expanded, path: str, workspace: str) -> Resolved:
    """The declarations, their tools held to the roots that they name; a missing one is an error."""
    if not resolved.roots:
        return resolved
    granted: dict[str, Tool] = {}
    problems: list[Diagnostic] = []
    for tool in resolved.tools:
        roots = resolved.roots.get(tool.name, ())
        if roots:
            span = resolved.spans[tool.name]
            known = _places(path, expanded.origin(span.start)[0], workspace)
            found = [replace(root, path=_directory(root, known)) for root in roots]
            granted[tool.name] = _granted(tool, roots, found)
            problems += _missing(roots, found, expanded.document.source, span)
    tools = tuple(granted.get(tool.name, tool) for tool in resolved.tools)
    return replace(resolved, tools=tools, problems=(*resolved.problems, *problems))


def _places(path: str, source: str, workspace: str) -> Mapping[str, str]:
    here = os.path.realpath(workspace)
    return {
        "workspace": here,
        "tool_dir": here,
        "prompt_dir": os.path.dirname(os.path.abspath(path)),
        "source_dir": os.path.dirname(os.path.abspath(source)),
        "session_dir": os.path.join(here, SESSIONS),
        "cache_dir": os.path.join(here, ".agent/cache"),
        "home": os.path.expanduser("~"),
    }


def _directory(root: Root, known: Mapping[str, str]) -> str:
    written = _PLACEHOLDER.sub(lambda name: known[name[1]], root.path)
    return os.path.realpath(os.path.join(known["workspace"], written))


def _granted(tool: Tool, roots: tuple[Root, ...], found: list[Root]) -> Tool:
    said = tool.description
    for written, real in zip(roots, found, strict=True):
        said = said.replace(shown_root(written), shown_root(real))
    held = with_roots(tool, {root.id: root.path for root in found})
    return replace(held, description=said)


def _missing(
    roots: tuple[Root, ...], found: list[Root], source: bytes, span: Span
) -> Iterator[Diagnostic]:
    for written, real in zip(roots, found, strict=True):
        if os.path.isdir(real.path) or written.path.startswith(_MADE_LATER):
            continue
        (place,) = places(source, [span.start])
        yield Diagnostic(
            Severity.ERROR,
            "missing-root",
            f"The root {written.id} is {real.path}, which is no directory.",
            "Make it, or correct its path; a relative one begins at the workspace.",
            span,
            place.line,
            place.column,
            place.text,
        )
