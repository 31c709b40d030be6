"""Real traffic: every recorded answer gives exactly the items that are known to be in it, and
every recorded conversation is encoded as the provider accepted it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.provider.cassette_tape import (
    CASSETTES,
    DECODERS,
    Interaction,
    interactions,
    names,
    stream,
)
from whence.provider import anthropic, openai_chat, openai_responses
from whence.provider.exchange import Completion
from whence.provider.stream import ItemDone, TextDelta
from whence.shapes.item import ToolCall, calls_of

pytestmark = pytest.mark.skipif(
    not CASSETTES.is_dir(), reason="the recordings are not on this machine"
)
every_cassette = pytest.mark.parametrize("name", names())


def as_expected(completion: Completion, expected: Any) -> Any:
    if "error" in expected:
        failure = completion.failure
        assert failure is not None
        said = {"type": failure.type, "code": failure.code, "message": failure.message}
        return {"error": {key: said[key] for key in expected["error"]}}
    calls = [
        {"id": call.id, "name": call.name, "arguments": call.arguments} for call in completion.calls
    ]
    return {"text": completion.text, "calls": calls, "stop": completion.stop_word}


def judged(name: str) -> list[Interaction]:
    return [one for one in interactions(name) if one.expected is not None]


@every_cassette
def test_a_recorded_answer_gives_exactly_the_known_items(name: str) -> None:
    for one in judged(name):
        if one.streamed:
            completion = stream(one.protocol, one.body, len(one.body))[1]
        else:
            completion = DECODERS[one.protocol](one.body, status=one.status)

        assert as_expected(completion, one.expected) == one.expected, str(one)


@every_cassette
def test_a_streamed_answer_is_the_same_however_it_is_cut(name: str) -> None:
    for one in judged(name):
        if not one.streamed:
            continue
        whole = stream(one.protocol, one.body, len(one.body))
        pieces = (1, 7, 1021) if len(one.body) < 20_000 else (13, 1021)
        for piece in pieces:
            assert stream(one.protocol, one.body, piece) == whole, f"{one} in pieces of {piece}"


@every_cassette
def test_deltas_and_finished_items_tell_the_same_story(name: str) -> None:
    for one in judged(name):
        if not one.streamed:
            continue
        deltas, completion = stream(one.protocol, one.body, 4096)

        assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == completion.text
        done = [delta.item for delta in deltas if isinstance(delta, ItemDone)]
        assert sorted(map(repr, done)) == sorted(map(repr, completion.items)), str(one)


def sent_items(one: Interaction) -> list[Any]:
    """The conversation of a request, decoded and encoded again."""
    request = one.request
    if one.protocol == openai_responses.PROTOCOL:
        encoded = openai_responses.encode_items(openai_responses.decode_input(request["input"]))
    elif one.protocol == anthropic.PROTOCOL:
        items = anthropic.decode_messages(request["messages"])
        encoded = anthropic.encode_items(items, system_messages=True)
    else:
        host = one.uri.split("/")[2]
        items = openai_chat.decode_messages(request["messages"])
        encoded = openai_chat.encode_items(items, openai_chat.dialect_of(host))
    assert encoded.losses == ()
    return [json.loads(fragment) for fragment in encoded.fragments]


def accepted_items(one: Interaction) -> list[Any]:
    """What the provider accepted, in the form in which we would say the same.

    Equal in meaning for the provider, and so normalised here:
    - a key with null is the same as no key, `tool_calls: []` the same as no calls;
    - content that is one text block is the same as the bare text, and no content for an assistant
      with calls the same as null, "" or [];
    - the position of a call in its list need not be written into it;
    - Anthropic joins neighbouring messages of one role itself;
    - a Responses item that is completed need not say so, nor that it is a message, and an output
      text without annotations need not say that.
    """
    request = one.request
    if one.protocol == openai_responses.PROTOCOL:
        given = request["input"]
        return [{"role": "user", "content": given}] if isinstance(given, str) else given
    return list(request["messages"])


def normal(value: Any) -> Any:
    if isinstance(value, list):
        return [normal(item) for item in value]
    if not isinstance(value, dict):
        return value
    out = {key: normal(item) for key, item in value.items() if item is not None}
    if out.get("status") == "completed":
        del out["status"]
    if out.get("type") == "message":
        del out["type"]
    for key in ("tool_calls", "annotations", "content", "logprobs"):
        if out.get(key) in ([], ""):
            del out[key]
    if "function" in out:
        out.pop("index", None)
    for key in ("content", "output"):
        if isinstance(out.get(key), str):
            out[key] = [{"type": "text", "text": out[key]}]
        for part in out.get(key, []) if isinstance(out.get(key), list) else []:
            if part.get("type") in ("input_text", "output_text"):
                part["type"] = "text"
    return out


def joined(messages: list[Any]) -> list[Any]:
    out: list[Any] = []
    for message in messages:
        if out and out[-1]["role"] == message["role"]:
            out[-1] = {**message, "content": out[-1]["content"] + message["content"]}
        else:
            out.append(message)
    return out


@every_cassette
def test_a_recorded_conversation_is_encoded_as_it_was_accepted(name: str) -> None:
    for one in judged(name):
        if not (one.is_model and one.request):
            continue
        ours, theirs = normal(sent_items(one)), normal(accepted_items(one))
        if one.protocol == anthropic.PROTOCOL:
            ours, theirs = joined(ours), joined(theirs)

        assert ours == theirs, str(one)


CODECS: dict[str, Any] = {
    openai_chat.PROTOCOL: openai_chat,
    openai_responses.PROTOCOL: openai_responses,
    anthropic.PROTOCOL: anthropic,
}


def is_function(tool: Any) -> bool:
    return "input_schema" in tool or "function" in tool or tool.get("type") == "function"


def same_tool(tool: Any) -> Any:
    """A tool without what need not be said: its default type, no description, no strictness."""
    said = {**tool, **tool.get("function", {})}
    said.pop("function", None)
    if said.get("type") in ("custom", "function"):
        del said["type"]
    return {key: value for key, value in said.items() if value not in (None, "", False)}


@every_cassette
def test_recorded_tools_and_choices_are_encoded_as_they_were_accepted(name: str) -> None:
    for one in judged(name):
        if not (one.is_model and one.request):
            continue
        codec = CODECS[one.protocol]
        tools = [tool for tool in one.request.get("tools", []) if is_function(tool)]
        encoded = codec.encode_tools(codec.decode_tools(tools))
        again = [json.loads(fragment) for fragment in encoded.fragments]

        assert encoded.losses == ()
        assert [same_tool(tool) for tool in again] == [same_tool(tool) for tool in tools], str(one)
        if one.request.get("tool_choice") is not None:
            fields = codec.encode_tool_choice(codec.decode_tool_choice(one.request))
            assert fields["tool_choice"] == one.request["tool_choice"], str(one)


def answer_of(one: Interaction) -> Completion:
    if one.streamed:
        return stream(one.protocol, one.body, 4096)[1]
    return DECODERS[one.protocol](one.body)


def sent_calls(one: Interaction) -> dict[str, ToolCall]:
    codec = CODECS[one.protocol]
    decode = (
        codec.decode_input if one.protocol == openai_responses.PROTOCOL else codec.decode_messages
    )
    return {call.id: call for call in calls_of(decode(accepted_items(one)))}


@every_cassette
def test_a_call_goes_back_as_it_was_accepted_in_the_next_request(name: str) -> None:
    model = [one for one in judged(name) if one.is_model and one.request]
    for one, following in itertools.pairwise(model):
        if one.protocol == following.protocol and "error" not in one.expected:
            sent = sent_calls(following)
            for call in answer_of(one).calls:
                if call.id in sent:
                    accepted = sent[call.id]
                    assert (call.name, call.arguments) == (accepted.name, accepted.arguments)
