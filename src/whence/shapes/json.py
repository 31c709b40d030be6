"""JSON as Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JSONValue: TypeAlias = (
    "bool | int | float | str | Sequence[JSONValue] | Mapping[str, JSONValue] | None"
)
"""What `json.loads` may return; containers are read-only to the type checker."""

JSONObject: TypeAlias = Mapping[str, JSONValue]
"""A JSON object: arguments, a schema, the details of a fault."""
