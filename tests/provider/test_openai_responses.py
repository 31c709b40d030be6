"""The Responses API: entries, tools, choices and requests as it takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.provider.sample_tools import toolbox
from whence.provider import openai_responses
from whence.provider.arguments import call_with
from whence.provider.exchange import Loss, Settings, ToolChoice
from whence.provider.profiles import OPENAI_STRICT
from whence.provider.wire import dumps
from whence.shapes.item import (
    File,
    Image,
    Inline,
    Item,
    Message,
    Native,
    Opaque,
    Reasoning,
    StopReason,
    Text,
    ToolCall,
    ToolOutcome,
)


def entries(*items: Item) -> list[Any]:
    return [json.loads(one) for one in openai_responses.encode_items(items).fragments]


def losses(*items: Item) -> tuple[Loss, ...]:
    return openai_responses.encode_items(items).losses


def test_a_call_and_its_outcome_are_two_entries() -> None:
    call = call_with("call_1", "fs_read", {"path": "x"})
    outcome = ToolOutcome("call_1", (Text("gone"),), is_error=True)

    assert entries(call, outcome) == [
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "fs_read",
            "arguments": '{"path":"x"}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "<error>gone</error>"},
    ]


def test_a_result_may_hold_pictures_and_documents() -> None:
    parts = (
        Text("see"),
        Image(Inline("image/png", "AA==")),
        File(Inline("application/pdf", "AA==")),
    )
    output = entries(ToolOutcome("a", parts))[0]["output"]

    assert [part["type"] for part in output] == ["input_text", "input_image", "input_file"]
    assert losses(ToolOutcome("a", parts)) == ()


def test_encrypted_reasoning_goes_back_unchanged() -> None:
    entry = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "gAAA",
    }
    body = dumps({"status": "completed", "output": [entry]})
    items = openai_responses.decode_response(body).items

    assert items == (Reasoning("openai-responses", (), ("hm",), "gAAA", id="rs_1"),)
    assert entries(*items) == [entry]


def test_an_entry_of_an_unknown_kind_goes_back_byte_for_byte() -> None:
    exact = '{"type" : "shell_call","n": 1.50, "t": "\\u00e9"}'
    other = '{"type":"message","id":"m","role":"assistant","content":[]}'
    body = f'{{"status":"completed","output":[ {exact} , {other}]}}'
    items = openai_responses.decode_response(body.encode()).items

    assert items[0] == Opaque("openai-responses", "shell_call", exact)
    assert openai_responses.encode_items(items).fragments[0] == exact.encode()


def test_a_namespace_of_a_call_goes_back_with_it() -> None:
    entry = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "rate",
        "arguments": "{}",
        "namespace": "tools",
    }
    items = openai_responses.decode_input([entry])

    assert items[0].native == Native("openai-responses", {"namespace": "tools"})  # type: ignore[union-attr]
    assert entries(*items) == [entry]


def test_an_answer_with_its_id_goes_back_as_the_output_that_it_was() -> None:
    item = Message("assistant", (Text("Hi"),), id="msg_1", phase="final_answer")

    assert entries(item) == [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
            "phase": "final_answer",
        }
    ]


def test_ids_and_fields_of_another_provider_are_not_sent() -> None:
    foreign = Native("anthropic", {"caller": {"type": "code_execution"}})
    call = ToolCall("call_1", "f", "{}", {}, item_id="x", native=foreign)

    assert "id" not in entries(call)[0]
    assert [(loss.what, loss.fate) for loss in losses(call)] == [("fields caller", "dropped")]


def test_a_name_of_a_speaker_is_reported_as_lost() -> None:
    assert losses(Message("user", (Text("Hi"),), name="ann"))[0].what == "name 'ann'"


def test_a_video_leaves_a_remark_and_a_report() -> None:
    item = Message("user", (File(Inline("video/mp4", "AA==")), Text("look")))

    assert entries(item)[0]["content"][0] == {"type": "input_text", "text": "[video not shown]"}
    assert losses(item)[0].what == "video"


def test_a_custom_call_and_its_outcome_keep_their_kind() -> None:
    call = ToolCall("c", "patch", "a\nb", {"input": "a\nb"}, custom=True)
    outcome = ToolOutcome("c", (Text("ok"),), custom=True)
    sent = entries(call, outcome)

    assert [entry["type"] for entry in sent] == ["custom_tool_call", "custom_tool_call_output"]
    assert openai_responses.decode_input(sent) == (call, outcome)


def test_plain_words_as_input_are_a_message_of_the_user() -> None:
    assert openai_responses.decode_input("Hi") == (Message.of("user", "Hi"),)


@pytest.mark.parametrize(
    ("fields", "stop"),
    [
        ({"status": "completed"}, StopReason.END),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            StopReason.LENGTH,
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            StopReason.REFUSAL,
        ),
        ({"status": "queued"}, StopReason.PAUSE),
        ({"status": "failed", "error": {"code": "x", "message": "no"}}, StopReason.ERROR),
    ],
)
def test_a_status_is_a_reason_to_stop(fields: dict[str, Any], stop: StopReason) -> None:
    completion = openai_responses.decode_response(dumps({"output": [], **fields}))

    assert (completion.stop, completion.stop_word) == (stop, fields["status"])


def test_tools_are_not_strict_unless_their_schema_was_made_for_it() -> None:
    loose = json.loads(openai_responses.encode_tools(toolbox()).fragments[0])
    strict = json.loads(openai_responses.encode_tools(toolbox(), OPENAI_STRICT).fragments[0])

    assert (loose["strict"], strict["strict"]) == (False, True)
    assert loose["parameters"]["required"] == ["why", "path"]
    assert strict["parameters"]["required"] == ["why", "path", "limit"]


@pytest.mark.parametrize(
    ("choice", "fields"),
    [
        (ToolChoice("auto", parallel=True), {"tool_choice": "auto", "parallel_tool_calls": True}),
        (ToolChoice("required"), {"tool_choice": "required"}),
        (ToolChoice("tool", "f"), {"tool_choice": {"type": "function", "name": "f"}}),
    ],
)
def test_a_choice_is_the_same_both_ways(choice: ToolChoice, fields: dict[str, Any]) -> None:
    assert openai_responses.encode_tool_choice(choice) == fields
    assert openai_responses.decode_tool_choice(fields) == choice


def test_a_choice_of_a_servers_own_tool_goes_back_unchanged() -> None:
    fields = {"tool_choice": {"type": "web_search"}}

    assert (
        openai_responses.encode_tool_choice(openai_responses.decode_tool_choice(fields)) == fields
    )


def test_a_request_stores_nothing_and_asks_for_sealed_thoughts() -> None:
    settings = Settings(
        "gpt-x", system=(Message.of("developer", "Be brief."),), max_output_tokens=9
    )
    frame = openai_responses.frame(settings)
    body = json.loads(
        frame.body(openai_responses.encode_items([Message.of("user", "Hi")]).fragments)
    )

    assert body == {
        "model": "gpt-x",
        "input": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 9,
    }


def test_settings_have_their_fields() -> None:
    settings = Settings("m", temperature=0.0, reasoning_effort="low")
    tools = openai_responses.encode_tools(toolbox()).fragments
    body = json.loads(openai_responses.frame(settings, tools).body([]))

    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert (body["temperature"], body["tool_choice"], len(body["tools"])) == (0.0, "auto", 2)


def test_parts_of_an_unknown_kind_go_back_as_they_were() -> None:
    sent = [
        {"role": "user", "content": [{"type": "hologram", "x": 1}, {"type": "input_file"}]},
        {"role": "user", "content": [{"type": "input_image", "file_id": "f", "detail": "auto"}]},
        {"role": "user", "content": ""},
    ]

    assert entries(*openai_responses.decode_input(sent)) == sent


def test_an_id_that_is_too_long_is_made_to_fit_and_reported() -> None:
    items = (call_with("x" * 65, "f", {}), ToolOutcome("x" * 65, (Text("ok"),)))
    call, result = entries(*items)

    assert call["call_id"] == result["call_id"]
    assert [loss.fate for loss in losses(*items)] == ["changed", "changed"]


def test_a_part_of_another_provider_leaves_a_remark() -> None:
    item = Message("user", (Opaque("anthropic", "container_upload", "{}"), Text("a")))

    assert entries(item)[0]["content"][0]["text"] == "[container_upload not shown]"
