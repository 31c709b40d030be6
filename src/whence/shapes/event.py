"""What the journal remembers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from whence.shapes.call import Comment
from whence.shapes.dataclass import dataclass


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something to be remembered, before the journal stamps it."""

    type: str
    """session_start, tool_call, tool_result, tool_error, user_approval, violation, …"""
    fields: dict[str, Any]
    """In the order in which a person should read them; JSON values."""
    title: str
    """The heading, e.g. `Tool Call: fs.read`."""
    narrative: str = ""
    """What a person reads first; for a call, its reason."""
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as it stands in the journal."""

    seq: int
    type: str
    timestamp: str
    fields: Mapping[str, Any]
    """Every key of the block, seq, prev, hash and timestamp included."""
    title: str
    narrative: str
    comments: tuple[Comment, ...]
    part: str
    """The file's name; a session that grew has several."""
    line: int
    """Where its heading stands in that file."""
