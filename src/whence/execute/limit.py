"""Cutting an output down to what a model should see. The whole is kept elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec

from whence.shapes.vision import is_image

MARK = "…truncated"
_HEAD = 0.7
_LEAST = 40


def cut_text(text: str, limit: int) -> str:
    """The head and the tail of a long text, with a mark between them that says what is missing."""
    if len(text) <= limit:
        return text
    mark = f"\n{MARK} {len(text) - limit} characters…\n"
    room = max(limit - len(mark), _LEAST)
    head = int(room * _HEAD)
    return text[:head] + mark + text[len(text) - (room - head) :]


def cut_value(value: Any, limit: int) -> Any:
    """A JSON value whose text is about `limit` long.

    Long strings lose their middle, long lists their end; small fields and pictures stay whole.
    """
    if isinstance(value, str):
        return cut_text(value, limit)
    if isinstance(value, list):
        return _cut_list(value, limit)
    if isinstance(value, dict) and not is_image(value):
        return _cut_object(value, limit)
    return value


def size_of(value: Any) -> int:
    """The length of a JSON value as text; pictures are no text, and have limits of their own."""
    if isinstance(value, str):
        return len(value)
    if is_image(value):
        return 0
    if isinstance(value, list) and any(map(is_image, value)):
        return sum(map(size_of, value))
    return len(msgspec.json.encode(value))


def _cut_list(items: list[Any], limit: int) -> list[Any]:
    kept: list[Any] = []
    left = limit
    for item in items:
        size = size_of(item)
        if size > left:
            if not kept:
                kept.append(cut_value(item, left))
            break
        kept.append(item)
        left -= size
    return kept


def _cut_object(value: dict[str, Any], limit: int) -> dict[str, Any]:
    """The smallest fields take their room first; what is left is for the large ones."""
    sizes = sorted((size_of(item), key) for key, item in value.items())
    cut: dict[str, Any] = {}
    left, waiting = limit, len(sizes)
    for size, key in sizes:
        share = max(left // waiting, _LEAST)
        cut[key] = value[key] if size <= share else cut_value(value[key], share)
        left -= min(size, share)
        waiting -= 1
    return {key: cut[key] for key in value}
