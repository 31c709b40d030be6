"""What a server answers to a call, as a value that a tool returns."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from whence.errors import InvalidArgs, WhenceError
from whence.execute.ports import Shelf
from whence.provider.mcp_tools import decode_result
from whence.shapes.call import Reply
from whence.shapes.glyph import visible
from whence.shapes.item import File, Image, Inline, Opaque, Part, Text
from whence.shapes.json import JSONObject, JSONValue

FAILED = "The tool reports an error."
_SECONDS = 30.0
_LONGEST_TYPE = 100


async def reply_of(
    result: Mapping[str, Any], tool: str, output_schema: JSONObject | None,
    call_id: str, shelf: Shelf | None,
) -> Reply:  # fmt: skip
    """The result of a call: words as words, pictures as pictures, structured content as JSON.

    An error that a tool reports is a result, too: a model reads it.
    """
    outcome = decode_result(result, call_id, tool)
    kept = [
        await _kept(part, tool, f"{call_id}.{at}", shelf) for at, part in enumerate(outcome.parts)
    ]
    value = _joined(kept, outcome.structured)
    if outcome.is_error:
        pictured = isinstance(value, list)
        value = [FAILED, *value] if pictured else {"is_error": True, "content": value}  # type: ignore[misc]
        return Reply(value)
    return Reply(value, warnings=_misfit(outcome.structured, output_schema))


def _joined(kept: list[JSONValue], structured: JSONValue) -> JSONValue:
    if any(not isinstance(item, str) for item in kept):
        return kept if structured is None else [*kept, json.dumps(structured, ensure_ascii=False)]
    text = "\n\n".join(map(str, kept))
    if structured is None:
        return text
    if isinstance(structured, dict) and structured == {"result": text}:
        return text
    return structured if not text or _says(text, structured) else [text, structured]


def _says(text: str, structured: JSONValue) -> bool:
    """Whether a text is the same value, for clients that read only text."""
    try:
        said = json.loads(text)
    except ValueError:
        return False
    return said == structured or (isinstance(structured, dict) and structured == {"result": said})


async def _kept(part: Part, tool: str, name: str, shelf: Shelf | None) -> JSONValue:
    """A part as a value; a file is kept beside the journal, and named."""
    match part:
        case Text(text):
            return text
        case Image(Inline(media_type, data)):
            return await _pictured(data, media_type, tool, name, shelf)
        case File(Inline(media_type, data), title):
            return _stored(data, media_type, tool, f"{name}.{title or 'bin'}", shelf)
        case Opaque(_, _, text):
            return text
        case _:
            return str(part)


async def _pictured(
    data: str, media_type: str, tool: str, name: str, shelf: Shelf | None
) -> JSONValue:
    """A picture that every provider takes; one that cannot be made such is a file."""
    from whence.work.apart import apart
    from whence.work.images import load_picture

    try:
        raw = base64.b64decode(data, validate=True)
        picture = await apart(lambda: load_picture(raw, name), seconds=_SECONDS, what=name)
        return picture.as_result()
    except InvalidArgs:  # some are damaged where nobody but a strict library looks
        return _as_it_is(raw, name) or _stored(data, media_type, tool, f"{name}.bin", shelf)
    except (binascii.Error, WhenceError):
        return _stored(data, media_type, tool, f"{name}.bin", shelf)


def _as_it_is(raw: bytes, name: str) -> JSONValue:
    """A picture by its header, where that says that it is a small one of a usual kind."""
    from whence.work.image_headers import format_of
    from whence.work.images import IMAGE_LIMITS, Picture

    try:
        found = format_of(raw, name)
    except InvalidArgs:
        return None
    size = found.size(raw) if found.size else None
    fits = size is not None and 0 < min(size) <= max(size) <= IMAGE_LIMITS.edge
    if not fits or size is None or found.media_type is None or len(raw) > IMAGE_LIMITS.sent_bytes:
        return None
    return Picture(found.media_type, raw, size).as_result()


def _stored(data: str, media_type: str, tool: str, name: str, shelf: Shelf | None) -> str:
    media_type = visible(media_type)[:_LONGEST_TYPE]
    try:
        raw = base64.b64decode(data, validate=True)
    except binascii.Error:
        return f"[a {media_type} file that is not base64]"
    safe = "".join(char if char.isalnum() or char in "._-" else "_" for char in name)
    path = shelf.keep(tool, safe[-100:], raw) if shelf is not None else None
    where = f"kept in {path}" if path else "not kept"
    return f"[a {media_type} file of {len(raw)} bytes, {where}]"


def _misfit(structured: JSONValue, schema: JSONObject | None) -> tuple[str, ...]:
    """A remark where structured content is not what the tool's output schema says."""
    if schema is None or structured is None:
        return ()
    import jsonschema_rs

    try:
        validator = jsonschema_rs.Draft202012Validator(
            dict(schema), pattern_options=jsonschema_rs.RegexOptions(), offline=True
        )
        found = next(validator.iter_errors(structured), None)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return ("the tool's output schema cannot be used",)
    if found is None:
        return ()
    return (f"the result does not fit the tool's output schema: {found.message[:200]}",)
