"""The groups by which a mode knows tools."""

from __future__ import annotations

import pytest

from whence.declare.toolbox import Toolbox
from whence.gate.mode import check, group_of
from whence.shapes.policy import Mode
from whence.shapes.tool import Effect, Tool


def made(*effects: Effect, source: str = "builtin") -> Tool:
    return Tool("it", "", {"type": "object"}, None, effects=frozenset(effects), source=source)


@pytest.mark.requirement("gate:mode")
@pytest.mark.parametrize(
    ("tool", "group"),
    [
        (made(), None),
        (made(Effect.READ), "read"),
        (made(Effect.NETWORK), "read"),
        (made(Effect.READ, Effect.WRITE), "edit"),
        (made(Effect.WRITE, Effect.EXECUTE), "command"),
        (made(Effect.EXECUTE, source="mcp"), "mcp"),
        (made(source="mcp"), "mcp"),
    ],
    ids=["nothing", "reads", "asks", "writes", "runs", "server", "quiet server"],
)
def test_a_tool_is_of_the_group_of_the_most_that_it_does(tool: Tool, group: str | None) -> None:
    assert group_of(tool) == group


@pytest.mark.requirement("gate:mode")
def test_a_refusal_names_the_groups_that_there_are() -> None:
    (mounted,) = Toolbox([made(Effect.WRITE)])

    some = check(Mode("ask", "Ask", {"read": None, "mcp": None}), mounted, ())
    none = check(Mode("mute", "Mute", {}), mounted, ())

    assert some is not None
    assert some.suggestion.startswith("Use a tool of read, mcp, or a mode with 'edit'")
    assert none is not None
    assert none.suggestion.startswith("Use a tool of no group")
