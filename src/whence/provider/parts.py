"""What the parts of a message have in common in every protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.shapes.item import Native, Part, Text


def native_of(protocol: str, fields: dict[str, Any]) -> Native | None:
    """What a protocol adds, where it adds something; a null says nothing."""
    kept = {key: value for key, value in fields.items() if value is not None}
    return Native(protocol, kept) if kept else None


def own_fields(protocol: str, native: Native | None) -> dict[str, Any]:
    """The fields that may go back to the protocol."""
    return dict(native.fields) if native is not None and native.protocol == protocol else {}


def parts_of(content: object, decode: Callable[[Any], Part]) -> tuple[Part, ...]:
    """The parts of a content that is plain words or a list."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(map(decode, content)) if isinstance(content, list) else ()
