"""Items to a provider's JSON and back: what a protocol can say is not lost in it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings

from tests.provider.conversations import conversations
from whence.provider import anthropic, mcp_parts, mcp_sampling, openai_chat, openai_responses
from whence.provider.exchange import Encoded
from whence.shapes.item import Item

SETTINGS = settings(deadline=None, max_examples=150)


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
