"""The text protocol: tools described in the instructions, calls as tags in the answer.

It is for conversations that began with it and for models without native tools. Calls have no ids;
items go through `as_text` before any provider's codec, and an answer's words come back through
`XmlCallReader` or `from_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from whence.errors import InvalidArgs
from whence.provider.exchange import Loss
from whence.provider.losses import Ledger, Note, foreign_notes
from whence.provider.outcomes import shown_parts
from whence.provider.xml_prompt import render_prompt, render_tool
from whence.provider.xml_stream import (
    PROTOCOL,
    Definitions,
    XmlCallReader,
    definitions_of,
    read_text,
)
from whence.provider.xml_values import write_value
from whence.shapes.item import Item, Message, Part, Text, ToolCall, ToolOutcome
from whence.shapes.json import JSONObject

__all__ = [
    "PROTOCOL",
    "Definitions",
    "ToolProtocol",
    "XmlCallReader",
    "as_text",
    "definitions_of",
    "detect_tool_protocol",
    "from_text",
    "read_text",
    "render_call",
    "render_outcome",
    "render_prompt",
    "render_tool",
    "resolve_tool_protocol",
]

_RESULT_HEAD = re.compile(r'<tool_result name="([^"\n]*)"( error="true")?>')
_RESULT_TAIL = "</tool_result>"
_ANY: JSONObject = {"type": "object"}


class ToolProtocol(StrEnum):
    """How a conversation makes its calls."""

    NATIVE = "native"
    XML = "xml"


def resolve_tool_protocol(
    locked: ToolProtocol | str | None,
    history: Iterable[Item] = (),
    definitions: Definitions | None = None,
) -> ToolProtocol:
    """The protocol that a conversation is locked to, or that its history shows, else native.

    Raises:
        InvalidArgs: It is locked to something that is no protocol.
    """
    if locked:
        if locked not in list(ToolProtocol):
            raise InvalidArgs(
                f"{locked!r} is no tool protocol", "Lock a conversation to `native` or `xml`."
            )
        return ToolProtocol(locked)
    return detect_tool_protocol(history, definitions) or ToolProtocol.NATIVE


def detect_tool_protocol(
    history: Iterable[Item], definitions: Definitions | None = None
) -> ToolProtocol | None:
    """The protocol of the last call in a history: a native call has an id, one in text has none.

    With the tools at hand, a call that stands as words in an assistant's message is seen too.
    """
    for item in reversed(list(history)):
        if isinstance(item, ToolCall):
            return ToolProtocol.NATIVE if item.id else ToolProtocol.XML
        if isinstance(item, Message) and item.role == "assistant" and definitions:
            found = read_text(item.text, definitions)
            if any(isinstance(one, ToolCall) and one.arguments is not None for one in found):
                return ToolProtocol.XML
    return None


def render_call(call: ToolCall, definitions: Definitions) -> str:
    """A call as text: as the model wrote it, where that is known."""
    source = call.native.fields.get("source") if call.native else None
    if call.native and call.native.protocol == PROTOCOL and isinstance(source, str):
        return source
    if call.arguments is None:
        return call.text
    known = definitions.get(call.name)
    schema = known.schema if known else _ANY
    properties = schema.get("properties")
    rules = properties if isinstance(properties, dict) else {}
    lines = []
    for name, value in call.arguments.items():
        tags = (f"</{name}>", f"<{call.name}>", f"</{call.name}>")
        written = write_value(value, rules.get(name, {"type": "string"}), schema, tags)
        lines.append(f"<{name}>{written}</{name}>\n")
    return f"<{call.name}>\n{''.join(lines)}</{call.name}>"


def render_outcome(outcome: ToolOutcome) -> tuple[Part, ...]:
    """What came of a call, as parts of the user's next message."""
    parts = shown_parts(outcome)[0]
    flag = ' error="true"' if outcome.is_error else ""
    name = re.sub(r'["\n]', "_", outcome.name or "")
    head = f'<tool_result name="{name}"{flag}>'
    if len(parts) == 1 and isinstance(parts[0], Text):
        return (Text(f"{head}\n{parts[0].text}\n{_RESULT_TAIL}"),)
    return (Text(head), *parts, Text(_RESULT_TAIL))


