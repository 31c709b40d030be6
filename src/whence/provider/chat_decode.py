"""Chat Completions messages and answers to items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whence.errors import ParseError
from whence.provider.arguments import make_call, recorded_call
from whence.provider.chat_dialect import PROTOCOL
from whence.provider.chat_parts import decode_content, native_of
from whence.provider.exchange import Completion, Failure
from whence.provider.failure import failure_of, read_failure
from whence.provider.ids import CallIds
from whence.provider.outcomes import unmark
from whence.provider.wire import (
    count,
    dumps,
    loads,
    mapping,
    mend,
    objects,
    string,
    text_or_none,
    without,
)
from whence.shapes.item import (
    Item,
    Message,
    Native,
    Opaque,
    Reasoning,
    Refusal,
    StopReason,
    ToolCall,
    ToolOutcome,
    Usage,
)

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
_STOPS = {
    "stop": StopReason.END,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "model_length": StopReason.LENGTH,
    "tool_calls": StopReason.CALLS,
    "function_call": StopReason.CALLS,
    "content_filter": StopReason.REFUSAL,
    "error": StopReason.ERROR,
}


def decode_messages(messages: Sequence[Any]) -> tuple[Item, ...]:
    """The items of a conversation that was sent to such a server."""
    items: list[Item] = []
    for message in messages:
        items += _decode_message(mapping(message))
    return tuple(items)


def _decode_message(message: dict[str, Any]) -> list[Item]:
    role = message.get("role")
    if role == "assistant":
        return _decode_sent_answer(message)
    if role == "tool":
        return [_decode_outcome(message)]
    if role in ("system", "developer", "user"):
        rest = without(message, "role", "content", "name")
        parts = decode_content(message.get("content"), role)
        return [
            Message(role, parts, name=text_or_none(message.get("name")), native=native_of(rest))
        ]
    return [Opaque(PROTOCOL, string(role), dumps(message).decode(), "user")]


def _decode_sent_answer(message: dict[str, Any]) -> list[Item]:
    calls: list[Item] = [_sent_call(call) for call in objects(message.get("tool_calls"))]
    return [
        *decode_thoughts(message, keep_empty=True),
        *decode_words(message, keep_empty=True),
        *calls,
    ]


def _sent_call(call: dict[str, Any]) -> ToolCall:
    call_id, name, text, native, custom = call_fields(call)
    if custom:
        return custom_call(call_id, name, text, native)
    return recorded_call(call_id, name, text, native=native)


def _decode_outcome(message: dict[str, Any]) -> ToolOutcome:
    parts, is_error = unmark(decode_content(message.get("content"), "user"))
    rest = without(message, "role", "content", "tool_call_id", "name")
    return ToolOutcome(
        string(message.get("tool_call_id")),
        parts,
        is_error,
        name=text_or_none(message.get("name")),
        native=native_of(rest),
    )


def decode_thoughts(message: dict[str, Any], *, keep_empty: bool = False) -> list[Item]:
    """The reasoning of a message, with the fields in which it stood."""
    thoughts: list[Item] = [
        _thinking_part(part)
        for part in objects(message.get("content"))
        if part.get("type") == "thinking"
    ]
    found = {key: message[key] for key in REASONING_FIELDS if message.get(key) is not None}
    if not keep_empty:
        found = {key: value for key, value in found.items() if value}
    if found:
        texts = tuple(filter(None, [shown_thought(found)]))
        thoughts.append(Reasoning(PROTOCOL, texts, native=Native(PROTOCOL, found)))
    return thoughts


def shown_thought(fields: dict[str, Any]) -> str:
    """What a person may read of it, whichever field holds it."""
    plain = string(fields.get("reasoning_content")) or string(fields.get("reasoning"))
    if plain:
        return mend(plain)
    details = objects(fields.get("reasoning_details"))
    return mend("".join(string(one.get("text") or one.get("summary")) for one in details))


def _thinking_part(part: dict[str, Any]) -> Reasoning:
    inner = part.get("thinking")
    said = (
        inner
        if isinstance(inner, str)
        else "".join(string(piece.get("text")) for piece in objects(inner))
    )
    texts = (mend(said),) if said else ()
    return Reasoning(PROTOCOL, texts, native=Native(PROTOCOL, {"thinking": part}))


def decode_words(message: dict[str, Any], *, keep_empty: bool = False) -> list[Item]:
    """The message itself: none where there are only thoughts or calls."""
    content = message.get("content")
    if isinstance(content, list):
        content = [part for part in content if mapping(part).get("type") != "thinking"]
    parts = decode_content(content, "assistant")
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        parts = (*parts, Refusal(message["refusal"]))
    known = ("role", "content", "refusal", "name", "tool_calls", *REASONING_FIELDS)
    extra = {key: value for key, value in without(message, *known).items() if value != []}
    native, name = native_of(extra), text_or_none(message.get("name"))
    silent = keep_empty and not (message.get("tool_calls") or _has_thoughts(message))
    if not (parts or native or name or silent):
        return []
    return [Message("assistant", parts, name=name, native=native)]


def _has_thoughts(message: dict[str, Any]) -> bool:
    return any(message.get(field) for field in REASONING_FIELDS)


def call_fields(call: dict[str, Any]) -> tuple[str, str, str, Native | None, bool]:
    """Id, name, argument text, further fields, and whether the text is free."""
    rest = without(call, "id", "type", "index", "function", "custom")
    call_id = string(call.get("id"))
    custom = mapping(call.get("custom"))
    if custom:
        return (
            call_id,
            string(custom.get("name")),
            string(custom.get("input")),
            native_of(rest),
            True,
        )
    function = mapping(call.get("function"))
    return (
        call_id,
        string(function.get("name")),
        argument_text(function.get("arguments")),
        native_of(rest),
        False,
    )


def argument_text(arguments: object) -> str:
    """The text of arguments that should be text, and with some servers are an object."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return dumps(arguments).decode()


