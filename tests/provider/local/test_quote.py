"""What people are shown of outcomes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from whence.declare.toolbox import Toolbox
from whence.provider.local.answer import needs_more, nothing_fits, topic
from whence.provider.local.quote import fault, quote, sentences_of
from whence.shapes.item import Image, Link, Text, ToolOutcome
from whence.shapes.tool import Tool


def outcome(value: Any, *, structured: bool = False) -> ToolOutcome:
    text = value if isinstance(value, str) else json.dumps(value)
    return ToolOutcome("1", (Text(text),), structured=value if structured else None)


@pytest.mark.requirement("local:quotes")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain words", "plain words"),
        ({"content": "one\ntwo\n", "lines": 2, "truncated": False}, "one\ntwo"),
        ([{"name": "src", "type": "directory", "size": 1}, {"name": "a.py", "type": "file"}],
         "src/\na.py"),
        ([{"path": "a.py", "line": 3, "content": "  x = 1", "context": []}], "a.py:3: x = 1"),
        ({"bytes_written": 9, "created": True}, "bytes_written: 9\ncreated: true"),
        ([1, 2], "1\n2"),
        (42, "42"),
        ([], "Nothing was found."),
        ({}, "Done."),
        ("", "It gave no output."),
    ],
    ids=["text", "content", "listing", "hits", "fields", "values", "number", "none", "empty",
         "silence"],
)  # fmt: skip
@pytest.mark.parametrize("structured", [True, False], ids=["value", "words"])
def test_a_result_is_quoted_whether_it_comes_as_a_value_or_as_words(
    value: Any, shown: str, structured: bool
) -> None:
    assert quote(outcome(value, structured=structured)) == shown


def test_remarks_of_the_loop_do_not_hide_the_value() -> None:
    said = ToolOutcome("1", (Text('{"content": "one\\ntwo"}\n[warning: cut after 9 bytes]'),))

    assert quote(said) == "one\ntwo"


def test_a_long_result_is_cut_and_says_how_much_is_left() -> None:
    said = quote(outcome("line\n" * 1000))

    assert said.count("line\n") == 60
    assert said.endswith("… 4700 more characters")


def test_a_picture_is_said_to_be_one() -> None:
    said = ToolOutcome("1", (Image(Link("https://example.org/a.png")),))

    assert quote(said) == "It is a picture, which I cannot see."


def test_a_fault_is_told_with_what_would_help() -> None:
    error = {"error": {"code": "NOT_FOUND", "message": "no a.txt", "suggestion": "Try b.txt."}}

    assert fault(outcome(error)) == "no a.txt. Try b.txt."
    assert fault(outcome("it broke")) == "it broke"


def test_sentences_keep_their_line_and_lose_their_layout() -> None:
    text = (
        "# A title of four words\n\n- One is here now. Two is there now.\nShort.\nIs it so, now?\n"
        "```\n$ run this and that\n```\nThree is after the code."
    )

    assert sentences_of(text) == [
        ("A title of four words", 1), ("One is here now.", 3), ("Two is there now.", 3),
        ("Three is after the code.", 9),
    ]  # fmt: skip


def test_a_sentence_that_was_broken_at_the_end_of_a_line_is_whole() -> None:
    text = (
        "# Journal\n\n"
        "It is kept beside the file. Every record of it holds a hash of what stands before\n"
        "it, and that is all. Nothing else is told.\n"
        "- a list of things is never joined with what stands above, however long it is\n"
        "- nor with this\n"
    )

    assert sentences_of(text) == [
        ("It is kept beside the file.", 3),
        ("Every record of it holds a hash of what stands before it, and that is all.", 3),
        ("Nothing else is told.", 4),
        ("a list of things is never joined with what stands above, however long it is", 5),
    ]


def test_the_topic_is_what_the_arguments_do_not_say() -> None:
    assert topic("What does README.md say about the journal?", {"path": "README.md"}) == ["journal"]
    assert topic("what does the file LICENSE say?", {"path": "LICENSE"}) == []


def test_what_cannot_be_done_is_said_with_what_can() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    }
    tools = list(Toolbox([Tool(f"t{n}", f"Does {n}\nmore", schema, None) for n in range(14)]))

    said = nothing_fits("what is it?", tools, small_talk=False)
    assert said.startswith("I do not know")
    assert nothing_fits("burn it", tools, small_talk=False).startswith("I cannot do that")
    assert "- t0: Does 0\n" in said
    assert said.endswith("- … and 2 more")
    assert "no tools here" in nothing_fits("hi", [], small_talk=True)
    assert "what that needs: n" in needs_more("do it", tools[0])