def as_text(
    items: Sequence[Item], definitions: Definitions
) -> tuple[tuple[Item, ...], tuple[Loss, ...]]:
    """The conversation with its calls and outcomes as words, and what words cannot say."""
    out: list[Item] = []
    ledger = Ledger()
    for index, item in enumerate(items):
        if isinstance(item, ToolCall):
            ledger.add(index, [*foreign_notes(item, PROTOCOL), *_id_note(item.id)])
            _say(out, render_call(item, definitions))
        elif isinstance(item, ToolOutcome):
            notes = [*foreign_notes(item, PROTOCOL), *shown_parts(item)[1]]
            ledger.add(index, [*notes, *_id_note(item.call_id)])
            _report(out, render_outcome(item))
        else:
            out.append(item)
    return tuple(out), ledger.book()


def _id_note(call_id: str) -> list[Note]:
    return [Note(f"id {call_id!r}", "dropped", "calls in text have none")] if call_id else []


def _say(out: list[Item], words: str) -> None:
    """Add words to what the assistant is saying."""
    last = out[-1] if out else None
    if isinstance(last, Message) and last.role == "assistant" and _is_plain(last):
        out[-1] = Message.of("assistant", f"{last.text}\n{words}" if last.text else words)
    else:
        out.append(Message.of("assistant", words))


def _is_plain(message: Message) -> bool:
    return all(isinstance(part, Text) for part in message.parts)


def _report(out: list[Item], parts: tuple[Part, ...]) -> None:
    """Add a result to those that the user's message already holds."""
    last = out[-1] if out else None
    if isinstance(last, Message) and last.role == "user" and _ends_result(last):
        out[-1] = Message("user", (*last.parts, *parts))
    else:
        out.append(Message("user", parts))


def _ends_result(message: Message) -> bool:
    last = message.parts[-1] if message.parts else None
    return isinstance(last, Text) and last.text.endswith(_RESULT_TAIL)


def from_text(items: Sequence[Item], definitions: Definitions) -> tuple[Item, ...]:
    """The conversation with the calls and outcomes that stand in it as words."""
    out: list[Item] = []
    for item in items:
        if isinstance(item, Message) and item.role == "assistant" and _is_plain(item):
            out += read_text(item.text, definitions)
        elif isinstance(item, Message) and item.role == "user":
            out += _outcomes_in(item)
        else:
            out.append(item)
    return tuple(out)


def _outcomes_in(message: Message) -> list[Item]:
    out: list[Item] = []
    rest: list[Part] = []
    parts = list(message.parts)
    while parts:
        outcome, taken = _first_outcome(parts)
        if outcome is None:
            rest.append(parts[0])
        else:
            out.append(outcome)
        del parts[:taken]
    return [*out, Message("user", tuple(rest))] if rest or not out else out


def _first_outcome(parts: list[Part]) -> tuple[ToolOutcome | None, int]:
    first = parts[0]
    head = _RESULT_HEAD.match(first.text) if isinstance(first, Text) else None
    if head is None or not isinstance(first, Text):
        return None, 1
    name, is_error = head.group(1) or None, bool(head.group(2))
    inner = first.text[head.end() :]
    if inner.startswith("\n") and inner.endswith(f"\n{_RESULT_TAIL}"):
        words = inner[1 : -len(_RESULT_TAIL) - 1]
        return ToolOutcome("", (Text(words),), is_error, name=name), 1
    for at, part in enumerate(parts[1:], 1):
        if not inner and part == Text(_RESULT_TAIL):
            return ToolOutcome("", tuple(parts[1:at]), is_error, name=name), at + 1
    return None, 1
