"""Conversations for property tests: whatever a protocol can say."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from whence.provider import anthropic, mcp_parts, openai_chat, openai_responses
from whence.provider.arguments import call_with, make_call
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
    Part,
    Reasoning,
    Refusal,
    Stored,
    Text,
    ToolCall,
    ToolOutcome,
)

LETTERS = "abcXYZ_"
words = st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
ids = st.text(LETTERS + "019-", min_size=1, max_size=12)
names = st.text(LETTERS, min_size=1, max_size=12)
base64_data = st.sampled_from(["AA==", "aGVsbG8=", "/+8="])
json_values: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.text(max_size=10),
    st.sampled_from([[], {}, [1, {"a": None}], {"b": ["x", 2.5]}, {"": {"deep": [[]]}}]),
)
arguments: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.text(max_size=6), json_values, max_size=3
)
urls = st.sampled_from(["https://a.example/x.png", "https://b.example/?q=1&r=ü"])


def native(protocol: str) -> st.SearchStrategy[Native | None]:
    return st.sampled_from([None, None, Native(protocol, {"x_note": "kept"})])


def texts(protocol: str) -> st.SearchStrategy[Part]:
    return st.builds(Text, words, native(protocol))


def images(*kinds: type) -> st.SearchStrategy[Part]:
    return st.builds(Image, sources("image/png", *kinds))


def files(media_type: str, *kinds: type, named: bool = True) -> st.SearchStrategy[Part]:
    name = st.none() | names if named else st.none()
    return st.builds(File, sources(media_type, *kinds), name)


def sources(media_type: str, *kinds: type) -> st.SearchStrategy[Any]:
    made: dict[type, st.SearchStrategy[Any]] = {
        Inline: st.builds(Inline, st.just(media_type), base64_data),
        Link: st.builds(Link, urls),
        Stored: st.builds(Stored, ids),
    }
    return st.one_of([made[kind] for kind in kinds])


def user_parts(protocol: str) -> st.SearchStrategy[Part]:
    match protocol:
        case openai_chat.PROTOCOL:
            media = [
                images(Inline, Link),
                files("application/pdf", Inline, Stored),
                files("audio/wav", Inline, named=False),
            ]
        case openai_responses.PROTOCOL:
            media = [images(Inline, Link, Stored), files("application/pdf", Inline, Link, Stored)]
        case anthropic.PROTOCOL:
            media = [
                images(Inline, Link, Stored),
                files("application/pdf", Inline, Link, Stored),
                st.builds(File, st.builds(plain_document, words)),
            ]
        case _:
            media = [images(Inline), files("audio/wav", Inline, named=False)]
    return st.one_of(texts(protocol), *media)


def plain_document(text: str) -> Inline:
    return Inline("text/plain", base64.b64encode(text.encode()).decode())


@st.composite
def calls(draw: st.DrawFn, protocol: str, call_id: str) -> ToolCall:
    name = draw(names)
    extra = draw(native(protocol))
    if draw(st.integers(0, 5)) == 0:
        broken = draw(
            st.sampled_from(["{", '{"a": ', "[1, 2]", "nonsense", '"text"', '{"a": NaN}'])
        )
        return make_call(call_id, name, broken, native=extra)
    made = call_with(call_id, name, draw(arguments))
    return ToolCall(call_id, name, made.text, made.arguments, native=extra)


@st.composite
def outcomes(draw: st.DrawFn, protocol: str, call: ToolCall) -> ToolOutcome:
    part = {
        openai_chat.PROTOCOL: texts(protocol) | marked_texts,
        openai_responses.PROTOCOL: user_parts(protocol) | marked_texts,
    }.get(protocol, user_parts(protocol))
    structured = draw(arguments) if protocol == mcp_parts.PROTOCOL else None
    parts = draw(st.lists(part, min_size=1, max_size=3))
    return ToolOutcome(call.id, tuple(parts), draw(st.booleans()), structured)


marked_texts: st.SearchStrategy[Part] = st.builds(
    Text,
    st.lists(
        st.sampled_from(["<error>", "</error>", "<result>", "</result>", "x"]),
        min_size=1,
        max_size=5,
    ).map("".join),
)


def thoughts(protocol: str) -> st.SearchStrategy[Reasoning]:
    if protocol == openai_chat.PROTOCOL:
        return words.map(
            lambda text: Reasoning(
                protocol, (text,), native=Native(protocol, {"reasoning_content": text})
            )
        )
    if protocol == anthropic.PROTOCOL:
        seen = st.builds(
            Reasoning, st.just(protocol), st.tuples(words), seal=ids, native=native(protocol)
        )
        hidden = st.builds(Reasoning, st.just(protocol), seal=ids, redacted=st.just(True))
        return seen | hidden
    return st.builds(
        Reasoning,
        st.just(protocol),
        st.lists(words, max_size=2).map(tuple),
        st.lists(words, max_size=2).map(tuple),
        st.none() | ids,
        id=ids,
        native=native(protocol),
    )


def opaques(protocol: str) -> st.SearchStrategy[Opaque]:
    bodies = st.dictionaries(names, json_values, max_size=3)
    return bodies.map(
        lambda body: Opaque(
            protocol, "server_thing", dumps({**body, "type": "server_thing"}).decode()
        )
    )


@st.composite
def answers(draw: st.DrawFn, protocol: str, number: int) -> list[Item]:
    """An assistant's turn, and the outcomes of its calls."""
    items: list[Item] = []
    thinks = protocol != mcp_parts.PROTOCOL and draw(st.booleans())
    if thinks:
        items.append(draw(thoughts(protocol)))
    if protocol in (anthropic.PROTOCOL, openai_responses.PROTOCOL) and draw(st.booleans()):
        items.append(draw(opaques(protocol)))
    made = [draw(calls(protocol, f"call_{number}_{at}")) for at in range(draw(st.integers(0, 3)))]
    if not made or draw(st.booleans()):
        items.append(draw(said(protocol)))
    items += made
    items += [draw(outcomes(protocol, call)) for call in made]
    return items


@st.composite
def said(draw: st.DrawFn, protocol: str) -> Message:
    part = texts(protocol)
    if protocol in (openai_chat.PROTOCOL, openai_responses.PROTOCOL):
        part |= st.builds(Refusal, words)
    parts = tuple(draw(st.lists(part, min_size=1, max_size=2)))
    if protocol != openai_responses.PROTOCOL:
        return Message("assistant", parts)
    phase = draw(st.none() | st.sampled_from(["commentary", "final_answer"]))
    return Message("assistant", parts, draw(st.none() | ids), phase=phase)


@st.composite
def asked(draw: st.DrawFn, protocol: str) -> Message:
    roles = ["user"]
    if protocol in (openai_chat.PROTOCOL, openai_responses.PROTOCOL):
        roles += ["system", "developer"]
    role: Any = draw(st.sampled_from(roles))
    part = user_parts(protocol) if role == "user" else texts(protocol)
    name = draw(st.none() | names) if protocol == openai_chat.PROTOCOL else None
    return Message(role, tuple(draw(st.lists(part, min_size=1, max_size=3))), name=name)


@st.composite
def conversations(draw: st.DrawFn, protocol: str) -> list[Item]:
    """Turns of a user and a model, in any order."""
    items: list[Item] = []
    for number in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            items.append(draw(asked(protocol)))
        else:
            items += draw(answers(protocol, number))
    return items
