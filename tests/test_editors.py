"""The TextMate grammar, run by a real engine over the examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[1]
TEXT = (HERE / "editors/textmate/chatmd.tmLanguage.json").read_text("utf-8")
MARKDOWN = '{"include": "text.html.markdown"}'
GRAMMAR = json.loads(TEXT.replace(f",\n        {MARKDOWN}", ""))
"""Without Markdown inside messages: that grammar is the editor's."""
EXAMPLES = sorted((HERE / "examples").glob("*.chatmd"))

pytestmark = [
    pytest.mark.requirement("chatmd:grammar"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def tokens(text: str) -> list[tuple[str, list[str]]]:
    from textmate_grammar.parsers.base import LanguageParser

    found: Any = LanguageParser(GRAMMAR).parse_string(text)
    return [(content, names) for _, content, names in found.flatten()]


def scopes(text: str, word: str) -> set[str]:
    return {name for content, names in tokens(text) if word in content for name in names}


def test_the_grammar_colours_elements_attributes_raw_blocks_and_comments() -> None:
    text = (
        '<config model="gpt" show_tool_call/>\n<!-- note -->\n'
        '<user id="1">\nplain <doc src="a.md" local/>\nRAW|<user>|RAW\n</user>\n'
    )

    assert "entity.name.tag.declaration.chatmd" in scopes(text, "config")
    assert "entity.other.attribute-name.chatmd" in scopes(text, "model")
    assert "string.quoted.double.chatmd" in scopes(text, "gpt")
    assert "entity.other.attribute-name.flag.chatmd" in scopes(text, "show_tool_call")
    assert "comment.block.chatmd" in scopes(text, "note")
    assert "entity.name.tag.inline.chatmd" in scopes(text, "doc")
    assert "string.unquoted.raw.chatmd" in scopes(text, "<user>")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_tag_of_the_examples_is_recognised(path: Path) -> None:
    found = tokens(path.read_text("utf-8"))

    tags = {content for content, names in found if any("entity.name.tag" in n for n in names)}
    assert {"config", "tool", "user"} <= tags
    assert not any("invalid" in name for _, names in found for name in names)
