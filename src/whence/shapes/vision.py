"""How a picture travels in the result of a tool: `{"type": "image", "media_type", "data"}`."""

from __future__ import annotations

import json

from whence.shapes.item import Image, Inline, Part, Text
from whence.shapes.json import JSONValue


def image_result(media_type: str, data: str) -> dict[str, JSONValue]:
    """A picture, from base64, as a value that a tool may return, alone or in a list with texts."""
    return {"type": "image", "media_type": media_type, "data": data}


def is_image(value: object) -> bool:
    """Whether a value of a result is a picture."""
    return (
        isinstance(value, dict)
        and value.get("type") == "image"
        and isinstance(value.get("media_type"), str)
        and isinstance(value.get("data"), str)
    )


def result_parts(result: JSONValue) -> tuple[Part, ...]:
    """A tool's result as a model is shown it: pictures as pictures, the rest as words."""
    if isinstance(result, list) and any(map(is_image, result)):
        return tuple(_part(item) for item in result)
    return (_part(result),)


def _part(value: JSONValue) -> Part:
    if isinstance(value, dict) and is_image(value):
        return Image(Inline(value["media_type"], value["data"]))
    return Text(value if isinstance(value, str) else _json(value))


def _json(value: JSONValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
