"""The parts of a Chat Completions message, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from whence.provider import parts as common
from whence.provider.chat_dialect import PROTOCOL, Dialect
from whence.provider.losses import Note
from whence.provider.media import audio_format, audio_type, kind_of, source_of_url, url_of_source
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
    Stored,
    Text,
)

native_of = partial(common.native_of, PROTOCOL)
own_fields = partial(common.own_fields, PROTOCOL)


def encode_content(
    parts: Iterable[Part], dialect: Dialect, notes: list[Note]
) -> str | list[Any] | None:
    """A message's content: plain words where that is all there is, None where there is nothing."""
    encoded = [encode_part(part, dialect, notes) for part in parts]
    if not encoded:
        return None
    if len(encoded) == 1 and isinstance(encoded[0], dict) and set(encoded[0]) == {"type", "text"}:
        return string(encoded[0]["text"])
    return encoded


def encode_part(part: Part, dialect: Dialect, notes: list[Note]) -> Any:
    """One part; what cannot be shown leaves a remark in its place."""
    match part:
        case Text(text, native):
            return {"type": "text", "text": text, **own_fields(native)}
        case Refusal(text, native):
            return {"type": "refusal", "refusal": text, **own_fields(native)}
        case Image():
            return _encode_image(part, notes)
        case File():
            return _encode_file(part, dialect, notes)
        case Opaque(protocol, kind, json):
            return raw(json) if protocol == PROTOCOL else _left_out(kind, notes, protocol)


def _encode_image(part: Image, notes: list[Note]) -> Any:
    url = url_of_source(part.source)
    if url is None:
        return _left_out("image", notes, "a stored file")
    fields = own_fields(part.native)
    return {
        **fields,
        "type": "image_url",
        "image_url": {"url": url, **mapping(fields.get("image_url"))},
    }


def _encode_file(part: File, dialect: Dialect, notes: list[Note]) -> Any:
    fields = own_fields(part.native)
    kind, url = kind_of(part.source), url_of_source(part.source)
    if kind == "audio":
        if isinstance(part.source, Inline):
            sound = {"data": part.source.data, "format": audio_format(part.source.media_type)}
            return {**fields, "type": "input_audio", "input_audio": sound}
        return _left_out("audio", notes, "a link; only data can be sent")
    if kind == "video":
        if dialect.video and url:
            return {**fields, "type": "video_url", "video_url": {"url": url}}
        return _left_out("video", notes, f"{dialect.name} takes none")
    return _encode_document(part, dialect, notes, fields)


def _encode_document(
    part: File, dialect: Dialect, notes: list[Note], fields: dict[str, Any]
) -> Any:
    url = url_of_source(part.source)
    if dialect.documents is None or (isinstance(part.source, Link) and not dialect.document_links):
        return _left_out("document", notes, f"{dialect.name} does not take it in this form")
    if dialect.documents == "document_url":
        if url is None:
            return _left_out("document", notes, "a stored file")
        name = {"document_name": part.name} if part.name else {}
        return {**fields, "type": "document_url", "document_url": url, **name}
    name = {"filename": part.name} if part.name else {}
    held = (
        {"file_id": part.source.file_id} if isinstance(part.source, Stored) else {"file_data": url}
    )
    return {**fields, "type": "file", "file": {**held, **name}}


def _left_out(what: str, notes: list[Note], why: str) -> dict[str, str]:
    notes.append(Note(what, "dropped", f"Chat Completions cannot carry it here ({why})"))
    return {"type": "text", "text": f"[{what} not shown]"}


def decode_content(content: object, role: Role) -> tuple[Part, ...]:
    """The parts of a message's content."""
    return common.parts_of(content, lambda part: decode_part(part, role))


def decode_part(part: Any, role: Role) -> Part:
    """One part; one that is not known is kept as it is."""
    if isinstance(part, str):
        return Text(part)
    fields = mapping(part)
    rest = without(fields, "type")
    match fields.get("type"):
        case "text" if isinstance(fields.get("text"), str):
            return Text(rest.pop("text"), native_of(rest))
        case "refusal" if isinstance(fields.get("refusal"), str):
            return Refusal(rest.pop("refusal"), native_of(rest))
        case "image_url":
            return _decode_image(rest)
        case "input_audio" | "video_url" | "document_url" | "file" as kind:
            return _decode_file(kind, rest) or _opaque(part, kind, role)
        case kind:
            return _opaque(part, string(kind), role)


def _opaque(part: object, kind: str, role: Role) -> Opaque:
    return Opaque(PROTOCOL, kind, dumps(part).decode(), role)


def _decode_image(rest: dict[str, Any]) -> Image:
    given = rest.pop("image_url", None)
    inner = dict(mapping(given))
    url = given if isinstance(given, str) else string(inner.pop("url", ""))
    inner = {key: value for key, value in inner.items() if value is not None}
    return Image(source_of_url(url), native_of({**rest, "image_url": inner or None}))


def _decode_file(kind: str, rest: dict[str, Any]) -> File | None:
    given = rest.pop(kind, None)
    inner = mapping(given)
    if kind == "input_audio":
        source = Inline(audio_type(string(inner.get("format"))), string(inner.get("data")))
        return File(source, native=native_of(rest))
    if kind == "video_url":
        found = source_of_url(given if isinstance(given, str) else string(inner.get("url")))
        link = Link(found.url, "video/*") if isinstance(found, Link) else found
        return File(link, native=native_of(rest))
    if kind == "document_url":
        name = text_or_none(rest.pop("document_name", None))
        return File(source_of_url(string(given)), name, native_of(rest))
    return _decode_upload(inner, rest)


def _decode_upload(inner: dict[str, Any], rest: dict[str, Any]) -> File | None:
    name = text_or_none(inner.get("filename"))
    if isinstance(inner.get("file_id"), str):
        return File(Stored(inner["file_id"]), name, native_of(rest))
    if isinstance(inner.get("file_data"), str):
        return File(source_of_url(inner["file_data"]), name, native_of(rest))
    return None
