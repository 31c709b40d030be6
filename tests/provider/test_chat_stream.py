"""Streamed Chat Completions: no call is given out before it is whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.provider.conversations import arguments, names
from tests.provider.streaming import calls_given_out, chunk, completed, piece, run
from whence.provider.chat_decode import decode_response
from whence.provider.chat_stream import ChatAssembler
from whence.provider.ids import CallIds
from whence.provider.stream import CallDelta, ReasoningDelta, TextDelta
from whence.provider.wire import dumps
from whence.shapes.item import Message, Native, Reasoning, Refusal, StopReason, Text, Usage

END = chunk({}, "tool_calls")


def brief(events: list[Any]) -> list[tuple[str, str, Any]]:
    calls = completed(ChatAssembler(), events).calls
    return [(call.id, call.name, call.arguments) for call in calls]


def test_pieces_of_parallel_calls_are_told_apart_by_index() -> None:
    events = [
        piece(0, "a", "read", ""),
        piece(1, "b", "list", ""),
        piece(0, text='{"path"'),
        piece(1, text="{"),
        piece(0, text=': "x"}'),
        piece(1, text="}"),
        END,
    ]

    assert brief(events) == [("a", "read", {"path": "x"}), ("b", "list", {})]


def test_pieces_without_an_index_are_told_apart_by_id() -> None:
    events = [
        piece(None, "a", "read", '{"p'),
        piece(None, "b", "list", '{"q": '),
        piece(None, "a", None, '": 1}'),
        piece(None, "b", None, "2}"),
        END,
    ]

    assert brief(events) == [("a", "read", {"p": 1}), ("b", "list", {"q": 2})]


def test_pieces_without_index_and_id_belong_to_the_last_call() -> None:
    events = [piece(None, "a", "read", ""), piece(text='{"p"'), piece(text=": 1}"), END]

    assert brief(events) == [("a", "read", {"p": 1})]


def test_an_id_and_a_name_may_come_after_the_first_arguments() -> None:
    events = [piece(0, text='{"p"'), piece(0, "late"), piece(0, name="read", text=": 1}"), END]

    assert brief(events) == [("late", "read", {"p": 1})]


def test_an_id_and_a_name_may_come_again_with_every_piece() -> None:
    events = [
        piece(0, "a", "read", '{"p"'),
        piece(0, "a", "read", ": "),
        piece(0, "a", "read", "1}"),
        piece(0, "a", "read", ""),
        END,
    ]

    assert brief(events) == [("a", "read", {"p": 1})]


def test_a_name_may_come_in_pieces() -> None:
    events = [piece(0, "a", "read_"), piece(0, name="file", text=""), piece(0, text="{}"), END]

    assert brief(events) == [("a", "read_file", {})]


def test_an_index_used_again_with_another_id_begins_another_call() -> None:
    events = [piece(0, "a", "read", '{"p": 1}'), piece(0, "b", "list", '{"q": 2}'), END]

    assert brief(events) == [("a", "read", {"p": 1}), ("b", "list", {"q": 2})]


def test_an_index_used_again_without_any_id_begins_another_call() -> None:
    events = [piece(0, None, "read", '{"p": 1}'), piece(0, None, "read", '{"p": 2}'), END]

    assert [arguments for _, _, arguments in brief(events)] == [{"p": 1}, {"p": 2}]


def test_a_call_that_is_sent_twice_is_made_once() -> None:
    events = [piece(0, "a", "read", '{"p": 1}'), piece(0, "a", "read", '{"p": 1}'), END]

    assert brief(events) == [("a", "read", {"p": 1})]


def test_two_calls_with_one_id_get_ids_of_their_own() -> None:
    ids = CallIds(fresh=iter(["new"]).__next__)
    events = [piece(0, "a", "read", "{}"), piece(1, "a", "list", "{}"), END]

    assert [call.id for call in completed(ChatAssembler(ids), events).calls] == ["a", "new"]


def test_an_id_that_an_earlier_turn_used_is_replaced() -> None:
    ids = CallIds(taken=["read-0"], fresh=iter(["new"]).__next__)

    assert (
        completed(ChatAssembler(ids), [piece(0, "read-0", "read", "{}"), END]).calls[0].id == "new"
    )


def test_a_call_without_any_id_gets_one() -> None:
    call = completed(ChatAssembler(), [piece(0, None, "read", "{}"), END]).calls[0]

    assert call.id.startswith("call_")


@pytest.mark.parametrize("text", ["", "  ", "{}", "null"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert brief([piece(0, "a", "read", text), END]) == [("a", "read", {})]


def test_arguments_that_come_as_an_object_are_taken() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "read", "arguments": {"p": [1]}}}

    assert brief([chunk({"tool_calls": [call]}), END]) == [("a", "read", {"p": [1]})]


def test_arguments_that_are_no_json_are_kept_with_the_position_of_the_problem() -> None:
    events = [piece(0, "a", "write", '{"path": "x", "content": "half'), chunk({}, "length")]
    call = completed(ChatAssembler(), events).calls[0]

    assert call.arguments is None
    assert call.text == '{"path": "x", "content": "half'
    assert "cut off" in call.problem
    assert "character 25" in call.problem
    assert call.as_call().unparsed == call.text


def test_a_call_that_the_token_limit_cut_before_its_arguments_is_not_whole() -> None:
    events = [piece(0, "a", "read", "{}"), piece(1, "b", "delete_all", ""), chunk({}, "length")]
    first, last = completed(ChatAssembler(), events).calls

    assert first.arguments == {}
    assert last.arguments is None


def test_no_call_of_a_stream_that_broke_off_can_be_run() -> None:
    deltas, completion = run(ChatAssembler(), [piece(0, "a", "delete", '{"path": "x"}')])

    assert completion.stop is StopReason.CUT
    assert completion.calls[0].arguments is None
    assert completion.calls[0].text == '{"path": "x"}'
    assert calls_given_out(deltas) == list(completion.calls)


def test_an_answer_that_ends_with_done_alone_is_whole() -> None:
    completion = completed(ChatAssembler(), [piece(0, "a", "read", "{}"), "[DONE]"])

    assert completion.stop is StopReason.CALLS
    assert completion.calls[0].arguments == {}


def test_no_call_is_given_out_while_it_may_still_grow() -> None:
    assembler = ChatAssembler()
    events = [piece(0, "a", "read", '{"p": 1}'), piece(1, "b", "list", "{}")]
    early = [delta for event in events for delta in run_one(assembler, event)]

    assert all(isinstance(delta, CallDelta) for delta in early)


def run_one(assembler: ChatAssembler, event: Any) -> list[Any]:
    from whence.provider.sse import SseEvent

    return assembler.feed(SseEvent(dumps(event)))


def test_words_thoughts_and_calls_come_mixed() -> None:
    events = [
        chunk({"role": "assistant", "content": "", "reasoning_content": "hm"}),
        chunk({"content": "Let me "}),
        piece(0, "a", "read", "{}"),
        chunk({"content": "look."}),
        END,
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
        "[DONE]",
    ]
    deltas, completion = run(ChatAssembler(), events)

    thought = Reasoning(
        "openai-chat", ("hm",), native=Native("openai-chat", {"reasoning_content": "hm"})
    )
    assert completion.items[:2] == (thought, Message("assistant", (Text("Let me look."),)))
    assert completion.usage == Usage(7, 3)
    assert [d.text for d in deltas if isinstance(d, TextDelta)] == ["Let me ", "look."]
    assert [d.text for d in deltas if isinstance(d, ReasoningDelta)] == ["hm"]


def test_reasoning_details_are_joined_and_kept_for_the_next_request() -> None:
    def detail(**fields: Any) -> dict[str, Any]:
        return chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, **fields}]})

    events = [detail(text="I "), detail(text="think"), detail(signature="sig"), chunk({}, "stop")]
    thought = completed(ChatAssembler(), events).items[0]

    assert isinstance(thought, Reasoning)
    assert thought.text == "I think"
    joined: dict[str, Any] = {
        "type": "reasoning.text",
        "index": 0,
        "text": "I think",
        "signature": "sig",
    }
    assert thought.native == Native("openai-chat", {"reasoning_details": [joined]})


def test_thinking_parts_are_thoughts() -> None:
    def thinking(text: str) -> dict[str, Any]:
        inner = [{"type": "text", "text": text}]
        return chunk({"content": [{"type": "thinking", "thinking": inner}]})

    events = [thinking("a"), thinking("b"), chunk({"content": "4"}), chunk({}, "stop")]
    completion = completed(ChatAssembler(), events)

    assert [type(item) for item in completion.items] == [Reasoning, Message]
    assert (completion.items[0].text, completion.text) == ("ab", "4")  # type: ignore[union-attr]


def test_a_refusal_is_part_of_the_message() -> None:
    events = [chunk({"refusal": "I "}), chunk({"refusal": "won't."}), chunk({}, "stop")]

    assert completed(ChatAssembler(), events).items == (
        Message("assistant", (Refusal("I won't."),)),
    )


def test_an_error_in_the_stream_keeps_what_came_before() -> None:
    events = [chunk({"content": "may"}), {"error": {"message": "overloaded", "code": 529}}]
    completion = completed(ChatAssembler(), events)

    assert completion.text == "may"
    assert completion.stop is StopReason.ERROR
    assert completion.failure is not None
    assert (completion.failure.message, completion.failure.status) == ("overloaded", 529)


def test_a_chunk_that_is_no_json_is_a_failure_and_not_a_crash() -> None:
    completion = completed(ChatAssembler(), [chunk({"content": "a"}), "<html>502</html>"])

    assert completion.text == "a"
    assert completion.failure is not None
    assert "<html>502" in completion.failure.message


@pytest.mark.parametrize("value", ["null", "[]", "3", '{"choices": 5}', '{"choices": [null]}'])
def test_chunks_that_are_not_what_they_should_be_are_passed_over(value: str) -> None:
    assert completed(ChatAssembler(), [value, chunk({"content": "a"}, "stop")]).text == "a"


def test_a_character_that_is_cut_in_two_is_whole_again() -> None:
    halves = [
        '{"choices":[{"delta":{"content":"\\ud83d"}}]}',
        '{"choices":[{"delta":{"content":"\\ude00"}}]}',
    ]
    deltas, completion = run(ChatAssembler(), [*halves, chunk({}, "stop")])

    assert completion.text == "😀"
    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["😀"]


def test_half_a_character_at_the_end_is_replaced() -> None:
    events = ['{"choices":[{"delta":{"content":"a\\ud83d"}}]}', chunk({}, "stop")]

    assert completed(ChatAssembler(), events).text == "a\ufffd"


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(names, arguments), min_size=1, max_size=4), st.randoms(), st.booleans())
def test_any_interleaving_gives_what_the_whole_answer_gives(
    made: list[tuple[str, dict[str, Any]]], random: Any, by_index: bool
) -> None:
    calls = [
        {"id": f"id{at}", "function": {"name": name, "arguments": dumps(values).decode()}}
        for at, (name, values) in enumerate(made)
    ]
    queues = []
    for at, call in enumerate(calls):
        function: Any = call["function"]
        text = function["arguments"]
        cuts = sorted(random.choices(range(len(text) + 1), k=3))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        index = at if by_index else None
        first = piece(index, f"id{at}", function["name"], parts[0])
        rest = [piece(index, None if by_index else f"id{at}", None, part) for part in parts[1:]]
        queues.append([first, *rest])
    events = [queue.pop(0) for queue in queues]
    while any(queues):
        events.append(random.choice([queue for queue in queues if queue]).pop(0))
    whole = {"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": calls}}]}

    streamed = completed(ChatAssembler(), [*events, END])

    assert streamed.calls == decode_response(dumps(whole)).calls


def test_calls_with_free_text_are_put_together() -> None:
    def free(**fields: Any) -> dict[str, Any]:
        return chunk({"tool_calls": [{"index": 0, **fields}]})

    events = [
        free(id="a", type="custom", custom={"name": "patch", "input": "x"}),
        free(custom={"input": "\ny"}),
        END,
    ]
    call = completed(ChatAssembler(), events).calls[0]

    assert (call.custom, call.name, call.text) == (True, "patch", "x\ny")


def test_further_fields_of_a_message_are_kept() -> None:
    note = {"type": "url_citation"}
    events = [
        chunk({"content": [{"type": "text", "text": "a"}, {"type": "hologram"}]}),
        chunk({"annotations": [note]}),
        chunk({"annotations": [note]}),
        chunk({}, "stop"),
    ]
    (message,) = completed(ChatAssembler(), events).items

    assert isinstance(message, Message)
    assert message.native == Native("openai-chat", {"annotations": [note, note]})
    assert [type(part).__name__ for part in message.parts] == ["Text", "Opaque"]


def test_an_error_beside_a_choice_is_a_failure() -> None:
    failed = chunk({"content": ""}, "error")
    failed["choices"][0]["error"] = {"message": "upstream died", "code": 502}
    completion = completed(ChatAssembler(), [chunk({"content": "a"}), failed])

    assert (completion.stop, completion.text) == (StopReason.ERROR, "a")
    assert completion.failure is not None
    assert completion.failure.status == 502


def test_other_choices_than_the_first_are_passed_over() -> None:
    other = chunk({"content": "b"})
    other["choices"][0]["index"] = 1

    assert (
        completed(ChatAssembler(), [chunk({"content": "a"}), other, chunk({}, "stop")]).text == "a"
    )
