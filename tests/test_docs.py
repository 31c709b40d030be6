"""The documents name what exists."""

from __future__ import annotations

import re
from pathlib import Path

from whence import errors
from whence.catalogs import load_catalogs
from whence.chatmd.grammar import ELEMENTS
from whence.cli import COMMANDS

DOCS = Path(__file__).parents[1]
OF_TRANSCRIPTS = frozenset(
    "phase encrypted ochat-history-id language kind wall_time fuel max_tasks max_value"
    " max_array_items max_depth".split()
)
"""Attributes that runs write, or other programs: nobody types them."""


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


def test_every_element_and_attribute_of_an_agent_file_is_documented() -> None:
    text = (DOCS / "docs" / "reference.md").read_text("utf-8")
    section = text[text.index("## Agent files") : text.index("## An outcome")]
    section += text[text.index("## MCP servers") : text.index("## Isolation")]
    names = {name for rule in ELEMENTS.values() for name in rule.attributes} - OF_TRANSCRIPTS
    written = set(re.findall(r"[a-z_-]+", section))

    assert [tag for tag in ELEMENTS if f"<{tag}" not in section] == []
    assert sorted(names - written) == []
