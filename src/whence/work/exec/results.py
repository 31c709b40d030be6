"""What the tools that run code take and give, apart from how they do it."""

from __future__ import annotations

from typing import Any

import msgspec

from whence.shapes.dataclass import dataclass


class FromWorkspace(msgspec.Struct, forbid_unknown_fields=True):
    """A file of the workspace."""

    path: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What terminal.run returns."""

    stdout: str
    stderr: str
    exit_code: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What python.exec returns."""

    stdout: str
    stderr: str
    return_value: Any
    artifacts: list[Any]


@dataclass(frozen=True, slots=True)
class Answered:
    """What js.exec returns."""

    result: Any
    logs: list[Any]
