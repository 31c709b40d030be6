"""Content blocks of the Model Context Protocol, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from whence.provider import parts as common
from whence.provider.losses import Note
from whence.provider.media import kind_of
from whence.provider.wire import dumps, loads, mapping, objects, string, without
from whence.shapes.item import (
    File,
    Image,
    Inline,
    Link,
    Native,
    Opaque,
    Part,
    Refusal,
    Role,
    Stored,
    Text,
)

PROTOCOL = "mcp"
own_fields = partial(common.own_fields, PROTOCOL)


def native_of(fields: dict[str, Any]) -> Native | None:
    """What this protocol adds, where it adds something."""
    return Native(PROTOCOL, fields) if fields else None


def encode_parts(parts: Iterable[Part], notes: list[Note]) -> list[dict[str, Any]]:
    """The content blocks of a result or a message."""
    return [_encode_part(part, notes) for part in parts]


def _encode_part(part: Part, notes: list[Note]) -> dict[str, Any]:
    fields = {} if isinstance(part, Opaque) else own_fields(part.native)
    if "type" in fields:
        return fields
    match part:
        case Text(text):
            return {"type": "text", "text": text, **fields}
        case Refusal(text):
            notes.append(Note("refusal", "changed", "it is sent as text"))
            return {"type": "text", "text": text}
        case Image(source):
            return _encode_media("image", source, None, fields, notes)
        case File(source, name):
            return _encode_media(kind_of(source), source, name, fields, notes)
        case Opaque(protocol, kind, json):
            return (
                mapping(loads(json)) if protocol == PROTOCOL else _left_out(kind, notes, protocol)
            )


def _encode_media(
    kind: str,
    source: Inline | Link | Stored,
    name: str | None,
    fields: dict[str, Any],
    notes: list[Note],
) -> dict[str, Any]:
    match source:
        case Inline(media_type, data) if kind in ("image", "audio"):
            return {"type": kind, "data": data, "mimeType": media_type, **fields}
        case Inline(media_type, data):
            uri = f"file:///{name or 'document'}"
            resource = {"uri": uri, "mimeType": media_type, "blob": data}
            return {"type": "resource", "resource": resource, **fields}
        case Link(url, media_type):
            mime = {"mimeType": media_type} if media_type else {}
            return {"type": "resource_link", "uri": url, "name": name or url, **mime, **fields}
        case Stored():
            return _left_out(kind, notes, "a file stored at another provider")


def _left_out(what: str, notes: list[Note], why: str) -> dict[str, Any]:
    notes.append(Note(what, "dropped", f"MCP cannot carry it ({why})"))
    return {"type": "text", "text": f"[{what} not shown]"}


def decode_parts(blocks: object) -> tuple[Part, ...]:
    """The parts that content blocks are; a single block may stand without a list."""
    listed = [blocks] if isinstance(blocks, dict) else blocks
    return tuple(decode_part(block, "user") for block in objects(listed))


def decode_part(block: dict[str, Any], role: Role) -> Part:
    """One block. A resource is shown to a model as words, and goes back as what it was."""
    rest = without(block, "type")
    match block:
        case {"type": "text", "text": str(text)}:
            rest.pop("text")
            return Text(text, native_of(rest))
        case {"type": "image", "data": str(data), "mimeType": str(media_type)}:
            return Image(Inline(media_type, data), native_of(without(rest, "data", "mimeType")))
        case {"type": "audio", "data": str(data), "mimeType": str(media_type)}:
            native = native_of(without(rest, "data", "mimeType"))
            return File(Inline(media_type, data), native=native)
        case {"type": "resource_link", "uri": str(uri)}:
            title = string(block.get("title")) or string(block.get("name")) or uri
            return Text(title if title == uri else f"{title}: {uri}", Native(PROTOCOL, block))
        case {"type": "resource", "resource": {"text": str(text)}}:
            return Text(text, Native(PROTOCOL, block))
        case {"type": "resource", "resource": {"blob": str(blob), **resource}}:
            media_type = string(resource.get("mimeType")) or "application/octet-stream"
            name = string(resource.get("uri")).rpartition("/")[2] or None
            return File(Inline(media_type, blob), name, Native(PROTOCOL, block))
        case _:
            return Opaque(PROTOCOL, string(block.get("type")), dumps(block).decode(), role)
