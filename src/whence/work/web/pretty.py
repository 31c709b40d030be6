"""JSON laid out for reading."""

from __future__ import annotations

import re
from itertools import accumulate

import msgspec

_DEEPEST = 50
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKET = re.compile(r"[\[\]{}]")


def pretty_json(text: str) -> tuple[str, tuple[str, ...]]:
    """JSON with indentation, its values and their order untouched; text that is none as it is."""
    try:
        compact = msgspec.json.format(text.encode(), indent=0)
    except (msgspec.DecodeError, RecursionError) as error:
        return text, (f"The JSON is not valid: {error}.",)
    if _depth(compact.decode()) > _DEEPEST:  # each line of the innermost would be mostly spaces
        return compact.decode(), ()
    return msgspec.json.format(compact, indent=2).decode(), ()


def _depth(valid_json: str) -> int:
    brackets = _BRACKET.findall(_STRING.sub("", valid_json))
    return max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0)
