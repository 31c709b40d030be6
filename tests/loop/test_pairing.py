"""A history that was edited, merged or cut off is put right before it is sent."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.loop.compact import split
from whence.loop.pairing import paired, speaks, spoken
from whence.provider import anthropic
from whence.shapes.item import Item, Message, Opaque, Reasoning, Text, ToolCall, ToolOutcome

USER = Message.of("user", "go")
SAID = Message.of("assistant", "hm")


def call(id: str) -> ToolCall:
    return ToolCall(id, "f", "{}", {})


def outcome(id: str, text: str = "x") -> ToolOutcome:
    return ToolOutcome(id, (Text(text),), name="f")


def shown(items: Sequence[Item]) -> list[str]:
    """The items in short."""
    return [_short(item) for item in items]


def _short(item: Item) -> str:
    match item:
        case Message():
            return item.role[0]
        case ToolCall():
            return f"call {item.id}"
        case ToolOutcome():
            return f"interrupted {item.call_id}" if item.is_error else f"{item.call_id}={item.text}"
    return "thought"


@pytest.mark.requirement("loop:pairing")
@pytest.mark.parametrize(
    ("items", "sent", "closed", "notes"),
    [
        ([USER, call("a"), outcome("a"), SAID], ["u", "call a", "a=x", "a"], 0, 0),
        ([USER, call("a"), USER], ["u", "call a", "interrupted a", "u"], 1, 0),
        ([USER, call("a"), call("b"), outcome("b")],
         ["u", "call a", "call b", "interrupted a", "b=x"], 1, 0),
        ([USER, call("a"), call("b"), outcome("b"), outcome("a", "y")],
         ["u", "call a", "call b", "a=y", "b=x"], 0, 0),
        ([USER, call("a"), SAID, USER, outcome("a")], ["u", "call a", "a", "a=x", "u"], 0, 0),
        ([USER, outcome("z"), SAID], ["u", "u", "a"], 0, 1),
        ([USER, outcome("a"), call("a")], ["u", "u", "call a", "interrupted a"], 1, 1),
        ([USER, call("a"), outcome("a"), outcome("a", "y")], ["u", "call a", "a=x"], 0, 1),
        ([USER, call("a"), outcome("a"), call("a"), outcome("a", "y")],
         ["u", "call a", "a=x", "call *", "*=y"], 0, 1),
        ([USER, call(""), call(""), outcome("", "1"), outcome("", "2")],
         ["u", "call ", "call ", "=1", "=2"], 0, 0),
        ([USER, call(""), SAID], ["u", "call ", "a", "interrupted "], 1, 0),
        ([USER, Reasoning("p"), USER], ["u", "u"], 0, 0),
        ([USER, Reasoning("p"), SAID], ["u", "thought", "a"], 0, 0),
        ([USER, SAID, Reasoning("p")], ["u", "a"], 0, 0),
        ([USER, Reasoning("p"), call("a")], ["u", "thought", "call a", "interrupted a"], 1, 0),
    ],
    ids=[
        "whole", "unanswered", "one-unanswered", "out-of-order", "late", "stray", "before-its-call",
        "twice", "same-id", "without-ids", "unanswered-without-id", "lone-thought", "thought",
        "thought-at-the-end", "thought-before-a-call",
    ],
)  # fmt: skip
def test_a_history_is_put_right(
    items: list[Item], sent: list[str], closed: int, notes: int
) -> None:
    found = paired(items)
    fresh = [item.id for item in found.items if isinstance(item, ToolCall) and len(item.id) > 9]
    expected = [one.replace("*", fresh[0]) if fresh else one for one in sent]
    assert shown(found.items) == expected
    assert (len(found.closed), len(found.notes)) == (closed, notes)


ITEMS = st.lists(
    st.one_of(
        st.sampled_from([USER, SAID, Reasoning(anthropic.PROTOCOL, ("t",), seal="s")]),
        st.sampled_from([Opaque("p", "k", "{}"), Opaque("p", "k", "{}", "user")]),
        st.sampled_from(["", "a", "b", "c"]).map(call),
        st.sampled_from(["", "a", "b", "c"]).map(outcome),
    ),
    max_size=14,
)


@pytest.mark.requirement("loop:pairing")
@settings(deadline=None)
@given(ITEMS)
def test_whatever_a_history_is_each_call_is_answered_once_right_behind_its_answer(
    items: list[Item],
) -> None:
    sent = paired(items).items

    waiting: list[str] = []
    ids: set[str] = set()
    for at, item in enumerate(sent):
        if isinstance(item, ToolCall):
            assert not item.id or item.id not in ids
            ids.add(item.id)
            waiting.append(item.id)
        elif isinstance(item, ToolOutcome):
            assert waiting
            assert item.call_id == waiting.pop(0), "outcomes come in the order of the calls"
        elif not speaks(item):
            assert not waiting, "somebody speaks before a call is answered"
        if isinstance(item, Reasoning):
            assert at + 1 < len(sent)
            assert speaks(sent[at + 1])
    assert not waiting
    again = paired(sent)
    assert (again.items, again.closed, again.notes) == (sent, [], [])


@settings(deadline=None)
@given(ITEMS)
def test_what_the_transcript_is_given_makes_the_next_reading_of_it_whole(items: list[Item]) -> None:
    first = paired(items)
    second = paired([*items, *first.closed])
    assert second.closed == []
    assert shown(second.items) == shown(first.items) or len(first.notes) > 0


@settings(deadline=None)
@given(ITEMS, st.integers(0, 10))
def test_a_conversation_is_cut_between_answers_only(items: list[Item], kept: int) -> None:
    sent = paired(items).items
    at = split(sent, kept)
    assert 0 <= at <= len(sent)
    if 0 < at < len(sent):
        assert not isinstance(sent[at], ToolOutcome)
        assert not (speaks(sent[at - 1]) and speaks(sent[at]))
        assert len(sent) - at >= kept


def test_a_thought_that_nothing_follows_is_not_sent_back() -> None:
    thought = Reasoning(anthropic.PROTOCOL, ("t",), seal="s")
    assert spoken([thought]) == []
    assert spoken([SAID, thought]) == [SAID]
    assert spoken([thought, SAID]) == [thought, SAID]
