"""What goes to a provider and what comes back, apart from the items themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from whence.declare.toolbox import Mounted
from whence.shapes.item import (
    WHY_LINE,
    Item,
    Message,
    Native,
    Refusal,
    StopReason,
    ToolCall,
    Usage,
    calls_of,
    text_of,
)
from whence.shapes.json import JSONObject
from whence.shapes.tool import Legacy

_NO_USAGE = Usage()

Fate: TypeAlias = Literal["dropped", "changed", "moved"]


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a protocol cannot say as it was meant."""

    at: int | str
    """Which item of those given, or the name of the tool."""
    what: str
    fate: Fate
    reason: str

    def __str__(self) -> str:
        return f"item {self.at}: {self.note}" if isinstance(self.at, int) else self.note

    @property
    def note(self) -> str:
        """The same for all items of which it is true."""
        place = "" if isinstance(self.at, int) else f"{self.at}: "
        return f"{place}{self.what} {self.fate}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Encoded:
    """JSON ready to be joined into a request, and what could not be said in it."""

    fragments: tuple[bytes, ...]
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """A request around its messages; the same for every turn."""

    head: bytes
    """Up to and with the bracket that opens the messages."""
    tail: bytes
    """From the bracket that closes them."""
    system: tuple[bytes, ...] = ()
    """Messages that stand before all others."""
    losses: tuple[Loss, ...] = ()

    def body(self, fragments: Sequence[bytes]) -> bytes:
        """The whole request."""
        return self.head + b",".join((*self.system, *fragments)) + self.tail


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is shown it."""

    name: str
    description: str
    schema: JSONObject
    strict: bool | None = None
    """Whether the provider holds the model to the schema; None: as the provider likes."""
    output_schema: JSONObject | None = None
    native: Native | None = None
    grammar: str | None = None
    """What a call of plain text looks like, where that is asked for and a provider has it."""
    legacy: Legacy | None = field(default=None, compare=False, repr=False)
    """Reads calls in words that have an older form than the schema."""

    @classmethod
    def of(cls, mounted: Mounted) -> ToolDefinition:
        """A mounted tool under its wire name, its reason first among the arguments."""
        tool = mounted.tool
        free = tool.freeform if tool.freeform and tool.freeform.asked else None
        return cls(
            mounted.wire,
            tool.description,
            mounted.wire_schema,
            output_schema=tool.output_schema,
            grammar=reasoned_grammar(free.grammar()) if free else None,
            legacy=tool.legacy,
        )


def reasoned_grammar(grammar: str) -> str:
    """A Lark grammar whose text begins with a line that gives the reason."""
    line = WHY_LINE.replace("*", r"\*")
    start = f"start: WHY free\nWHY: /{line}[^\\r\\n]+\\r?\\n/\n"
    return start + re.sub(r"(?m)^start:", "free:", grammar, count=1)


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Whether a model must call a tool."""

    mode: Literal["auto", "none", "required", "tool"] = "auto"
    name: str | None = None
    """The tool, where the mode is `tool`."""
    parallel: bool | None = None
    """Whether it may make several calls at once; None: as the provider likes."""
    native: Native | None = None
    """A form that only one protocol knows."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a request says besides the conversation and the tools."""

    model: str
    system: tuple[Message, ...] = ()
    """Instructions that stand before the conversation."""
    tool_choice: ToolChoice = ToolChoice()
    stream: bool = True
    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the provider, sent as they are; they win over the ones above."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a provider says when it fails."""

    message: str
    type: str | None = None
    code: str | None = None
    param: str | None = None
    status: int | None = None

    def __str__(self) -> str:
        kind = self.code or self.type
        return f"{self.message} ({kind})" if kind else self.message


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer, as far as it came."""

    items: tuple[Item, ...]
    stop: StopReason
    stop_word: str | None = None
    """The provider's own word for why it stopped."""
    usage: Usage = _NO_USAGE
    id: str | None = None
    model: str | None = None
    failure: Failure | None = None
    """What went wrong, where the provider said so; the items are what came before."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the provider wants back with the next request, e.g. the id of a container."""

    @property
    def text(self) -> str:
        """The words of the answer."""
        return text_of(self.items)

    @property
    def refusal(self) -> str:
        """The words in which the model declines, where the provider marks them as such."""
        said = (part for item in self.items if isinstance(item, Message) for part in item.parts)
        return "".join(part.text for part in said if isinstance(part, Refusal))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in order, those with a problem included."""
        return calls_of(self.items)


def leading_system(items: Sequence[Item]) -> tuple[tuple[Message, ...], tuple[Item, ...]]:
    """The instructions at the beginning of a conversation, and the rest of it."""
    system: list[Message] = []
    for item in items:
        if not (isinstance(item, Message) and item.role in ("system", "developer")):
            break
        system.append(item)
    return tuple(system), tuple(items[len(system) :])
