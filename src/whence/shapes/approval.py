"""A question to a person, and the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from whence.shapes.dataclass import dataclass
from whence.shapes.json import JSONObject


@dataclass(frozen=True, slots=True)
class Question:
    """What a host shows before it asks."""

    call_id: str
    tool: str
    arguments: JSONObject
    why: str
    reason: str
    """Why somebody is asked at all."""
    rule: str | None
    """The smallest rule that would make the question unnecessary; None: it is asked each time."""
    command: str | None = None
    """What the call would run, exactly, where it runs something."""
    difference: str = ""
    """How what is behind the tool has changed since it was trusted, where that is the question."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision."""

    approved: bool
    scope: Literal["once", "session", "always"] = "once"
    """always: the question's rule is kept in the workspace's settings."""
    by: str = "user"


Approver: TypeAlias = Callable[[Question], Awaitable[Answer]]
"""A host's way to ask. Without one, whatever needs a question is refused."""
