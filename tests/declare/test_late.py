"""A built-in tool looks at its function when somebody asks, and not before."""

from __future__ import annotations

import copy
from dataclasses import replace

from whence.declare.function import tool
from whence.declare.toolbox import Toolbox


def test_a_builtin_shows_its_schemas_when_it_is_asked() -> None:
    @tool("late.read", source="builtin")
    async def read(path: str, limit: int = 5) -> list[str]:
        """Read."""
        return [path] * limit

    assert read.input_schema["properties"] == {
        "path": {"type": "string"},
        "limit": {"type": "integer", "default": 5},
    }
    assert read.output_schema == {"type": "array", "items": {"type": "string"}}
    assert read.handler is not None


def test_a_builtin_can_be_changed_copied_and_mounted() -> None:
    @tool("late.read", source="builtin")
    async def read(path: str) -> str:
        """Read."""
        return path

    changed = replace(read, description="Other.")

    assert changed.input_schema == copy.copy(read).input_schema
    assert changed.handler is read.handler
    assert [mounted.required for mounted in Toolbox([changed])] == [{"path"}]


def test_what_a_tool_does_not_have_is_still_missing() -> None:
    @tool("late.read", source="builtin")
    async def read(path: str) -> str:
        """Read."""
        return path

    assert not hasattr(read, "nothing")
