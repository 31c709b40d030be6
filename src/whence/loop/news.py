"""What a host learns while an agent runs, as it happens.

    News
    ├── TextPiece       more words of the answer
    ├── Thought         more of what the model thinks
    ├── CallStarted     a call goes to the gate
    ├── Output          more of what a command writes
    ├── CallEnded       its outcome
    ├── Waiting         the provider is asked again in a while
    ├── TurnEnded       an answer is whole; what it used
    ├── Compacted       the older part of the conversation was summed up
    ├── Notice          something that a person should know
    └── Finished        the end: the result

What a sub-agent does carries the id of the call that it works for; what an agent inside a message
does, `agent-` and its name.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from whence.provider.model import Waiting
from whence.shapes.call import Outcome
from whence.shapes.item import StopReason, Usage
from whence.shapes.json import JSONObject, JSONValue


class TextPiece(msgspec.Struct, frozen=True, tag="text"):
    """More words of the answer."""

    text: str
    parent: str | None = None


class Thought(msgspec.Struct, frozen=True, tag="thought"):
    """More of what the model thinks, where it shows it."""

    text: str
    parent: str | None = None


class CallStarted(msgspec.Struct, frozen=True, tag="call"):
    """A call goes to the gate."""

    call_id: str
    tool: str
    why: str
    arguments: JSONObject | None
    """None where they could not be read."""
    parent: str | None = None


class CallEnded(msgspec.Struct, frozen=True, tag="outcome"):
    """What came of a call."""

    call_id: str
    """The same as of its beginning."""
    outcome: Outcome
    parent: str | None = None


class Output(msgspec.Struct, frozen=True, tag="output"):
    """More of what a command writes, while it runs."""

    call_id: str
    text: str
    parent: str | None = None


class TurnEnded(msgspec.Struct, frozen=True, tag="turn"):
    """An answer is whole."""

    turn: int
    usage: Usage
    calls: int
    parent: str | None = None


class Compacted(msgspec.Struct, frozen=True, tag="compacted"):
    """The older part of the conversation was summed up; the transcript still has it."""

    items: int
    summary: str
    parent: str | None = None


class Notice(msgspec.Struct, frozen=True, tag="notice"):
    """Something that a person should know."""

    text: str
    parent: str | None = None


class Result(msgspec.Struct, frozen=True):
    """What a run comes to."""

    text: str
    """The final answer."""
    value: JSONValue = None
    """The answer as a value, where the agent declares the schema of its output."""
    turns: int = 0
    usage: Usage = Usage()
    session: str = ""
    """The journal's name."""
    model: str = ""
    stop: StopReason = StopReason.END
    """Why the model stopped: `length` and `refusal` are answers that are not what was wanted."""


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The end of a run."""

    result: Result
    parent: str | None = None


News: TypeAlias = (
    TextPiece | Thought | CallStarted | Output | CallEnded | Waiting | TurnEnded | Compacted
    | Notice | Finished
)  # fmt: skip
"""Anything that happens in a run."""


def as_json(news: News) -> dict[str, Any]:
    """One event as programs read it: its type first, keys without a value left out."""
    if isinstance(news, CallEnded):
        value = {"type": "outcome", **news.outcome.as_json(), "parent": news.parent}
    elif isinstance(news, Waiting):
        value = {"type": "waiting", "seconds": news.seconds, "reason": news.reason}
    else:
        value = msgspec.to_builtins(news)
    return {key: item for key, item in value.items() if item is not None}
