"""Events as programs read them: what the reference promises of each is what is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whence.loop.news import (
    CallStarted,
    Compacted,
    Finished,
    News,
    Notice,
    Output,
    Result,
    TextPiece,
    Thought,
    TurnEnded,
    as_json,
)
from whence.provider.model import Waiting
from whence.shapes.item import Usage

REFERENCE = Path(__file__).parents[2] / "docs" / "reference.md"
EVENTS: list[News] = [
    TextPiece("a", "parent"),
    Thought("a", "parent"),
    CallStarted("c", "fs.read", "To see", {"path": "x"}, "parent"),
    Output("c", "a", "parent"),
    TurnEnded(1, Usage(), 0, "parent"),
    Waiting(0.5, "busy"),
    Compacted(3, "a", "parent"),
    Notice("a", "parent"),
    Finished(Result("a")),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
@pytest.mark.requirement("run:json")
def test_the_keys_of_an_event_are_in_the_reference(event: News) -> None:
    printed = as_json(event)
    kind = printed.pop("type")
    printed.pop("parent", None)
    rows = re.findall(r"(?m)^\| (`[a-z`, ]+`) \| (.*) \|$", REFERENCE.read_text("utf-8"))
    (row,) = [said for kinds, said in rows if f"`{kind}`" in kinds]

    named = re.findall(r"`(\w+)`", row)
    assert named[: len(printed)] == list(printed)
    if isinstance(event, Finished):
        assert set(printed["result"]) <= set(named)
