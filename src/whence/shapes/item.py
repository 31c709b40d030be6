"""A conversation as values, whatever the provider: what was said, called, answered and thought.

    Item
    ├── Message       role, parts: Text | Refusal | Image | File | Opaque
    ├── ToolCall      what a model asks for, its arguments as it wrote them
    ├── ToolOutcome   what came of a call: parts, error flag, structured value
    ├── Reasoning     what a model thought; its seal proves it to its own provider
    └── Opaque        an entry that only its own protocol understands

`Native` holds what one protocol adds to an item. It goes back to that protocol unchanged and to no
other, so that a conversation can be replayed to its provider and still be read by everybody.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, TypeAlias

from whence.shapes.call import Call
from whence.shapes.dataclass import dataclass
from whence.shapes.json import JSONObject, JSONValue

Role: TypeAlias = Literal["system", "developer", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Native:
    """Fields that only one protocol knows."""

    protocol: str
    fields: JSONObject


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Words with which a model declines."""

    text: str
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class Inline:
    """Data that travels with the conversation."""

    media_type: str
    data: str
    """Base64, as it goes over the wire."""


@dataclass(frozen=True, slots=True)
class Link:
    """Data that the provider fetches itself."""

    url: str
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Data that was given to the provider before."""

    file_id: str


Source: TypeAlias = Inline | Link | Stored


@dataclass(frozen=True, slots=True)
class Image:
    """A picture."""

    source: Source
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class File:
    """A document, a recording or a film; the media type says which."""

    source: Source
    name: str | None = None
    native: Native | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """An item or a part that only its own protocol understands, kept as the JSON that it was."""

    protocol: str
    kind: str
    """The protocol's word for it, e.g. `web_search_call`."""
    json: str
    """Sent back to the protocol byte for byte."""
    role: Role = "assistant"
    """Whose side it stands on."""


Part: TypeAlias = Text | Refusal | Image | File | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was said."""

    role: Role
    parts: tuple[Part, ...]
    id: str | None = None
    """The provider's id of the item."""
    name: str | None = None
    """Who of several people with this role said it."""
    phase: str | None = None
    """Whether an assistant comments on its work or gives its answer, where a provider says so."""
    native: Native | None = None

    @classmethod
    def of(cls, role: Role, text: str) -> Message:
        """A message of plain words."""
        return cls(role, (Text(text),) if text else ())

    @property
    def text(self) -> str:
        """The words, without what is not words."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model made; with a problem it is shown and answered, and never run."""

    id: str
    """Empty where the protocol has no ids, as in XML text."""
    name: str
    """As the model wrote it: a wire name, if it kept to the tools that it was shown."""
    text: str
    """The arguments, as the model wrote them."""
    arguments: JSONObject | None
    """The arguments as values; None where there is a problem."""
    problem: str = ""
    """Why the text is no set of arguments, with the place in characters from its beginning."""
    item_id: str | None = None
    """The provider's id of the item, apart from that of the call."""
    custom: bool = False
    """The text is free text instead of JSON."""
    native: Native | None = None

    def as_call(self, parent: str | None = None) -> Call:
        """The call that the gate decides about."""
        if self.arguments is None:
            return Call(
                self.name,
                None,
                id=self.id or None,
                parent=parent,
                unparsed=self.text,
                parse_problem=self.problem,
            )
        arguments = free_arguments(self.text) if self.custom else self.arguments
        return Call(self.name, arguments, id=self.id or None, parent=parent)


WHY_LINE = "*** Why: "
"""How plain text gives its reason: in its first line."""


def free_arguments(text: str) -> dict[str, JSONValue]:
    """The arguments of a call with plain text, its reason apart."""
    first, _, rest = text.partition("\n")
    if not first.startswith(WHY_LINE):
        return {"input": text}
    return {"why": first.removeprefix(WHY_LINE).strip(), "input": rest}


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of a call, as the model is shown it."""

    call_id: str
    parts: tuple[Part, ...]
    is_error: bool = False
    structured: JSONValue = None
    """The result as a value, where a protocol can carry one beside the words."""
    name: str | None = None
    """The tool, for protocols that pair by name."""
    custom: bool = False
    """The call was one with free text."""
    item_id: str | None = None
    native: Native | None = None

    @property
    def text(self) -> str:
        """The words, without what is not words."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model thought, as far as its provider shows it."""

    protocol: str
    """The only one that can read the seal."""
    texts: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()
    seal: str | None = None
    """A signature or the encrypted thought itself, to be sent back unchanged."""
    redacted: bool = False
    """There is only the seal."""
    id: str | None = None
    native: Native | None = None

    @property
    def text(self) -> str:
        """What a person may read."""
        return "\n\n".join((*self.summaries, *self.texts))


Item: TypeAlias = Message | ToolCall | ToolOutcome | Reasoning | Opaque


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    """It had said what it wanted to say."""
    CALLS = "calls"
    """It waits for the outcomes of its calls."""
    LENGTH = "length"
    """It reached a limit of tokens; what came last may be cut."""
    STOP_SEQUENCE = "stop_sequence"
    REFUSAL = "refusal"
    """A filter or the model itself declined."""
    PAUSE = "pause"
    """The provider wants the same conversation again, to go on."""
    ERROR = "error"
    """The provider failed."""
    CUT = "cut"
    """The stream ended in the middle."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer used, in tokens."""

    input_tokens: int = 0
    """All of the input, cached or not."""
    output_tokens: int = 0
    """All of the output, thoughts included."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None
    """In US dollars, where the provider says so itself."""

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            sum(costs) if costs else None,
        )


def text_of(items: Iterable[Item]) -> str:
    """The words of the assistant, joined as they came."""
    return "".join(
        item.text for item in items if isinstance(item, Message) and item.role == "assistant"
    )


def calls_of(items: Iterable[Item]) -> tuple[ToolCall, ...]:
    """The calls, in order, those with a problem included."""
    return tuple(item for item in items if isinstance(item, ToolCall))
