"""The short cut for ordinary calls and results writes what the emitter writes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.journal.test_emit import texts, values
from whence.journal.compose import record_of
from whence.journal.emit import emit
from whence.journal.record import NO_HASH
from whence.journal.redact import Redactor
from whence.journal.usual import call_block, result_block
from whence.shapes.call import Comment
from whence.shapes.event import Event

ids = st.sampled_from(["call-001", "no", "toolu_01", 'a"b', "a\nb"]) | texts
args = st.dictionaries(texts, values, max_size=4)
durations = st.floats(0, 1e12, allow_nan=False) | st.integers(0, 5)


def call(fields: dict[str, Any]) -> Event:
    return Event("tool_call", fields, "Tool Call: x", "Find out")


@settings(deadline=None, max_examples=300)
@given(texts, ids, args, st.none() | st.lists(texts, max_size=2))
@example("fs.read", "call-001", {"path": "a.txt", "limit": 5, "all": True, "why": "x y"}, ["a.txt"])
@example("fs.read", "call-001", {"k" * 1100: 10**30, "none": None}, [])
def test_a_call_is_written_alike_both_ways(
    tool: str, call_id: str, arguments: dict[str, Any], paths: list[str] | None
) -> None:
    fields: dict[str, Any] = {"tool": tool, "call_id": call_id, "args": arguments}
    if paths is not None:
        fields["paths"] = paths

    assert call_block(call(fields)) in (None, emit(fields, kind="tool_call"))


@settings(deadline=None, max_examples=300)
@given(ids, texts, st.booleans(), durations, values)
@example("call-001", "fs.read", True, 0.125, "a.txt")
@example("call-001", "fs.read", True, 1e-05, "a.txt")
def test_a_result_is_written_alike_both_ways(
    call_id: str, tool: str, success: bool, duration_ms: float, result: Any
) -> None:
    fields = {
        "call_id": call_id,
        "tool": tool,
        "success": success,
        "duration_ms": duration_ms,
        "result": result,
    }
    event = Event("tool_result", fields, "Tool Result: x")

    assert result_block(event) in (None, emit(fields, kind="tool_result"))


def test_an_ordinary_call_and_its_result_take_the_short_cut() -> None:
    fields = {"tool": "fs.read", "call_id": "call-001", "args": {"path": "a", "why": "b c"}}
    result = {"call_id": "c", "tool": "t", "success": True, "duration_ms": 0.5, "result": "x"}

    assert call_block(call({**fields, "paths": ["a"]})) is not None
    assert result_block(Event("tool_result", result, "")) is not None


@pytest.mark.parametrize("more", ["requested_as", "parent", "timestamp"])
def test_other_keys_are_left_to_the_emitter(more: str) -> None:
    fields = {"tool": "fs.read", "call_id": "call-001", "args": {"why": "b"}, more: "x"}

    assert call_block(call(fields)) is None


def test_comments_are_written_and_secrets_taken_out_all_the_same() -> None:
    fields = {"tool": "fs.read", "call_id": "call-001", "args": {"path": "a", "why": "b c"}}
    noted = Event("tool_call", fields, "x", "", (Comment(("args", "path"), "why this one"),))
    secret = {**fields, "args": {"why": "use sk-proj-abcdefghijklmnop1234 here"}}

    assert b"# why this one\n  path: a\n" in record_of(noted, Redactor({}), 1, NO_HASH)[0]
    assert b"sk-proj" not in record_of(call(secret), Redactor({}), 1, NO_HASH)[0]
