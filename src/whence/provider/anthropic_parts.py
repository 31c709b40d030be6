"""The blocks of an Anthropic message, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from whence.provider import parts as common
from whence.provider.losses import Note
from whence.provider.media import data_of_text, kind_of, text_of_data
from whence.provider.wire import dumps, mapping, raw, string, text_or_none, without
from whence.shapes.item import (
    File,
    Image,
    Inline,
    Link,
    Opaque,
    Part,
    Refusal,
    Role,
    Source,
    Stored,
    Text,
)

PROTOCOL = "anthropic"
_DOCUMENTS = ("application/pdf", "text/plain")


native_of = partial(common.native_of, PROTOCOL)
own_fields = partial(common.own_fields, PROTOCOL)


def encode_parts(parts: Iterable[Part], notes: list[Note]) -> list[Any]:
    """The blocks of a message; text without a word in it is refused there, and left out here."""
    blocks = []
    for part in parts:
        if isinstance(part, Text) and not part.text.strip():
            if part.text:
                notes.append(Note("blank text", "dropped", "Anthropic refuses it"))
            continue
        blocks.append(_encode_part(part, notes))
    return blocks


def _encode_part(part: Part, notes: list[Note]) -> Any:
    match part:
        case Text(text, native):
            return {"type": "text", "text": text, **own_fields(native)}
        case Refusal(text):
            notes.append(Note("refusal", "changed", "it is sent as text"))
            return {"type": "text", "text": text}
        case Image(source, native):
            return {"type": "image", "source": _encode_source(source), **own_fields(native)}
        case File():
            return _encode_file(part, notes)
        case Opaque(protocol, kind, json):
            return raw(json) if protocol == PROTOCOL else _left_out(kind, notes, protocol)


def _encode_source(source: Source) -> dict[str, Any]:
    match source:
        case Inline(media_type, data):
            return {"type": "base64", "media_type": media_type, "data": data}
        case Link(url):
            return {"type": "url", "url": url}
        case Stored(file_id):
            return {"type": "file", "file_id": file_id}


def _encode_file(part: File, notes: list[Note]) -> dict[str, Any]:
    kind = kind_of(part.source)
    if kind != "document":
        return _left_out(kind, notes, "it takes no such media")
    if isinstance(part.source, Inline):
        words = text_of_data(part.source)
        if words is None and part.source.media_type not in _DOCUMENTS:
            return _left_out("document", notes, part.source.media_type)
        source = _encode_source(part.source)
        if words is not None:
            source = {"type": "text", "media_type": "text/plain", "data": words}
    else:
        source = _encode_source(part.source)
    title = {"title": part.name} if part.name else {}
    return {"type": "document", "source": source, **title, **own_fields(part.native)}


def _left_out(what: str, notes: list[Note], why: str) -> dict[str, Any]:
    notes.append(Note(what, "dropped", f"Anthropic cannot carry it here ({why})"))
    return {"type": "text", "text": f"[{what} not shown]"}


def decode_content(content: object, role: Role) -> tuple[Part, ...]:
    """The parts of a message's or a result's content."""
    return common.parts_of(content, lambda block: decode_part(mapping(block), role))


def decode_part(block: dict[str, Any], role: Role, text: str | None = None) -> Part:
    """One block of content; `text` is its JSON, where it is known exactly."""
    rest = without(block, "type")
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            return Text(rest.pop("text"), native_of(rest))
        case "image":
            source = _decode_source(mapping(rest.pop("source", None)))
            if source is not None:
                return Image(source, native_of(rest))
        case "document":
            source = _decode_source(mapping(rest.pop("source", None)))
            title = text_or_none(rest.pop("title", None))
            if source is not None:
                return File(source, title, native_of(rest))
    json = dumps(block).decode() if text is None else text
    return Opaque(PROTOCOL, string(block.get("type")), json, role)


def _decode_source(source: dict[str, Any]) -> Source | None:
    match source:
        case {"type": "base64", "media_type": str(media_type), "data": str(data)}:
            return Inline(media_type, data)
        case {"type": "text", "data": str(words)}:
            return data_of_text(words)
        case {"type": "url", "url": str(url)}:
            return Link(url)
        case {"type": "file", "file_id": str(file_id)}:
            return Stored(file_id)
        case _:
            return None
