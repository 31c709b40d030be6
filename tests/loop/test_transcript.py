"""Items in a file are the same items when it is read again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.provider.conversations import arguments, base64_data, ids, names, urls, words
from whence.loop.agent_file import load_agent
from whence.loop.conversation import Reader
from whence.loop.transcript import Transcript
from whence.provider import anthropic, openai_chat, openai_responses
from whence.provider.arguments import call_with, make_call
from whence.shapes.item import (
    File,
    Image,
    Inline,
    Item,
    Link,
    Message,
    Native,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolOutcome,
)

NASTY = [
    "RAW|x|RAW", "</assistant>", "|RAW", "RAW", "<doc src='x' local/>", "a\r\nb\x00c",
    "x" * 70_000, "<!-- -->", "&lt;&amp;", "\ufeff", " padded \n",
]  # fmt: skip
said = words | st.sampled_from(NASTY)
any_id = ids | st.sampled_from(['"quoted" & <odd>', "a/../b", "ü" * 70])
protocols = st.sampled_from([anthropic.PROTOCOL, openai_chat.PROTOCOL, openai_responses.PROTOCOL])
natives = st.none() | st.builds(
    Native, protocols, st.dictionaries(names, st.lists(said, max_size=2), min_size=1, max_size=2)
)
pictures: st.SearchStrategy[Part] = st.one_of(
    st.builds(Image, st.builds(Inline, st.sampled_from(["image/png", "image/webp"]), base64_data)),
    st.builds(Image, st.builds(Link, urls)),
)
texts: st.SearchStrategy[Part] = st.builds(Text, said)
parts = st.lists(texts | pictures, min_size=1, max_size=4).map(tuple)
optional = st.none() | any_id

messages = st.builds(
    Message, st.sampled_from(["user", "assistant", "system", "developer"]), parts,
    id=optional, name=st.none() | names, phase=st.none() | names, native=natives,
)  # fmt: skip


def free_call(call_id: str, name: str, text: str, native: Native | None) -> ToolCall:
    return ToolCall(call_id, name, text, {"input": text}, custom=True, native=native)


calls = st.one_of(
    st.builds(
        make_call, any_id, names, said | st.just('{"a": [1, 2'), item_id=optional, native=natives
    ),
    st.builds(call_with, any_id, names, arguments),
    st.builds(free_call, any_id, names, said, natives),
)  # fmt: skip
outcomes = st.builds(
    ToolOutcome, any_id, parts, st.booleans(), custom=st.booleans(), item_id=optional,
    native=natives,
)  # fmt: skip
thoughts = st.one_of(
    st.builds(
        Reasoning, protocols, st.tuples(said) | st.just(()),
        st.lists(said, max_size=2).map(tuple), st.none() | said, id=optional, native=natives,
    ),
    st.builds(Reasoning, st.just(anthropic.PROTOCOL), seal=said, redacted=st.just(True)),
)  # fmt: skip
opaque = st.builds(
    Opaque, protocols, names, st.just('{"type": "web_search_call", "x": "<\\u00fc>"}'),
    st.sampled_from(["assistant", "user"]),
)  # fmt: skip
conversations = st.lists(st.one_of(messages, calls, outcomes, thoughts, opaque), max_size=6)


def written_and_read(items: list[Item], *, inline: bool) -> tuple[Item, ...]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agent.chatmd"
        path.write_text("<config/>\n", "utf-8")
        with Transcript(path, inline=inline) as transcript:
            for item in items:
                transcript.add([item])
            transcript.invite()
        agent = load_agent(str(path), folder)
        assert agent.first_error() is None
        reader = Reader(agent, folder)
        found = reader.items()
        assert reader.notes == []
        return found


@pytest.mark.requirement("loop:lossless")
@settings(deadline=None, max_examples=150)
@given(conversations, st.booleans())
def test_what_is_written_is_read_back(items: list[Item], inline: bool) -> None:
    assert list(written_and_read(items, inline=inline)) == items


def test_what_a_file_cannot_hold_is_said_in_words() -> None:
    broken = Image(Inline("image/png", "no base64!"))
    odd = Image(Inline("image/tiff", "AA=="))
    items: list[Item] = [
        Message("user", (broken, Text("and"), odd, File(Link("https://a.example"))))
    ]
    (message,) = written_and_read(items, inline=True)
    assert isinstance(message, Message)
    assert "cannot be read" in message.text
    assert message.text.count("cannot hold") == 2


def test_half_a_character_in_the_fields_of_a_provider_is_replaced() -> None:
    broken = Native("openai-chat", {"extra": "half \ud800"})
    (message,) = written_and_read([Message("assistant", (Text("a"),), native=broken)], inline=True)
    assert isinstance(message, Message)
    assert message.native == Native("openai-chat", {"extra": "half \ufffd"})


def test_a_payload_that_is_gone_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "agent.chatmd"
    path.write_text("<config/>\n<user>go</user>\n", "utf-8")
    with Transcript(path) as transcript:
        transcript.add([call_with("c", "f", {"a": 1}), ToolOutcome("c", (Text("x"),))])
    for payload in (tmp_path / ".chatmd").iterdir():
        payload.unlink()
    reader = Reader(load_agent(str(path), str(tmp_path)), str(tmp_path))
    _, call, outcome = reader.items()
    assert isinstance(call, ToolCall)
    assert call.arguments == {}
    assert isinstance(outcome, ToolOutcome)
    assert "missing" in outcome.text
    assert len(reader.notes) == 2
