"""A conversation with a remote model: bytes that only grow, calls as the tools mean them, calls in
text, and what a provider wants back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.provider.asking import ANTHROPIC, CHAT, Voice, every_voice, heard, model_at, talk
from tests.provider.sample_tools import toolbox
from tests.provider.streaming import chunk, piece
from tests.provider.test_anthropic_stream import STOP
from tests.provider.test_anthropic_stream import end as anthropic_end
from tests.replay_server import answering, events, streamed
from whence.declare.toolbox import Toolbox
from whence.provider.exchange import Settings, ToolChoice
from whence.provider.stream import ItemDone
from whence.shapes.item import Message, Reasoning, Text, ToolCall, ToolOutcome
from whence.shapes.tool import Tool

pytestmark = pytest.mark.anyio


@every_voice
@pytest.mark.requirement("models:encoded-once")
async def test_a_turn_adds_to_the_bytes_of_the_turn_before(voice: Voice) -> None:
    async with (
        answering(streamed([events(*voice.says("Hello"))])) as server,
        model_at(server, voice) as model,
    ):
        conversation = talk(model)
        for _ in range(2):
            answer = await heard(conversation)
            conversation.add(answer.completion.items)
            conversation.add([Message.of("user", "more")])
        await heard(conversation)

    first, second, third = (request.body for request in server.requests)
    opening = first[: first.index(b'"hello"') + 7]
    assert second.startswith(opening)
    assert third.startswith(second[: second.rindex(b'"more"') + 6])
    assert second.count(b"Hello") == 1
    assert third.count(b"Hello") == 2


@every_voice
@pytest.mark.requirement("models:encoded-once")
async def test_tools_are_encoded_once_for_a_conversation(voice: Voice) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = Toolbox([Tool("x.y", "Does it.", schema, None)])
    async with (
        answering(streamed([events(*voice.says("Hello"))])) as server,
        model_at(server, voice) as model,
    ):
        conversation = talk(model, tools)
        await heard(conversation)
        schema["properties"] = {}  # too late: the bytes are made
        await heard(conversation)

    assert server.requests[0].body == server.requests[1].body
    assert b'"x_y"' in server.requests[0].body


@every_voice
async def test_the_model_of_the_id_is_asked_whatever_the_settings_say(voice: Voice) -> None:
    async with (
        answering(streamed([events(*voice.says("Hello"))])) as server,
        model_at(server, voice) as model,
    ):
        await heard(talk(model))

    assert model.id == f"{voice.provider}/m"
    assert server.requests[0].json["model"] == "m"


@pytest.mark.requirement("models:losses")
async def test_what_a_protocol_cannot_say_comes_back_once() -> None:
    async with model_at("http://127.0.0.1:9", CHAT) as model:
        conversation = model.converse(Settings("m"), toolbox())
        losses = conversation.add([Reasoning("anthropic", ("hm",), seal="s")])
        again = conversation.add([Message.of("user", "hello")])

    assert [loss.at for loss in losses] == [0]
    assert again == ()


@pytest.mark.requirement("models:own-ids")
async def test_an_id_that_a_call_of_the_history_has_is_not_given_again() -> None:
    call = piece(0, "call_1", "fs_read", '{"path": "b"}')
    answer = streamed([events(call, chunk({}, "tool_calls"), "[DONE]")])
    async with answering(answer) as server, model_at(server) as model:
        conversation = talk(model)
        conversation.add([ToolCall("call_1", "fs_read", "{}", {}), ToolOutcome("call_1", ())])
        got = (await heard(conversation)).completion.calls

    assert [one.name for one in got] == ["fs_read"]
    assert got[0].id != "call_1"


@pytest.mark.requirement("models:strict")
async def test_a_server_that_cannot_be_strict_is_sent_the_tools_as_they_are() -> None:
    written = '{"why": "to see", "path": "a", "limit": null}'
    call = piece(0, "c1", "fs_read", written)
    answer = streamed([events(call, chunk({}, "tool_calls"), "[DONE]")])
    async with answering(answer) as server, model_at(server, CHAT, strict=True) as model:
        got = (await heard(talk(model))).completion.calls

    function = server.requests[0].json["tools"][0]["function"]
    assert "strict" not in function
    assert function["parameters"]["required"] == ["why", "path"]
    assert got[0].arguments == json.loads(written)


@pytest.mark.requirement("models:strict")
async def test_a_strict_model_is_held_to_schemas_that_say_null() -> None:
    voice = ANTHROPIC
    written = '{"why": "x", "path": "a", "content": "b", "mode": null}'
    call = [
        {"type": "content_block_start", "index": 0}
        | {"content_block": {"type": "tool_use", "id": "a", "name": "fs_write", "input": {}}},
        {"type": "content_block_delta", "index": 0}
        | {"delta": {"type": "input_json_delta", "partial_json": written}},
        {"type": "content_block_stop", "index": 0},
        anthropic_end(),
        STOP,
    ]
    async with (
        answering(streamed([events(voice.words("")[0], *call)])) as server,
        model_at(server, voice, strict=True) as model,
    ):
        answer = await heard(talk(model))

    sent = {tool["name"]: tool for tool in server.requests[0].json["tools"]}
    assert sent["fs_write"]["strict"] is True
    assert "mode" in sent["fs_write"]["input_schema"]["required"]
    (got,) = answer.completion.calls
    assert got.arguments == {"why": "x", "path": "a", "content": "b"}
    assert got.text == written
    assert [one.item for one in answer.progress if isinstance(one, ItemDone)] == [got]


@pytest.mark.requirement("models:container")
async def test_what_a_provider_wants_back_goes_with_the_next_request() -> None:
    ended = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "container": {"id": "k"}},
    }
    answer = streamed([events(*ANTHROPIC.words("Hello"), ended, STOP)])
    async with answering(answer) as server, model_at(server, ANTHROPIC) as model:
        conversation = talk(model, extra={"top_k": 3})
        await heard(conversation)
        await heard(conversation)

    assert "container" not in server.requests[0].json
    assert server.requests[1].json["container"] == {"id": "k"}
    assert server.requests[1].json["top_k"] == 3


@pytest.mark.requirement("models:cached")
async def test_anthropic_is_asked_to_keep_a_conversation_with_tools() -> None:
    async with (
        answering(streamed([events(*ANTHROPIC.says("Hello"))])) as server,
        model_at(server, ANTHROPIC) as model,
    ):
        await heard(talk(model))
        await heard(talk(model, Toolbox([])))
        await heard(talk(model, extra={"cache_control": None}))

    with_tools, without, refused = (request.json for request in server.requests)
    assert with_tools["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in without
    assert refused["cache_control"] is None


@every_voice
@pytest.mark.requirement("models:xml")
async def test_calls_may_travel_as_text(voice: Voice) -> None:
    said = "I look.\n<fs_read>\n<why>to see</why>\n<path>a.txt</path>\n</fs_read>"
    async with (
        answering(streamed([events(*voice.says(said))])) as server,
        model_at(server, voice) as model,
    ):
        conversation = model.converse(
            Settings("m", tool_choice=ToolChoice("required")), toolbox(), xml=True
        )
        conversation.add([Message.of("user", "hello")])
        answer = await heard(conversation)
        outcome = ToolOutcome("", (Text("the content"),), name="fs_read")
        conversation.add([*answer.completion.items, outcome])
        await heard(conversation)

    (call,) = answer.completion.calls
    assert call.arguments == {"why": "to see", "path": "a.txt"}
    assert answer.shown == answer.completion.text == "I look."
    assert answer.calls_done == [call]
    first, second = (request.json for request in server.requests)
    assert "tools" not in first
    assert "tool_choice" not in first
    assert "<fs_read>" in json.dumps(first)
    assert "</tool_result>" in json.dumps(second)
    assert "</fs_read>" in json.dumps(second).split("I look.")[1]
