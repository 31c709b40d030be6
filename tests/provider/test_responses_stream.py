"""Streamed Responses answers: each entry is given out once, when it is done."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.provider.conversations import arguments, names
from tests.provider.streaming import calls_given_out, completed, run
from whence.provider.openai_responses import ResponsesAssembler, decode_response
from whence.provider.sse import SseEvent
from whence.provider.stream import CallDelta, ReasoningDelta, TextDelta
from whence.provider.wire import dumps
from whence.shapes.item import Message, Opaque, Reasoning, Refusal, StopReason, Text, Usage

CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "read",
    "arguments": '{"p": 1}',
    "status": "completed",
}


def added(index: int | None, item: dict[str, Any]) -> dict[str, Any]:
    return placed("response.output_item.added", index, item=item)


def done(index: int | None, item: dict[str, Any]) -> dict[str, Any]:
    return placed("response.output_item.done", index, item=item)


def delta(index: int | None, text: str, item_id: str = "fc_1") -> dict[str, Any]:
    return placed("response.function_call_arguments.delta", index, delta=text, item_id=item_id)


def placed(kind: str, index: int | None, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **({} if index is None else {"output_index": index}), **fields}


def end(*output: dict[str, Any], status: str = "completed", **fields: Any) -> dict[str, Any]:
    response = {"id": "resp_1", "model": "m", "status": status, "output": list(output), **fields}
    return {"type": f"response.{status}", "response": response}


def test_a_call_is_given_out_when_it_is_done_and_only_once() -> None:
    begun = {**CALL, "arguments": "", "status": "in_progress"}
    events = [added(0, begun), delta(0, '{"p"'), delta(0, ": 1}"), done(0, CALL), end(CALL)]
    deltas, completion = run(ResponsesAssembler(), events)

    assert [call.arguments for call in calls_given_out(deltas)] == [{"p": 1}]
    assert [(call.id, call.item_id) for call in completion.calls] == [("call_1", "fc_1")]
    assert (completion.stop, completion.stop_word) == (StopReason.CALLS, "completed")
    assert [d.text for d in deltas if isinstance(d, CallDelta)] == ['{"p"', ": 1}"]


def test_arguments_that_come_before_their_entry_is_announced_are_kept() -> None:
    bare = {**CALL, "arguments": ""}
    events = [delta(0, '{"p": 1}'), added(0, bare), done(0, bare), end()]

    assert completed(ResponsesAssembler(), events).calls[0].arguments == {"p": 1}


def test_entries_without_a_place_are_told_apart_by_id() -> None:
    other = {**CALL, "id": "fc_2", "call_id": "call_2", "arguments": '{"q": 2}'}
    events = [
        added(None, {**CALL, "arguments": ""}),
        added(None, {**other, "arguments": ""}),
        delta(None, '{"q": ', "fc_2"),
        delta(None, '{"p": ', "fc_1"),
        delta(None, "2}", "fc_2"),
        delta(None, "1}", "fc_1"),
        done(None, other),
        done(None, CALL),
        end(CALL, other),
    ]
    completion = completed(ResponsesAssembler(), events)

    assert [call.arguments for call in completion.calls] == [{"p": 1}, {"q": 2}]


def test_a_call_that_is_reported_twice_with_other_arguments_is_a_failure() -> None:
    events = [done(0, CALL), done(0, {**CALL, "arguments": '{"p": 2}'}), end()]
    deltas, completion = run(ResponsesAssembler(), events)

    assert len(calls_given_out(deltas)) == 1
    assert completion.failure is not None
    assert "call_1" in completion.failure.message


def test_a_server_that_reports_only_the_end_is_understood() -> None:
    deltas, completion = run(ResponsesAssembler(), [end(CALL)])

    assert calls_given_out(deltas) == list(completion.calls)
    assert completion.calls[0].arguments == {"p": 1}


def test_a_server_that_never_says_done_is_understood() -> None:
    events = [
        added(0, {**CALL, "arguments": "", "status": "in_progress"}),
        delta(0, '{"p": 1}'),
        placed("response.output_text.delta", 1, item_id="msg_1", delta="Hi"),
        end(),
    ]
    completion = completed(ResponsesAssembler(), events)

    assert completion.calls[0].arguments == {"p": 1}
    assert completion.text == "Hi"


def test_nothing_of_a_stream_that_broke_off_is_run_or_replayed() -> None:
    events = [
        placed(
            "response.reasoning_summary_text.delta", 0, item_id="rs", summary_index=0, delta="hm"
        ),
        placed("response.output_text.delta", 1, item_id="msg", content_index=0, delta="Let"),
        added(2, {"type": "web_search_call", "id": "ws", "status": "in_progress"}),
        added(3, {**CALL, "arguments": ""}),
        delta(3, '{"p": 1}'),
    ]
    deltas, completion = run(ResponsesAssembler(), events)
    thought, words, search, call = completion.items

    assert completion.stop is StopReason.CUT
    assert isinstance(thought, Reasoning)
    assert (thought.protocol, thought.summaries) == ("", ("hm",))
    assert words == Message("assistant", (Text("Let"),))
    assert isinstance(search, Opaque)
    assert search.protocol == ""
    assert completion.calls == (call,)
    assert completion.calls[0].arguments is None
    assert [d.text for d in deltas if isinstance(d, ReasoningDelta)] == ["hm"]
    assert [d.text for d in deltas if isinstance(d, TextDelta)] == ["Let"]


def test_an_incomplete_answer_says_why_and_keeps_its_half_call_from_running() -> None:
    half = {**CALL, "arguments": '{"p"', "status": "incomplete"}
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    completion = completed(
        ResponsesAssembler(), [done(0, half), end(half, status="incomplete", **details)]
    )

    assert completion.stop is StopReason.LENGTH
    assert completion.calls[0].arguments is None


def test_a_failed_answer_carries_the_providers_words() -> None:
    error = {"code": "server_error", "message": "out of luck"}
    completion = completed(ResponsesAssembler(), [end(status="failed", error=error)])

    assert completion.stop is StopReason.ERROR
    assert completion.failure is not None
    assert (completion.failure.code, completion.failure.message) == ("server_error", "out of luck")


def test_an_error_event_carries_the_providers_words() -> None:
    event = {"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": None}
    completion = completed(ResponsesAssembler(), [event])

    assert completion.failure is not None
    assert completion.failure.code == "rate_limit_exceeded"
    assert completion.stop is StopReason.ERROR


def test_an_entry_of_an_unknown_kind_is_kept_byte_for_byte() -> None:
    exact = '{"type" : "crystal_ball","id":"cb_1",  "n": 1.50, "t": "\\u00e9"}'
    event = f'{{"type":"response.output_item.done","output_index":0,"item":{exact}}}'
    completion = completed(ResponsesAssembler(), [event, end()])

    assert completion.items == (Opaque("openai-responses", "crystal_ball", exact),)


def test_usage_counts_cached_and_reasoning_tokens() -> None:
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 6,
        "output_tokens_details": {"reasoning_tokens": 5},
    }

    assert completed(ResponsesAssembler(), [end(usage=usage)]).usage == Usage(10, 6, 4, 0, 5)


def test_a_custom_call_has_free_text() -> None:
    call = {
        "type": "custom_tool_call",
        "id": "ct",
        "call_id": "c",
        "name": "patch",
        "input": "a\nb",
    }
    got = completed(ResponsesAssembler(), [done(0, call), end()]).calls[0]

    assert (got.custom, got.text, got.arguments) == (True, "a\nb", {"input": "a\nb"})


def test_half_a_custom_call_cannot_be_run() -> None:
    call = {"type": "custom_tool_call", "id": "ct", "call_id": "c", "name": "patch", "input": ""}
    piece = placed("response.custom_tool_call_input.delta", 0, item_id="ct", delta="a\n")
    got = completed(ResponsesAssembler(), [added(0, call), piece]).calls[0]

    assert (got.arguments, got.text) == (None, "a\n")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(names, arguments), min_size=1, max_size=4), st.randoms())
def test_any_interleaving_gives_what_the_whole_answer_gives(
    made: list[tuple[str, dict[str, Any]]], random: Any
) -> None:
    calls = [
        {
            **CALL,
            "id": f"fc_{at}",
            "call_id": f"c{at}",
            "name": name,
            "arguments": dumps(v).decode(),
        }
        for at, (name, v) in enumerate(made)
    ]
    queues = [
        [added(at, {**call, "arguments": ""})]
        + [delta(at, letter, str(call["id"])) for letter in str(call["arguments"])]
        + [done(at, call)]
        for at, call in enumerate(calls)
    ]
    events = []
    while any(queues):
        events.append(random.choice([queue for queue in queues if queue]).pop(0))
    last = end(*calls)

    streamed = completed(ResponsesAssembler(), [*events, last])

    assert streamed == decode_response(dumps(last["response"]))


def test_an_event_that_is_no_json_is_a_failure_and_half_an_event_is_a_cut() -> None:
    assert completed(ResponsesAssembler(), ["<html>"]).failure is not None
    assembler = ResponsesAssembler()
    assembler.feed(SseEvent(b'{"type": "resp', whole=False))
    completion = assembler.finish()[1]

    assert (completion.failure, completion.stop) == (None, StopReason.CUT)


def test_a_refusal_is_not_shown_as_words_but_kept() -> None:
    events = [placed("response.refusal.delta", 0, item_id="m", delta="No."), end()]
    deltas, completion = run(ResponsesAssembler(), events)

    assert completion.items == (Message("assistant", (Refusal("No."),)),)
    assert not any(isinstance(d, TextDelta) for d in deltas)


def test_a_done_marker_of_other_servers_is_passed_over() -> None:
    assert completed(ResponsesAssembler(), [end(CALL), "[DONE]"]).failure is None


def test_arguments_whose_entry_was_never_announced_are_kept_as_a_broken_call() -> None:
    (call,) = completed(ResponsesAssembler(), [delta(0, '{"p"')]).calls

    assert (call.arguments, call.text) == (None, '{"p"')
