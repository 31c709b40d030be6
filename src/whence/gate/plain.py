"""Values that are not JSON, as JSON: a call that is refused because of them is recorded, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DEEPEST = 64
_MOST_BITS = 8_192
_SCALARS = frozenset({str, float, bool, type(None)})


def plain(value: Any, depth: int = _DEEPEST) -> Any:
    """The same where it is JSON; else what could be said of it."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is int:
        return value if value.bit_length() <= _MOST_BITS else f"<int of {value.bit_length()} bits>"
    if isinstance(value, str):
        return str.__str__(value)
    if depth and isinstance(value, Mapping):
        return {str(plain(key, 0)): plain(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, list | tuple):
        return [plain(item, depth - 1) for item in value]
    if kind is bytes:
        return f"<bytes: {value[:60]!r}>"
    return f"<{kind.__name__}>"


def shown(value: Any, width: int) -> str:
    """Any value in a message, ASCII only, no longer than that."""
    return f"{plain(value)!a:.{width}}"
