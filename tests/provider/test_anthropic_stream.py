"""Streamed Anthropic answers: calls are given out when their block ends."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.provider.conversations import arguments, names
from tests.provider.streaming import calls_given_out, completed, run
from whence.provider.anthropic import AnthropicAssembler, decode_response
from whence.provider.sse import SseEvent
from whence.provider.stream import ItemDone, ReasoningDelta, TextDelta
from whence.provider.wire import dumps
from whence.shapes.item import Message, Native, Opaque, Reasoning, StopReason, Text, Usage

START = {
    "type": "message_start",
    "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 5, "output_tokens": 1}},
}
STOP = {"type": "message_stop"}


def begin(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grow(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def close(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str = "tool_use") -> dict[str, Any]:
    usage = {"output_tokens": 9, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def use(index: int, text: str, call_id: str = "a", name: str = "read") -> list[dict[str, Any]]:
    return [
        begin(index, type="tool_use", id=call_id, name=name, input={}),
        *(grow(index, "input_json_delta", partial_json=piece) for piece in (text[:3], text[3:])),
        close(index),
    ]


def test_a_call_is_given_out_when_its_block_ends() -> None:
    assembler = AnthropicAssembler()
    events = [START, *use(0, '{"p": 1}')]
    early = [delta for event in events for delta in assembler.feed(SseEvent(dumps(event)))]

    assert [call.arguments for call in calls_given_out(early)] == [{"p": 1}]
    assert calls_given_out(assembler.finish()[0]) == []


def test_blocks_may_be_interleaved_by_index() -> None:
    first, second = use(0, '{"p": 1}', "a"), use(1, '{"q": 2}', "b")
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]

    calls = completed(AnthropicAssembler(), [START, *mixed, end(), STOP]).calls

    assert [(call.id, call.arguments) for call in calls] == [("a", {"p": 1}), ("b", {"q": 2})]


def test_an_index_may_be_used_again() -> None:
    events = [START, *use(0, '{"p": 1}', "a"), *use(0, '{"q": 2}', "b"), end()]

    calls = completed(AnthropicAssembler(), events).calls

    assert [(call.id, call.arguments) for call in calls] == [("a", {"p": 1}), ("b", {"q": 2})]


def test_no_arguments_are_an_empty_object_and_wait_for_the_end() -> None:
    deltas, completion = run(AnthropicAssembler(), [START, *use(0, ""), end()])

    assert completion.calls[0].arguments == {}
    assert calls_given_out(deltas) == list(completion.calls)


def test_a_call_that_the_token_limit_cut_before_its_arguments_is_not_whole() -> None:
    deltas, completion = run(AnthropicAssembler(), [START, *use(0, ""), end("max_tokens")])

    assert completion.stop is StopReason.LENGTH
    assert completion.calls[0].arguments is None
    assert [call.arguments for call in calls_given_out(deltas)] == [None]


def test_half_a_call_is_kept_with_the_position_of_the_problem() -> None:
    call = completed(AnthropicAssembler(), [START, *use(0, '{"p": "x'), end("max_tokens")]).calls[0]

    assert (call.arguments, call.text) == (None, '{"p": "x')
    assert "character 6" in call.problem


def test_a_call_whose_block_never_ended_cannot_be_run() -> None:
    deltas, completion = run(AnthropicAssembler(), [START, *use(0, '{"p": 1}')[:-1]])

    assert completion.stop is StopReason.CUT
    assert completion.calls[0].arguments is None
    assert [call.arguments for call in calls_given_out(deltas)] == [None]


def test_thoughts_keep_their_signature_and_words_their_citations() -> None:
    cited = {"type": "char_location", "cited_text": "x"}
    events = [
        START,
        begin(0, type="thinking", thinking="", signature=""),
        grow(0, "thinking_delta", thinking="h"),
        grow(0, "thinking_delta", thinking="m"),
        grow(0, "signature_delta", signature="sig"),
        close(0),
        begin(1, type="redacted_thinking", data="secret"),
        close(1),
        begin(2, type="text", text=""),
        grow(2, "text_delta", text="Hi"),
        grow(2, "citations_delta", citation=cited),
        close(2),
        end("end_turn"),
        STOP,
    ]
    deltas, completion = run(AnthropicAssembler(), events)

    assert completion.items == (
        Reasoning("anthropic", ("hm",), seal="sig"),
        Reasoning("anthropic", seal="secret", redacted=True),
        Message("assistant", (Text("Hi", Native("anthropic", {"citations": [cited]})),)),
    )
    assert [d.text for d in deltas if isinstance(d, ReasoningDelta)] == ["h", "m"]
    assert [d.text for d in deltas if isinstance(d, TextDelta)] == ["Hi"]
    assert [d.item for d in deltas if isinstance(d, ItemDone)] == list(completion.items)


def test_a_servers_own_tools_are_opaque_with_their_arguments() -> None:
    events = [
        START,
        begin(0, type="server_tool_use", id="s", name="web_search", input={}),
        grow(0, "input_json_delta", partial_json='{"query": "x"}'),
        close(0),
        begin(1, type="web_search_tool_result", tool_use_id="s", content=[]),
        close(1),
        end("pause_turn"),
    ]
    completion = completed(AnthropicAssembler(), events)

    use_block = '{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"x"}}'
    result = '{"type":"web_search_tool_result","tool_use_id":"s","content":[]}'
    assert completion.items == (
        Opaque("anthropic", "server_tool_use", use_block),
        Opaque("anthropic", "web_search_tool_result", result),
    )
    assert completion.stop is StopReason.PAUSE


def test_a_kind_of_piece_that_is_not_known_grows_its_block() -> None:
    events = [
        begin(0, type="compaction", content="a"),
        grow(0, "compaction_delta", content="b"),
        close(0),
        end("end_turn"),
    ]

    assert completed(AnthropicAssembler(), events).items == (
        Opaque("anthropic", "compaction", '{"type":"compaction","content":"ab"}'),
    )


def test_usage_counts_the_cache_as_input() -> None:
    assert completed(AnthropicAssembler(), [START, end("end_turn")]).usage == Usage(10, 9, 3, 2)


def test_the_container_is_kept_for_the_next_request() -> None:
    ended = end("end_turn")
    ended["delta"]["container"] = {"id": "container_1"}

    assert completed(AnthropicAssembler(), [ended]).extra == {"container": {"id": "container_1"}}


def test_an_error_event_keeps_what_came_before() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    events = [START, begin(0, type="text", text=""), grow(0, "text_delta", text="may"), error]
    completion = completed(AnthropicAssembler(), events)

    assert completion.text == "may"
    assert completion.stop is StopReason.ERROR
    assert completion.failure is not None
    assert completion.failure.type == "overloaded_error"


def test_a_thought_that_broke_off_is_never_sent_back() -> None:
    events = [
        START,
        begin(0, type="thinking", thinking=""),
        grow(0, "thinking_delta", thinking="h"),
    ]

    assert completed(AnthropicAssembler(), events).items == (Reasoning("", ("h",)),)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(names, arguments), min_size=1, max_size=4), st.randoms())
def test_any_interleaving_gives_what_the_whole_answer_gives(
    made: list[tuple[str, dict[str, Any]]], random: Any
) -> None:
    queues = [
        use(at, dumps(values).decode(), f"id{at}", name) for at, (name, values) in enumerate(made)
    ]
    events = [queue.pop(0) for queue in queues]
    while any(queues):
        events.append(random.choice([queue for queue in queues if queue]).pop(0))
    content = [
        {"type": "tool_use", "id": f"id{at}", "name": name, "input": values}
        for at, (name, values) in enumerate(made)
    ]
    whole = {"content": content, "stop_reason": "tool_use"}

    streamed = completed(AnthropicAssembler(), [START, *events, end(), STOP])

    assert streamed.items == decode_response(dumps(whole)).items


def test_an_event_that_is_no_json_is_a_failure_and_half_an_event_is_a_cut() -> None:
    assert completed(AnthropicAssembler(), ["<html>"]).failure is not None
    assembler = AnthropicAssembler()
    assembler.feed(SseEvent(b'{"type": "mess', whole=False))
    completion = assembler.finish()[1]

    assert (completion.failure, completion.stop) == (None, StopReason.CUT)


def test_words_that_come_with_the_beginning_of_a_block_are_shown() -> None:
    deltas, completion = run(
        AnthropicAssembler(), [begin(0, type="text", text="Hi"), close(0), end("end_turn")]
    )

    assert deltas[0] == TextDelta("Hi")
    assert completion.text == "Hi"


def test_pieces_of_a_block_that_never_began_are_passed_over() -> None:
    events = [grow(7, "text_delta", text="x"), close(7), end("end_turn")]

    assert completed(AnthropicAssembler(), events).items == ()


def test_a_block_without_an_index_is_the_last_one() -> None:
    events = [begin(0, type="text", text=""), grow(0, "text_delta", text="a"), end("end_turn")]
    for event in events[:2]:
        del event["index"]

    assert completed(AnthropicAssembler(), events).text == "a"


def test_a_servers_arguments_that_are_no_json_are_kept_as_text() -> None:
    events = [
        begin(0, type="server_tool_use", id="s", name="x", input={}),
        grow(0, "input_json_delta", partial_json='{"q'),
        close(0),
        end("max_tokens"),
    ]
    (block,) = completed(AnthropicAssembler(), events).items

    assert isinstance(block, Opaque)
    assert '"input":"{\\"q"' in block.json
