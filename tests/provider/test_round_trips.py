"""Items to a provider's JSON and back: what a protocol can say is not lost in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.provider.conversations import answers, asked, conversations
from whence.provider import anthropic, mcp_parts, mcp_sampling, openai_chat, openai_responses
from whence.provider.arguments import call_with
from whence.provider.exchange import Encoded
from whence.shapes.item import Item, Message, Opaque, Part, Reasoning, ToolOutcome, calls_of

SETTINGS = settings(deadline=None, max_examples=40)


def parsed(encoded: Encoded) -> list[Any]:
    assert encoded.losses == ()
    return [json.loads(fragment) for fragment in encoded.fragments]


@SETTINGS
@given(conversations(openai_chat.PROTOCOL))
def test_chat_completions_keep_a_conversation(items: list[Item]) -> None:
    assert list(openai_chat.decode_messages(parsed(openai_chat.encode_items(items)))) == items


@SETTINGS
@given(conversations(openai_responses.PROTOCOL))
def test_responses_keep_a_conversation(items: list[Item]) -> None:
    assert (
        list(openai_responses.decode_input(parsed(openai_responses.encode_items(items)))) == items
    )


@SETTINGS
@given(conversations(anthropic.PROTOCOL))
def test_anthropic_messages_keep_a_conversation(items: list[Item]) -> None:
    assert list(anthropic.decode_messages(parsed(anthropic.encode_items(items)))) == items


@SETTINGS
@given(conversations(mcp_parts.PROTOCOL))
def test_mcp_sampling_keeps_a_conversation(items: list[Item]) -> None:
    messages, losses = mcp_sampling.encode_items(items)

    assert losses == ()
    assert list(mcp_sampling.decode_messages(json.loads(json.dumps(messages)))) == items


ENCODERS = {
    openai_chat.PROTOCOL: openai_chat.encode_items,
    openai_responses.PROTOCOL: openai_responses.encode_items,
    anthropic.PROTOCOL: anthropic.encode_items,
}
DECODERS = {
    openai_chat.PROTOCOL: openai_chat.decode_messages,
    openai_responses.PROTOCOL: openai_responses.decode_input,
    anthropic.PROTOCOL: anthropic.decode_messages,
}
protocols = st.sampled_from(sorted(ENCODERS))


def through(items: Sequence[Item], protocol: str) -> tuple[Item, ...]:
    fragments = ENCODERS[protocol](items).fragments
    return DECODERS[protocol]([json.loads(fragment) for fragment in fragments])


def plain(items: Sequence[Item]) -> list[Item]:
    """The items without what only their own protocol knows."""
    bare = [
        replace(item, native=None) for item in items if not isinstance(item, Opaque | Reasoning)
    ]
    return [
        replace(item, parts=tuple(unadorned(part) for part in item.parts))
        if isinstance(item, Message | ToolOutcome)
        else item
        for item in bare
    ]


def unadorned(part: Part) -> Part:
    return part if isinstance(part, Opaque) else replace(part, native=None)


@SETTINGS
@given(protocols, protocols, st.data())
def test_calls_and_outcomes_survive_any_change_of_provider(
    first: str, second: str, data: st.DataObject
) -> None:
    items = plain(data.draw(conversations(openai_chat.PROTOCOL)))

    arrived = through(through(items, first), second)

    assert calls_of(arrived) == calls_of(items)
    kept = [
        (one.call_id, one.text, one.is_error) for one in arrived if isinstance(one, ToolOutcome)
    ]
    sent = [(one.call_id, one.text, one.is_error) for one in items if isinstance(one, ToolOutcome)]
    assert kept == sent


@SETTINGS
@given(protocols, protocols, st.data())
def test_whatever_a_provider_cannot_be_told_is_reported(
    origin: str, target: str, data: st.DataObject
) -> None:
    items = data.draw(conversations(origin))

    encoded = ENCODERS[target](items)

    for fragment in encoded.fragments:
        json.loads(fragment)
    foreign = {
        index
        for index, item in enumerate(items)
        if origin != target
        and (isinstance(item, Opaque | Reasoning) or getattr(item, "native", None) is not None)
    }
    assert foreign <= {loss.at for loss in encoded.losses}


@SETTINGS
@given(protocols, st.data())
def test_encoding_turn_by_turn_gives_the_bytes_of_encoding_everything(
    protocol: str, data: st.DataObject
) -> None:
    turns: list[list[Item]] = []
    for number in range(data.draw(st.integers(1, 4))):
        turns += [[data.draw(asked(protocol))], data.draw(answers(protocol, number))]
    items = [item for turn in turns for item in turn]

    apart = [fragment for turn in turns for fragment in ENCODERS[protocol](turn).fragments]

    joined = b"[" + b",".join(apart) + b"]"
    assert list(DECODERS[protocol](json.loads(joined))) == items
    if not (protocol == anthropic.PROTOCOL and any(isinstance(i, ToolOutcome) for i in items)):
        assert tuple(apart) == ENCODERS[protocol](items).fragments


@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS)
@given(st.text(max_size=80))
@settings(deadline=None, max_examples=30)
def test_a_name_that_a_provider_would_refuse_is_replaced_and_reported(
    encode: Callable[[Sequence[Item]], Encoded], name: str
) -> None:
    encoded = encode([call_with("call_1", name, {})])

    sent = b"".join(encoded.fragments).decode()
    (written,) = re.findall(r'"name":"([^"]*)"', sent)
    assert re.fullmatch("[A-Za-z0-9_-]{1,64}", written)
    assert [loss.fate for loss in encoded.losses] == ([] if written == name else ["changed"])
