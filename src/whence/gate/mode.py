"""Does the mode allow this tool, here?"""

from __future__ import annotations

from collections.abc import Iterable

from whence.declare.toolbox import Mounted
from whence.shapes.call import Fault
from whence.shapes.place import Place
from whence.shapes.policy import Mode
from whence.shapes.tool import Effect, Tool


def group_of(tool: Tool) -> str | None:
    """The group that a mode knows the tool by; None: it touches nothing and is always allowed."""
    if tool.source == "mcp":
        return "mcp"
    if Effect.EXECUTE in tool.effects:
        return "command"
    if Effect.WRITE in tool.effects:
        return "edit"
    return "read" if tool.effects else None


def check(
    mode: Mode | None, mounted: Mounted, places: Iterable[tuple[Effect, Place]]
) -> Fault | None:
    """What the mode has against the call."""
    if mode is None or (group := group_of(mounted.tool)) is None:
        return None
    if group not in mode.groups:
        return Fault(
            "PERMISSION_DENIED",
            f"{mounted.name} is of the group {group!r}, which mode {mode.slug!r} does not have",
            f"Use a tool of {', '.join(mode.groups) or 'no group'}, or a mode with {group!r}.",
        )
    pattern = mode.groups[group]
    if pattern is None:
        return None
    held = [place for effect, place in places if group != "edit" or effect is Effect.WRITE]
    return _paths(mode, mounted, pattern, held)


def _paths(mode: Mode, mounted: Mounted, pattern: str, places: Iterable[Place]) -> Fault | None:
    import re2

    allowed = re2.compile(pattern)
    for place in places:
        if allowed.search(place.path) is None:
            return Fault(
                "PERMISSION_DENIED",
                f"mode {mode.slug!r} lets {mounted.name} touch only paths that match {pattern!r}; "
                f"got {place.path!r}",
                "Choose a path that matches, or switch to another mode.",
            )
    return None
