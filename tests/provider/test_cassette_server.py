"""Real traffic over a real socket: each recorded answer, served as it was and in odd pieces, gives
exactly the known items through the whole model, whose request is what the provider accepted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.provider.cassette_tape import CASSETTES, Interaction, names
from tests.provider.test_cassettes import (
    accepted_items,
    as_expected,
    is_function,
    joined,
    judged,
    normal,
)
from tests.replay_server import EVENTS, Answer, answering, at_random, cut, every, streamed, whole
from whence.declare.toolbox import Toolbox
from whence.errors import WhenceError
from whence.provider import anthropic, openai_chat, openai_responses
from whence.provider.exchange import Completion, Settings, leading_system
from whence.provider.model import Conversation
from whence.provider.remote import Options, open_model
from whence.provider.retry import Patience
from whence.provider.stream import ItemDone, TextDelta
from whence.shapes.item import Item, Message
from whence.shapes.tool import Tool

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not CASSETTES.is_dir(), reason="the recordings are not on this machine"),
]
every_cassette = pytest.mark.parametrize("name", names())
OPTIONS = Options(patience=Patience(attempts=1))
HOSTS = {
    "api.anthropic.com": "anthropic",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
    "openrouter.ai": "openrouter",
    "api.openai.com": "openai-chat",
}
CODECS: dict[str, Any] = {
    openai_chat.PROTOCOL: openai_chat,
    openai_responses.PROTOCOL: openai_responses,
    anthropic.PROTOCOL: anthropic,
}
SAID_BY_US = {
    "cache_control",
    "include",
    "max_tokens",
    "store",
    "stream",
    "stream_options",
    "tool_choice",
}
"""What our request may say besides what was recorded."""


def of_models(name: str) -> list[Interaction]:
    return [one for one in judged(name) if one.is_model]


def provider_id(one: Interaction) -> str:
    if one.protocol == openai_responses.PROTOCOL:
        return "openai"
    return HOSTS[one.uri.split("/")[2]]


def history(one: Interaction) -> tuple[tuple[Message, ...], tuple[Item, ...]]:
    """The instructions and the conversation of a recorded request."""
    if one.request is None:
        return (), (Message.of("user", "hello"),)
    if one.protocol == openai_responses.PROTOCOL:
        return leading_system(openai_responses.decode_input(one.request["input"]))
    if one.protocol == anthropic.PROTOCOL:
        system = anthropic.decode_system(one.request.get("system"))
        return system, anthropic.decode_messages(one.request["messages"])
    return leading_system(openai_chat.decode_messages(one.request["messages"]))


def tools_of(one: Interaction) -> Toolbox:
    listed = [tool for tool in (one.request or {}).get("tools", []) if is_function(tool)]
    definitions = CODECS[one.protocol].decode_tools(listed)
    return Toolbox(Tool(d.name, d.description, d.schema, None) for d in definitions)


@asynccontextmanager
async def begun(one: Interaction, base_url: str, **environ: str) -> AsyncIterator[Conversation]:
    request = one.request or {}
    named = ("messages", "input", "system", "tools", "model", "stream", "stream_options")
    extra = {key: value for key, value in request.items() if key not in named}
    provider = provider_id(one)
    name = request.get("model", "any")
    model = open_model(f"{provider}/{name}", environ=environ, base_url=base_url, options=OPTIONS)
    system, items = history(one)
    settings = Settings(name, system, stream=one.streamed, extra=extra)
    conversation = model.converse(settings, tools_of(one))
    conversation.add(items)
    try:
        yield conversation
    finally:
        await model.aclose()


async def answer_of(conversation: Conversation) -> Completion:
    shown: list[str] = []
    done: list[Item] = []
    async for piece in conversation.answer():
        if isinstance(piece, TextDelta):
            shown.append(piece.text)
        elif isinstance(piece, ItemDone):
            done.append(piece.item)
    assert isinstance(piece, Completion)
    assert "".join(shown) == piece.text
    assert sorted(map(repr, done)) == sorted(map(repr, piece.items))
    return piece


async def check(one: Interaction, conversation: Conversation) -> None:
    if "error" not in one.expected:
        assert as_expected(await answer_of(conversation), one.expected) == one.expected, str(one)
        return
    with pytest.raises(WhenceError) as raised:
        await answer_of(conversation)
    told = raised.value.details
    said = {"type": told.get("type"), "code": told.get("code"), "message": told.get("said")}
    assert {key: said[key] for key in one.expected["error"]} == one.expected["error"], str(one)


def served(one: Interaction) -> Answer:
    kind = EVENTS if one.streamed else "application/json"
    return whole(one.body, one.status, kind)


@every_cassette
@pytest.mark.requirement("models:recorded-items")
async def test_a_recorded_answer_gives_the_known_items_over_a_socket(name: str) -> None:
    for one in of_models(name):
        async with answering(served(one)) as server, begun(one, server.url) as conversation:
            await check(one, conversation)


def cuttings(one: Interaction) -> Iterator[list[bytes]]:
    yield list(cut(one.body, at_random(str(one))))
    size = 1 if len(one.body) < 3000 else 7
    if len(one.body) < 12_000:
        yield list(cut(one.body, every(size)))


@every_cassette
@pytest.mark.requirement("models:recorded-pieces")
async def test_a_recorded_answer_is_the_same_in_odd_pieces(name: str) -> None:
    for one in of_models(name):
        kind = EVENTS if one.streamed else "application/json"
        for pieces in cuttings(one):
            assert b"".join(pieces) == one.body
            answer = streamed(pieces, one.status, kind)
            async with answering(answer) as server, begun(one, server.url) as conversation:
                await check(one, conversation)


def as_user(messages: list[Any]) -> list[Any]:
    """Instructions in the middle of a conversation, as we say them to Anthropic."""
    return [{**one, "role": "user"} if one["role"] == "system" else one for one in messages]


@every_cassette
@pytest.mark.requirement("models:recorded-requests")
async def test_our_request_is_the_one_that_the_provider_accepted(name: str) -> None:
    for one in of_models(name):
        if one.request is None:
            continue
        host, path = one.uri.removeprefix("https://").partition("?")[0].split("/", 1)
        base = f"http://{host}/{path.removesuffix('/chat/completions').removesuffix('/responses')}"
        async with (
            answering(served(one)) as proxy,
            begun(one, base.removesuffix("/messages"), http_proxy=proxy.url) as conversation,
        ):
            await check(one, conversation)
            request = proxy.requests[-1]
        if "count_tokens" not in path:
            assert request.target == f"http://{host}/{path}"
        sent = request.json
        field = "input" if one.protocol == openai_responses.PROTOCOL else "messages"
        ours, theirs = normal(sent.pop(field)), normal(accepted_items(one))
        if one.protocol == anthropic.PROTOCOL:
            ours, theirs = joined(ours), joined(as_user(theirs))
        assert ours == theirs, str(one)

        own_tools = sent.pop("tools", [])
        assert [without_why(tool) for tool in own_tools] == [
            described(tool) for tool in one.request.get("tools", []) if is_function(tool)
        ], str(one)
        assert normal(sent.pop("system", [])) == normal(texts(one.request.get("system")))
        rest = {k: v for k, v in one.request.items() if k not in (field, "tools", "system")}
        for key in ("stream", "stream_options"):
            rest.pop(key, None)
        assert {key: sent.get(key) for key in rest} == rest, str(one)
        assert sent.keys() - rest.keys() <= SAID_BY_US, str(one)


def texts(system: Any) -> list[Any]:
    return [{"type": "text", "text": system}] if isinstance(system, str) else system or []


def described(tool: Any) -> tuple[str, str, dict[str, Any], list[str]]:
    said = tool.get("function", tool)
    schema = said.get("parameters") or said.get("input_schema") or {}
    properties = dict(schema.get("properties") or {})
    return said["name"], said.get("description") or "", properties, schema.get("required") or []


def without_why(tool: Any) -> tuple[str, str, dict[str, Any], list[str]]:
    """A tool as it was, without the reason that every tool of ours asks for first."""
    name, description, properties, required = described(tool)
    assert next(iter(properties)) == required[0] == "why"
    return name, description, {k: v for k, v in properties.items() if k != "why"}, required[1:]
