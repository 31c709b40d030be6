"""Anthropic Messages: blocks, tools, choices and requests as it takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.provider.sample_tools import toolbox
from whence.provider import anthropic
from whence.provider.arguments import call_with, make_call
from whence.provider.exchange import Loss, Settings, ToolChoice, leading_system
from whence.provider.wire import dumps
from whence.shapes.item import (
    File,
    Image,
    Inline,
    Item,
    Link,
    Message,
    Native,
    Opaque,
    Reasoning,
    Refusal,
    StopReason,
    Text,
    ToolCall,
    ToolOutcome,
)

CALL = ToolCall("toolu_1", "read", '{"b": 1.50, "a": 2}', {"b": 1.5, "a": 2})


def messages(*items: Item, system_messages: bool = False) -> list[Any]:
    encoded = anthropic.encode_items(items, system_messages=system_messages)
    return [json.loads(one) for one in encoded.fragments]


def losses(*items: Item) -> tuple[Loss, ...]:
    return anthropic.encode_items(items).losses


def test_outcomes_and_the_next_words_are_one_message_of_the_user() -> None:
    items = (
        CALL,
        call_with("toolu_2", "list", {}),
        ToolOutcome("toolu_1", (Text("one"),)),
        ToolOutcome("toolu_2", (Text("two"),), is_error=True),
        Message.of("user", "Go on."),
    )
    sent = messages(*items)

    assert [message["role"] for message in sent] == ["assistant", "user"]
    assert sent[1]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": False, "content": "one"},
        {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True, "content": "two"},
        {"type": "text", "text": "Go on."},
    ]


def test_arguments_go_back_byte_for_byte() -> None:
    assert b'"input":{"b": 1.50, "a": 2}' in anthropic.encode_items([CALL]).fragments[0]


def test_arguments_are_kept_byte_for_byte() -> None:
    block = b'{"type":"tool_use","id":"toolu_1","name":"read","input":{"b": 1.50, "a": 2}}'
    body = b'{"content":[' + block + b'],"stop_reason":"tool_use"}'

    assert anthropic.decode_response(body).items == (CALL,)


def test_a_call_that_was_no_json_goes_back_as_an_object() -> None:
    block = messages(make_call("a", "read", '{"p": '))[0]["content"][0]

    assert block["input"] == {"unparsed_arguments": '{"p": '}


def test_sealed_thoughts_go_back_unchanged_and_unsealed_ones_do_not() -> None:
    items = (
        Reasoning("anthropic", ("hm",), seal="sig"),
        Reasoning("anthropic", seal="data", redacted=True),
        Reasoning("anthropic", ("never signed",)),
        Reasoning("openai-responses", (), ("other",), "gAAA"),
        Message.of("assistant", "Hi"),
    )

    assert messages(*items)[0]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "data"},
        {"type": "text", "text": "Hi"},
    ]
    assert [loss.at for loss in losses(*items)] == [2, 3]


def test_a_servers_own_blocks_go_back_byte_for_byte_in_their_place() -> None:
    exact = '{"type": "server_tool_use","id":"s",  "input": {"n": 1.50}}'
    blocks = ['{"type":"text","text":"a"}', exact, '{"type":"text","text":"b"}']
    body = f'{{"content":[{", ".join(blocks)}],"stop_reason":"end_turn"}}'
    items = anthropic.decode_response(body.encode()).items

    assert items[1] == Opaque("anthropic", "server_tool_use", exact)
    assert exact.encode() in anthropic.encode_items(items).fragments[0]
    assert [block.get("text") for block in messages(*items)[0]["content"]] == ["a", None, "b"]


def test_a_direct_caller_need_not_be_said_and_another_one_is_kept() -> None:
    def block(caller: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": "a", "name": "f", "input": {}, "caller": {"type": caller}}

    direct, other = anthropic.decode_messages(
        [{"role": "assistant", "content": [block("direct"), block("code_execution")]}]
    )

    assert isinstance(direct, ToolCall)
    assert isinstance(other, ToolCall)
    assert direct.native is None
    assert other.native == Native("anthropic", {"caller": {"type": "code_execution"}})


def test_instructions_at_the_beginning_are_apart_from_the_conversation() -> None:
    items = (Message.of("system", "A"), Message.of("developer", "B"), Message.of("user", "Hi"))
    system, rest = leading_system(items)

    assert (system, rest) == (items[:2], items[2:])


def test_later_instructions_are_words_of_the_user_unless_the_model_takes_them() -> None:
    item = Message.of("system", "Be brief.")

    assert messages(item)[0]["role"] == "user"
    assert losses(item)[0].fate == "changed"
    assert messages(item, system_messages=True)[0]["role"] == "system"


def test_blank_text_is_left_out_because_it_would_be_refused() -> None:
    items = (Message("assistant", (Text(" \n"), Text("Hi"))), ToolOutcome("a", (Text(" "),)))

    assert messages(*items)[0]["content"] == [{"type": "text", "text": "Hi"}]
    assert "content" not in messages(*items)[1]["content"][0]
    assert [loss.what for loss in losses(*items)] == ["blank text", "blank text"]


def test_ids_of_other_providers_are_made_to_fit() -> None:
    sent = messages(call_with("call:1|x", "f", {}), ToolOutcome("call:1|x", (Text("ok"),)))
    call, result = sent[0]["content"][0], sent[1]["content"][0]

    assert call["id"].isalnum()
    assert result["tool_use_id"] == call["id"]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            Image(Link("https://a.example/x.png")),
            {"type": "image", "source": {"type": "url", "url": "https://a.example/x.png"}},
        ),
        (
            File(Inline("text/plain", "aGk="), "n.txt"),
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
                "title": "n.txt",
            },
        ),
        (File(Inline("audio/wav", "AA==")), {"type": "text", "text": "[audio not shown]"}),
        (File(Inline("application/zip", "AA==")), {"type": "text", "text": "[document not shown]"}),
        (Refusal("No."), {"type": "text", "text": "No."}),
    ],
)
def test_parts_have_their_blocks(part: Any, block: dict[str, Any]) -> None:
    item = Message("user", (part,))

    assert messages(item)[0]["content"] == [block]
    assert bool(losses(item)) is (block["type"] == "text")


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("end_turn", StopReason.END),
        ("tool_use", StopReason.CALLS),
        ("max_tokens", StopReason.LENGTH),
        ("stop_sequence", StopReason.STOP_SEQUENCE),
        ("refusal", StopReason.REFUSAL),
        ("pause_turn", StopReason.PAUSE),
        ("something_new", StopReason.END),
    ],
)
def test_a_stop_word_is_a_reason_to_stop(word: str, stop: StopReason) -> None:
    completion = anthropic.decode_response(dumps({"content": [], "stop_reason": word}))

    assert (completion.stop, completion.stop_word) == (stop, word)


def test_mounted_tools_show_their_wire_name_and_ask_for_the_reason_first() -> None:
    tool = json.loads(anthropic.encode_tools(toolbox()).fragments[0])

    assert tool["name"] == "fs_read"
    assert next(iter(tool["input_schema"]["properties"])) == "why"


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        (ToolChoice(), {"type": "auto"}),
        (ToolChoice("none"), {"type": "none"}),
        (
            ToolChoice("required", parallel=False),
            {"type": "any", "disable_parallel_tool_use": True},
        ),
        (
            ToolChoice("tool", "f", parallel=True),
            {"type": "tool", "name": "f", "disable_parallel_tool_use": False},
        ),
    ],
)
def test_a_choice_is_the_same_both_ways(choice: ToolChoice, value: dict[str, Any]) -> None:
    assert anthropic.encode_tool_choice(choice) == {"tool_choice": value}
    assert anthropic.decode_tool_choice({"tool_choice": value}) == choice


def test_a_request_has_its_instructions_apart_from_the_messages() -> None:
    settings = Settings(
        "claude-x",
        system=(Message.of("system", "Be brief."),),
        stream=False,
        extra={"thinking": {"type": "enabled", "budget_tokens": 1024}},
    )
    tools = anthropic.encode_tools(toolbox()).fragments
    frame = anthropic.frame(settings, tools)
    body = json.loads(frame.body(anthropic.encode_items([Message.of("user", "Hi")]).fragments))

    assert len(body.pop("tools")) == 2
    assert body == {
        "model": "claude-x",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "max_tokens": 32_000,
        "stream": False,
        "system": [{"type": "text", "text": "Be brief."}],
        "tool_choice": {"type": "auto"},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }


def test_instructions_are_decoded_from_text_or_blocks() -> None:
    assert anthropic.decode_system("Be brief.") == (Message.of("system", "Be brief."),)
    assert anthropic.decode_system([{"type": "text", "text": "A"}]) == (Message.of("system", "A"),)
    assert anthropic.decode_system(None) == ()


def test_a_choice_of_a_form_of_its_own_goes_back_unchanged() -> None:
    fields = {"tool_choice": {"type": "something_new", "x": 1}}

    assert anthropic.encode_tool_choice(anthropic.decode_tool_choice(fields)) == fields


def test_settings_have_their_fields() -> None:
    settings = Settings("m", max_output_tokens=5, temperature=0.0, reasoning_effort="low")
    body = json.loads(anthropic.frame(settings).body([]))

    assert (body["max_tokens"], body["temperature"]) == (5, 0.0)
    assert body["output_config"] == {"effort": "low"}


def test_entries_of_other_providers_and_free_text_are_reported() -> None:
    items = (
        Opaque("openai-responses", "web_search_call", "{}"),
        ToolCall("a", "patch", "x", {"input": "x"}, custom=True),
        Message("user", (Text(" "),)),
    )

    assert [loss.fate for loss in losses(*items)] == ["dropped", "changed", "dropped"]
    assert messages(*items)[0]["content"][0]["input"] == {"input": "x"}
    assert messages(*items)[1]["content"] == [{"type": "text", "text": "[no text]"}]


def test_content_that_is_nothing_is_no_message() -> None:
    assert anthropic.decode_messages([{"role": "user", "content": None}, "x"]) == ()


def test_a_source_of_an_unknown_kind_goes_back_as_it_was() -> None:
    block = {"type": "document", "source": {"type": "content", "content": []}, "title": "a"}
    sent = [{"role": "user", "content": [block]}]

    assert messages(*anthropic.decode_messages(sent)) == sent
