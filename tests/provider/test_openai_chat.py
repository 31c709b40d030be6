"""Chat Completions: messages, tools, choices and requests as servers take them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.provider.sample_tools import toolbox
from whence.errors import InvalidArgs
from whence.provider import openai_chat
from whence.provider.arguments import call_with, make_call
from whence.provider.chat_dialect import (
    COMPATIBLE,
    DEEPSEEK,
    GEMINI_CHAT,
    GROQ,
    MISTRAL,
    OPENAI_CHAT,
    OPENROUTER,
    Dialect,
)
from whence.provider.exchange import Loss, Settings, ToolChoice, ToolDefinition
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
    StopReason,
    Stored,
    Text,
    ToolOutcome,
    Usage,
)

PICTURE = Image(Inline("image/png", "AA=="))
CALL = call_with("call_1", "fs_read", {"why": "to see", "path": "x"})


def messages(*items: Item, dialect: Dialect = OPENAI_CHAT) -> list[Any]:
    return [json.loads(one) for one in openai_chat.encode_items(items, dialect).fragments]


def losses(*items: Item, dialect: Dialect = OPENAI_CHAT) -> tuple[Loss, ...]:
    return openai_chat.encode_items(items, dialect).losses


def test_words_and_calls_of_one_answer_are_one_message() -> None:
    assert messages(Message.of("assistant", "Let me look."), CALL) == [
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "fs_read", "arguments": '{"why":"to see","path":"x"}'},
                }
            ],
        }
    ]


def test_words_after_a_call_stand_before_it_and_that_is_reported() -> None:
    items = (CALL, Message.of("assistant", "Done?"), call_with("call_2", "b", {}))

    assert [(m["content"], len(m["tool_calls"])) for m in messages(*items)] == [("Done?", 2)]
    assert [(loss.at, loss.fate) for loss in losses(*items)] == [(1, "moved")]


def test_an_error_is_marked_in_the_words_of_a_result() -> None:
    outcome = ToolOutcome("call_1", (Text("no such file"),), is_error=True)

    assert messages(outcome) == [
        {"role": "tool", "tool_call_id": "call_1", "content": "<error>no such file</error>"}
    ]


def test_a_picture_in_a_result_follows_all_results_in_a_users_message() -> None:
    first = ToolOutcome("a", (Text("see"), PICTURE), name="shot")
    second = ToolOutcome("b", (Text("ok"),))
    sent = messages(first, second, Message.of("user", "next"))

    assert [message["role"] for message in sent] == ["tool", "tool", "user", "user"]
    assert sent[0]["content"] == "see"
    assert sent[2]["content"] == [
        {"type": "text", "text": "From the result of shot:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    assert [(loss.at, loss.fate) for loss in losses(first, second)] == [(0, "moved")]


def test_structured_content_is_sent_as_text_unless_the_words_say_it_already() -> None:
    bare = ToolOutcome("a", (), structured={"n": 1})
    both = ToolOutcome("a", (Text('{"n": 1}'),), structured={"n": 1})

    assert messages(bare)[0]["content"] == '{"n":1}'
    assert [loss.fate for loss in losses(bare)] == ["changed"]
    assert messages(both)[0]["content"] == '{"n": 1}'
    assert losses(both) == ()


def test_a_call_that_was_no_json_goes_back_as_json() -> None:
    sent = messages(make_call("a", "read", '{"p": '))

    assert json.loads(sent[0]["tool_calls"][0]["function"]["arguments"]) == {
        "unparsed_arguments": '{"p": '
    }


@pytest.mark.parametrize(
    ("dialect", "call_id", "form"),
    [
        (MISTRAL, "toolu_01ABCDEFG", r"[A-Za-z0-9]{9}"),
        (MISTRAL, "abcdef123", "abcdef123"),
        (OPENAI_CHAT, "x" * 100, r"[A-Za-z0-9]{40}"),
        (OPENAI_CHAT, "toolu_01", "toolu_01"),
    ],
)
def test_ids_fit_the_server_and_a_call_still_finds_its_outcome(
    dialect: Dialect, call_id: str, form: str
) -> None:
    import re

    call, result = messages(
        call_with(call_id, "read", {}), ToolOutcome(call_id, (Text("ok"),)), dialect=dialect
    )

    assert re.fullmatch(form, call["tool_calls"][0]["id"])
    assert result["tool_call_id"] == call["tool_calls"][0]["id"]


def test_ids_with_a_common_beginning_stay_apart() -> None:
    ids = {
        messages(call_with(f"toolu_01{end}", "read", {}), dialect=MISTRAL)[0]["tool_calls"][0]["id"]
        for end in "abcdefgh"
    }

    assert len(ids) == 8


def test_developer_is_system_where_a_server_does_not_know_it() -> None:
    item = Message.of("developer", "Be brief.")

    assert messages(item)[0]["role"] == "developer"
    assert messages(item, dialect=COMPATIBLE)[0]["role"] == "system"
    assert losses(item, dialect=COMPATIBLE)[0].fate == "changed"


def test_reasoning_goes_back_in_the_field_in_which_it_came() -> None:
    thought = Reasoning("openai-chat", ("hm",), native=Native("openai-chat", {"reasoning": "hm"}))

    assert messages(thought, CALL)[0]["reasoning"] == "hm"
    assert "reasoning" not in messages(thought, CALL, dialect=GROQ)[0]
    assert losses(thought, CALL, dialect=GROQ)[0].what == "reasoning"


def test_deepseek_gets_a_thought_with_every_call() -> None:
    foreign = Reasoning("anthropic", ("hm",), seal="sig")

    assert messages(CALL, dialect=DEEPSEEK)[0]["reasoning_content"] == ""
    assert messages(foreign, CALL, dialect=DEEPSEEK)[0]["reasoning_content"] == "hm"


def test_another_providers_thoughts_and_entries_are_left_out_and_reported() -> None:
    items = (
        Reasoning("anthropic", ("hm",), seal="sig"),
        Opaque("openai-responses", "web_search_call", "{}"),
        Message.of("assistant", "Hi"),
    )

    assert [message["content"] for message in messages(*items)] == ["Hi"]
    assert [(loss.at, loss.fate) for loss in losses(*items)] == [(0, "dropped"), (1, "dropped")]


@pytest.mark.parametrize(
    ("part", "dialect", "kind"),
    [
        (Image(Stored("file-1")), OPENAI_CHAT, "text"),
        (File(Link("https://a.example/x.pdf")), OPENAI_CHAT, "text"),
        (File(Link("https://a.example/x.pdf")), OPENROUTER, "file"),
        (File(Link("https://a.example/x.pdf")), MISTRAL, "document_url"),
        (File(Inline("application/pdf", "AA==")), GROQ, "text"),
        (File(Inline("audio/mpeg", "AA==")), OPENAI_CHAT, "input_audio"),
        (File(Link("https://a.example/x.mp3", "audio/mpeg")), OPENAI_CHAT, "text"),
        (File(Inline("video/mp4", "AA==")), OPENAI_CHAT, "text"),
        (File(Inline("video/mp4", "AA==")), GEMINI_CHAT, "video_url"),
        (Opaque("anthropic", "container_upload", "{}"), OPENAI_CHAT, "text"),
    ],
)
def test_what_a_server_cannot_be_shown_leaves_a_remark_and_a_report(
    part: Any, dialect: Dialect, kind: str
) -> None:
    item = Message("user", (Text("look"), part))

    assert messages(item, dialect=dialect)[0]["content"][1]["type"] == kind
    assert bool(losses(item, dialect=dialect)) is (kind == "text")


def test_a_result_names_its_tool_where_the_server_needs_it() -> None:
    outcome = ToolOutcome("a", (Text("ok"),), name="fs_read")

    assert "name" not in messages(outcome)[0]
    assert messages(outcome, dialect=GEMINI_CHAT)[0]["name"] == "fs_read"


def test_a_thought_signature_of_a_call_goes_back_with_it() -> None:
    extra = {"google": {"thought_signature": "sig"}}
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": extra,
    }
    body = dumps({"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [call]}}]})
    items = openai_chat.decode_response(body).items

    assert messages(*items)[0]["tool_calls"] == [call]


def test_an_answer_in_one_piece_has_items_usage_and_a_reason() -> None:
    body = {
        "id": "c1",
        "model": "m",
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}],
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 2,
            "prompt_cache_hit_tokens": 4,
            "cost": 0.5,
        },
    }
    completion = openai_chat.decode_response(dumps(body))

    assert completion.items == (Message.of("assistant", "Hi"),)
    assert completion.usage == Usage(9, 2, 4, cost=0.5)
    assert (completion.stop, completion.id, completion.model) == (StopReason.END, "c1", "m")


def test_a_server_that_says_stop_after_calls_is_understood() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    body = dumps({"choices": [{"finish_reason": "stop", "message": {"tool_calls": [call]}}]})

    assert openai_chat.decode_response(body).stop is StopReason.CALLS


def test_mounted_tools_show_their_wire_name_and_ask_for_the_reason_first() -> None:
    encoded = openai_chat.encode_tools(toolbox())
    functions = [json.loads(one)["function"] for one in encoded.fragments]

    assert [function["name"] for function in functions] == ["fs_read", "fs_write"]
    assert all(next(iter(f["parameters"]["properties"])) == "why" for f in functions)
    assert all(f["parameters"]["required"][0] == "why" for f in functions)


def test_more_tools_than_a_provider_takes_are_refused() -> None:
    many = [ToolDefinition(f"t{n}", "", {"type": "object"}) for n in range(129)]

    with pytest.raises(InvalidArgs, match="at most 128 tools, not 129"):
        openai_chat.encode_tools(many)


def test_a_name_that_a_provider_refuses_is_refused_here() -> None:
    with pytest.raises(InvalidArgs, match=r"fs\.read"):
        openai_chat.encode_tools([ToolDefinition("fs.read", "", {"type": "object"})])


@pytest.mark.parametrize(
    ("choice", "fields"),
    [
        (ToolChoice(), {"tool_choice": "auto"}),
        (ToolChoice("none"), {"tool_choice": "none"}),
        (
            ToolChoice("required", parallel=False),
            {"tool_choice": "required", "parallel_tool_calls": False},
        ),
        (ToolChoice("tool", "f"), {"tool_choice": {"type": "function", "function": {"name": "f"}}}),
    ],
)
def test_a_choice_is_the_same_both_ways(choice: ToolChoice, fields: dict[str, Any]) -> None:
    assert openai_chat.encode_tool_choice(choice) == fields
    assert openai_chat.decode_tool_choice(fields) == choice


def test_a_choice_of_a_form_of_its_own_goes_back_unchanged() -> None:
    fields = {
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}
    }

    assert openai_chat.encode_tool_choice(openai_chat.decode_tool_choice(fields)) == fields


def test_a_request_is_joined_from_parts_that_were_encoded_before() -> None:
    tools = openai_chat.encode_tools(toolbox()).fragments
    settings = Settings(
        "gpt-x",
        system=(Message.of("system", "Be brief."),),
        max_output_tokens=100,
        temperature=0.5,
        reasoning_effort="low",
        extra={"seed": 7},
    )
    frame = openai_chat.frame(settings, tools)
    fragments = openai_chat.encode_items([Message.of("user", "Hi")]).fragments

    body = json.loads(frame.body(fragments))

    assert [message["role"] for message in body.pop("messages")] == ["system", "user"]
    assert len(body.pop("tools")) == 2
    assert body == {
        "model": "gpt-x",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 100,
        "temperature": 0.5,
        "reasoning_effort": "low",
        "tool_choice": "auto",
        "seed": 7,
    }


def test_a_dialect_is_known_by_its_host() -> None:
    assert openai_chat.dialect_of("api.mistral.ai") is MISTRAL
    assert openai_chat.dialect_of("localhost:11434").name == "localhost:11434"
    assert openai_chat.dialect_of("localhost:11434").profile == COMPATIBLE.profile
    assert openai_chat.dialect_of("mine.openai.azure.com") is OPENAI_CHAT


def test_instructions_are_one_message_where_templates_take_no_more() -> None:
    system = (Message.of("system", "Be brief."), Message.of("developer", "Be kind."))
    settings = Settings("m", system)

    body = openai_chat.frame(settings, (), COMPATIBLE).body(())
    assert json.loads(body)["messages"] == [{"role": "system", "content": "Be brief.\n\nBe kind."}]
    assert len(json.loads(openai_chat.frame(settings).body(()))["messages"]) == 2


def test_later_instructions_are_words_of_the_user_where_templates_take_none() -> None:
    items = (Message.of("user", "Hi"), Message.of("system", "Be brief."))

    assert [one["role"] for one in messages(*items)] == ["user", "system"]
    assert [one["role"] for one in messages(*items, dialect=COMPATIBLE)] == ["user", "user"]
    assert [loss.fate for loss in losses(*items, dialect=COMPATIBLE)] == ["changed"]


def test_words_that_utf8_cannot_hold_are_mended() -> None:
    assert messages(Message.of("user", "a\ud83d"))[0]["content"] == "a\ufffd"


def test_thinking_parts_go_back_before_the_words() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    sent = {"role": "assistant", "content": [thinking, {"type": "text", "text": "4"}]}
    items = openai_chat.decode_messages([sent])

    assert [type(item) for item in items] == [Reasoning, Message]
    assert messages(*items, dialect=MISTRAL) == [sent]


def test_calls_with_free_text_are_the_same_both_ways() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "x\ny"}}
    sent = {"role": "assistant", "content": None, "tool_calls": [call]}
    items = openai_chat.decode_messages([sent])
    body = dumps({"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [call]}}]})

    assert messages(*items) == [sent]
    assert openai_chat.decode_response(body).items == items


def test_messages_and_parts_of_an_unknown_kind_go_back_as_they_were() -> None:
    sent = [
        {"role": "function", "name": "f", "content": "old"},
        {
            "role": "user",
            "content": [{"type": "hologram", "x": [1]}, {"type": "text", "text": "a"}],
        },
    ]

    assert messages(*openai_chat.decode_messages(sent)) == sent


def test_films_and_uploads_are_the_same_both_ways() -> None:
    parts = [
        {"type": "video_url", "video_url": {"url": "https://a.example/x.mp4"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {
            "type": "file",
            "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "a"},
        },
        {"type": "file", "file": {}},
        {"type": "image_url", "image_url": {"url": "https://a.example/x.png", "detail": "low"}},
    ]
    sent = [{"role": "user", "content": parts}]

    assert messages(*openai_chat.decode_messages(sent), dialect=OPENROUTER) == sent


def test_an_assistant_that_said_nothing_is_still_there() -> None:
    sent = [{"role": "assistant", "content": ""}]

    assert messages(*openai_chat.decode_messages(sent)) == sent


def test_a_thought_after_words_begins_another_message() -> None:
    thought = Reasoning("openai-chat", ("b",), native=Native("openai-chat", {"reasoning": "b"}))
    sent = messages(Message.of("assistant", "a"), thought, Message.of("assistant", "c"))

    assert [(one["content"], one.get("reasoning")) for one in sent] == [("a", None), ("c", "b")]


def test_tools_that_the_provider_runs_itself_are_none_of_ours() -> None:
    assert openai_chat.decode_tools([{"type": "openrouter:advisor", "parameters": {}}]) == ()


def test_fields_of_a_tool_that_another_provider_added_are_reported() -> None:
    native = Native("anthropic", {"defer_loading": True})
    definition = ToolDefinition("f", "", {"type": "object"}, native=native)

    assert [str(loss) for loss in openai_chat.encode_tools([definition]).losses] == [
        "f: fields defer_loading dropped: only anthropic understands them, not openai-chat"
    ]
