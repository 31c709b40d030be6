"""The parts of a Responses message, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from whence.provider import parts as common
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

PROTOCOL = "openai-responses"


native_of = partial(common.native_of, PROTOCOL)
own_fields = partial(common.own_fields, PROTOCOL)


def encode_content(parts: Iterable[Part], role: Role, notes: list[Note]) -> str | list[Any]:
    """A message's content: plain words where that is all there is."""
    listed = list(parts)
    if not listed:
        return ""
    if len(listed) == 1 and isinstance(listed[0], Text) and not own_fields(listed[0].native):
        return listed[0].text
    return encode_parts(listed, role, notes)


def encode_parts(parts: Iterable[Part], role: Role, notes: list[Note]) -> list[Any]:
    """A message's content, part by part."""
    return [_encode_part(part, role, notes) for part in parts]


def _encode_part(part: Part, role: Role, notes: list[Note]) -> Any:
    match part:
        case Text(text, native):
            if role == "assistant":
                return {
                    "type": "output_text",
                    "text": text,
                    "annotations": [],
                    **own_fields(native),
                }
            return {"type": "input_text", "text": text, **own_fields(native)}
        case Refusal(text, native):
            return {"type": "refusal", "refusal": text, **own_fields(native)}
        case Image():
            return _encode_image(part)
        case File():
            return _encode_file(part, role, notes)
        case Opaque(protocol, kind, json):
            return raw(json) if protocol == PROTOCOL else _left_out(kind, role, notes, protocol)


def _encode_image(part: Image) -> dict[str, Any]:
    fields = {"detail": "auto", **own_fields(part.native)}
    if isinstance(part.source, Stored):
        return {"type": "input_image", "file_id": part.source.file_id, **fields}
    return {"type": "input_image", "image_url": url_of_source(part.source), **fields}


def _encode_file(part: File, role: Role, notes: list[Note]) -> dict[str, Any]:
    fields = own_fields(part.native)
    if kind_of(part.source) == "audio" and isinstance(part.source, Inline):
        sound = {"data": part.source.data, "format": audio_format(part.source.media_type)}
        return {"type": "input_audio", "input_audio": sound, **fields}
    if kind_of(part.source) == "video":
        return _left_out("video", role, notes, "it takes none")
    match part.source:
        case Stored(file_id):
            held = {"file_id": file_id}
        case Link(url):
            held = {"file_url": url}
        case Inline():
            held = {"file_data": url_of_source(part.source) or ""}
    if part.name:
        held["filename"] = part.name
    return {"type": "input_file", **held, **fields}


def _left_out(what: str, role: Role, notes: list[Note], why: str) -> dict[str, Any]:
    notes.append(Note(what, "dropped", f"the Responses API cannot carry it here ({why})"))
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": kind, "text": f"[{what} not shown]"}


def decode_content(content: object, role: Role) -> tuple[Part, ...]:
    """The parts of a message's content."""
    return common.parts_of(content, lambda part: _decode_part(mapping(part), role))


def _decode_part(part: dict[str, Any], role: Role) -> Part:
    rest = without(part, "type")
    match part.get("type"):
        case "input_text" | "output_text" | "text" if isinstance(part.get("text"), str):
            text = rest.pop("text")
            return Text(text, native_of({key: value for key, value in rest.items() if value != []}))
        case "refusal" if isinstance(part.get("refusal"), str):
            return Refusal(rest.pop("refusal"), native_of(rest))
        case "input_image":
            return _decode_image(rest)
        case "input_file":
            return _decode_file(rest) or _opaque(part, role)
        case "input_audio":
            sound = mapping(rest.pop("input_audio", None))
            media_type = audio_type(string(sound.get("format")))
            return File(Inline(media_type, string(sound.get("data"))), native=native_of(rest))
        case _:
            return _opaque(part, role)


def _opaque(part: dict[str, Any], role: Role) -> Opaque:
    return Opaque(PROTOCOL, string(part.get("type")), dumps(part).decode(), role)


def _decode_image(rest: dict[str, Any]) -> Image:
    url, file_id = rest.pop("image_url", None), rest.pop("file_id", None)
    if rest.get("detail") == "auto":
        rest.pop("detail")
    if isinstance(file_id, str):
        return Image(Stored(file_id), native_of(rest))
    return Image(source_of_url(string(url)), native_of(rest))


def _decode_file(rest: dict[str, Any]) -> File | None:
    name = text_or_none(rest.pop("filename", None))
    held = {key: rest.pop(key, None) for key in ("file_id", "file_url", "file_data")}
    if isinstance(held["file_id"], str):
        return File(Stored(held["file_id"]), name, native_of(rest))
    if isinstance(held["file_url"], str):
        return File(Link(held["file_url"]), name, native_of(rest))
    if isinstance(held["file_data"], str):
        return File(source_of_url(held["file_data"]), name, native_of(rest))
    return None
