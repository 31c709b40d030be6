"""The documents name what exists."""

from __future__ import annotations

from pathlib import Path

from whence import errors
from whence.catalogs import load_catalogs
from whence.cli import COMMANDS

DOCS = Path(__file__).parents[1]


def reference() -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted((DOCS / "docs").rglob("*.md")))


def test_every_tool_has_a_heading_in_the_reference() -> None:
    headings = {line for line in reference().splitlines() if line.startswith("#")}

    assert [tool.name for tool in load_catalogs() if f"### `{tool.name}`" not in headings] == []


def test_every_error_code_and_command_is_documented() -> None:
    text = reference()
    codes = [kind.code for kind in errors.WhenceError.__subclasses__() if kind.code != "USAGE"]

    assert [code for code in codes if f"`{code}`" not in text] == []
    assert [name for name in COMMANDS if f"`whence {name}" not in text] == []
