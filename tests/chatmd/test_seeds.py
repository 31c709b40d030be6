"""Every snippet of ChatMD in the documents that describe it loads."""

from __future__ import annotations

import re

import pytest

from tests.conftest import SHARED
from whence.chatmd.parse import parse
from whence.shapes.document import Comment, Element

SEEDS = SHARED / "seeds"
_FENCED = re.compile(r"^```xml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(<tool [a-z_]+=\"[^`]*/>)`")


def snippets(number: str) -> list[str]:
    paths = list(SEEDS.glob(f"{number}_*.txt"))
    if not paths:
        pytest.skip(f"{SEEDS} is not here")
    text = paths[0].read_text(encoding="utf-8")
    return _FENCED.findall(text) + _INLINE.findall(text)


@pytest.mark.parametrize(("number", "least"), [("000", 10), ("001", 5), ("004", 1)])
def test_every_snippet_of_a_seed_loads_without_a_fault(number: str, least: int) -> None:
    found = snippets(number)

    assert len(found) >= least
    for snippet in found:
        document = parse(snippet)
        assert document.diagnostics[:] == (), snippet
        assert any(isinstance(node, Element) for node in document.nodes), snippet


def test_the_quick_start_declares_what_it_says() -> None:
    document = parse(snippets("000")[0])

    assert [tool.get("name") for tool in document.tagged("tool")] == [
        "apply_patch",
        "read_dir",
        "read_file",
        "webpage_to_markdown",
        "git_status",
        "triage",
        None,
    ]
    tools = list(document.tagged("tool"))
    assert tools[5].flag("local")
    assert tools[6].get("mcp_server") == "stdio:npx -y brave-search-mcp"
    assert Comment(" alias: get_contents ") in list(document.nodes)