def custom_call(call_id: str, name: str, text: str, native: Native | None) -> ToolCall:
    """A call whose payload is free text."""
    return ToolCall(call_id, name, text, {"input": text}, custom=True, native=native)


def decode_calls(calls: Iterable[dict[str, Any]], ids: CallIds, *, cut: bool) -> list[ToolCall]:
    """The calls of an answer; after a cut the last one without arguments is not whole."""
    listed = list(calls)
    decoded = []
    for call in listed:
        call_id, name, text, native, custom = call_fields(call)
        call_id = ids.claim(call_id)
        if custom:
            decoded.append(custom_call(call_id, name, text, native))
        else:
            half = cut and call is listed[-1] and not text.strip()
            decoded.append(make_call(call_id, name, text, native=native, cut=half))
    return decoded


def decode_response(body: bytes, ids: CallIds | None = None, status: int = 200) -> Completion:
    """An answer that came in one piece; an error body gives a completion with a failure."""
    try:
        value = mapping(loads(body))
    except ParseError:
        value = {}
    choices = objects(value.get("choices"))
    if not choices:
        return Completion((), StopReason.ERROR, failure=read_failure(body, status))
    choice = choices[0]
    word = text_or_none(choice.get("finish_reason"))
    message = mapping(choice.get("message"))
    failure = failure_of({"error": choice.get("error") or value.get("error")})
    calls = objects(message.get("tool_calls"))
    cut = stop_of(word, failure, calls=bool(calls)) is StopReason.LENGTH
    items: list[Item] = [*decode_thoughts(message), *decode_words(message)]
    items += decode_calls(calls, ids or CallIds(), cut=cut)
    return Completion(
        tuple(items),
        stop_of(word, failure, calls=bool(calls)),
        word,
        usage_of(value),
        text_or_none(value.get("id")),
        text_or_none(value.get("model")),
        failure,
    )


def stop_of(word: str | None, failure: Failure | None, *, calls: bool) -> StopReason:
    """Why it stopped; some servers say `stop` although they made calls."""
    if word is None:
        return StopReason.ERROR if failure else StopReason.CUT
    stop = _STOPS.get(word, StopReason.END)
    return StopReason.CALLS if calls and stop is StopReason.END else stop


def usage_of(value: dict[str, Any]) -> Usage:
    """The tokens of an answer or of a chunk that reports them."""
    usage = mapping(value.get("usage")) or mapping(mapping(value.get("x_groq")).get("usage"))
    prompt = mapping(usage.get("prompt_tokens_details"))
    completion = mapping(usage.get("completion_tokens_details"))
    cached = prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")
    cost = usage.get("cost")
    return Usage(
        count(usage.get("prompt_tokens")),
        count(usage.get("completion_tokens")),
        count(cached or usage.get("num_cached_tokens")),
        count(prompt.get("cache_write_tokens")),
        count(completion.get("reasoning_tokens")),
        float(cost) if isinstance(cost, int | float) else None,
    )
