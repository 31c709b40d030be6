"""An agent file as values: what stands in it, and where.

    Document
    ├── source          the bytes of the file, never changed
    ├── nodes           Element | Comment | Stray, made when they are looked at
    │   └── Element     tag, attributes, parts (Text | Element), span, body
    ├── items()         Message | ToolCall | ToolResponse | Reasoning, in order
    └── diagnostics     what is wrong with it, and what to do

Offsets count bytes of the source, so that they fit the file on disk; lines and columns count from
one, columns in characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple, TypeAlias, overload

from whence.shapes.dataclass import dataclass

_NO = frozenset({"false", "no", "off", "0"})
_YES = frozenset({"", "true", "yes", "on", "1"})


class Span(NamedTuple):
    """A stretch of the source, in bytes; the end is not part of it."""

    start: int
    end: int


NOWHERE = Span(0, 0)
"""The span of a value that was not read from a file."""


class Place(NamedTuple):
    """Where an offset is for a person."""

    line: int
    column: int
    text: str
    """The line, or the part of a very long line that is around the column."""


_EXCERPT = 160


def places(source: bytes, offsets: Iterable[int]) -> Iterator[Place]:
    """The places of ascending offsets; all of them together read the source once."""
    start = 3 if source.startswith(b"\xef\xbb\xbf") else 0
    at, line, line_start, column, column_at = 0, 1, start, 1, start
    for offset in offsets:
        newlines = source.count(b"\n", at, offset)
        if newlines:
            line += newlines
            line_start = column_at = source.rfind(b"\n", at, offset) + 1
            column = 1
        column += len(source[column_at:offset].decode("utf-8", "replace"))
        at = column_at = offset
        yield Place(line, column, _excerpt(source, line_start, offset))


def _excerpt(source: bytes, line_start: int, offset: int) -> str:
    start = max(line_start, offset - _EXCERPT)
    end = source.find(b"\n", offset, offset + _EXCERPT)
    line = source[start : end if end >= 0 else offset + _EXCERPT]
    return line.decode("utf-8", "replace").rstrip("\r")


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """The file does not say what its writer meant; it must not be run."""
    WARNING = "warning"
    """It can be run, and somebody should look."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something wrong in a file."""

    severity: Severity
    code: str
    """Stable, for editors and filters, e.g. `unknown-attribute`."""
    message: str
    suggestion: str
    """What to do."""
    span: Span
    line: int
    column: int
    source_line: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.severity}: {self.message} {self.suggestion}"

    @property
    def left(self) -> str:
        """What stands before the column in `source_line`, which may be a part of its line only."""
        before = self.source_line[: self.column - 1].encode("utf-8", "replace")
        return before[:_EXCERPT].decode("utf-8", "ignore")


def truth(value: str | None) -> bool | None:
    """What an attribute value says as a flag; None when it says neither yes nor no."""
    word = "" if value is None else value.strip().lower()
    return False if word in _NO else True if word in _YES else None


@dataclass(frozen=True, slots=True)
class Text:
    """Words, as they reach a model: RAW markers gone, comments left out, nothing decoded."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Element:
    """One element of the closed set."""

    tag: str
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    """Decoded, in the file's order; None is a name alone. Of duplicates the last one counts."""
    parts: tuple[Part, ...] = ()
    """What is inside, adjacent text joined."""
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    body: Span | None = field(default=None, compare=False, repr=False)
    """Between the opening and the closing tag; None where there is no closing tag."""

    def get(self, name: str) -> str | None:
        """The value of an attribute: empty for a name alone, None where it is absent."""
        return None if name not in self.attributes else self.attributes[name] or ""

    def flag(self, name: str) -> bool:
        """Whether a flag is set: present, and not `false`, `no`, `off` or `0`."""
        return name in self.attributes and truth(self.attributes[name]) is not False

    @property
    def text(self) -> str:
        """All text inside, without that of elements inside."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def children(self) -> tuple[Element, ...]:
        """The elements inside."""
        return tuple(part for part in self.parts if isinstance(part, Element))


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment at the top level; `text` is what stands between its marks."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Stray:
    """Text where only elements may stand; an error names it, nothing uses it."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


COMMENT, STRAY = "!--", ""
"""What stands for a tag where a node has none."""

Part: TypeAlias = Text | Element
Node: TypeAlias = Element | Comment | Stray


def stored(parts: Sequence[Part]) -> str | None:
    """The path of a payload that was moved out of the file, where that is all there is."""
    elements = [part for part in parts if isinstance(part, Element)]
    if len(elements) != 1 or any(isinstance(part, Text) and part.text.strip() for part in parts):
        return None
    doc = elements[0]
    return doc.get("src") if doc.tag == "doc" and doc.flag("local") else None


class _Content:
    """What a message, a call and a response share: parts, mostly one text."""

    __slots__ = ()
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The words that stand in the file, without what its elements stand for."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def stored(self) -> str | None:
        """The path of the payload, where it was moved out of the file and nothing else is there."""
        return stored(self.parts)


@dataclass(frozen=True, slots=True)
class Message(_Content):
    """Something that was said."""

    role: str
    """user, assistant, system or developer; or what `<msg role>` says."""
    parts: tuple[Part, ...]
    """Text, and the elements doc, img, agent and import."""
    id: str | None = None
    status: str | None = None
    phase: str | None = None
    name: str | None = None
    type: str | None = None
    """`protocol/kind` of an entry that is no message, but JSON for that protocol alone."""
    native: str | None = None
    """JSON that only its provider reads, by protocol."""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def blank(self) -> bool:
        """Whether there is nothing but white space, as in the block where a person types next."""
        return all(isinstance(part, Text) and not part.text.strip() for part in self.parts)


@dataclass(frozen=True, slots=True)
class ToolCall(_Content):
    """A call that a model made; its text is the arguments, as the model wrote them."""

    id: str
    name: str
    parts: tuple[Part, ...]
    item_id: str | None = None
    """The provider's id of the item, apart from that of the call."""
    custom: bool = False
    """The payload is free text instead of JSON."""
    native: str | None = None
    """JSON that only its provider reads, by protocol."""
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToolResponse(_Content):
    """What came of a call."""

    id: str
    """The id of the call."""
    parts: tuple[Part, ...]
    """Text, and the elements doc (text that was moved out) and img."""
    item_id: str | None = None
    custom: bool = False
    status: str | None = None
    native: str | None = None
    """JSON that only its provider reads, by protocol."""
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model thought, as far as its provider shows it."""

    id: str | None
    summaries: tuple[str, ...]
    encrypted: str | None = None
    """The provider's own form, to be sent back unchanged."""
    status: str | None = None
    texts: tuple[str, ...] = ()
    """The thoughts themselves, where a provider shows more than summaries."""
    protocol: str | None = None
    """Whose form it is; None: the Responses API's."""
    native: str | None = None
    """JSON that only its provider reads, by protocol."""
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Item: TypeAlias = Message | ToolCall | ToolResponse | Reasoning


def item_of(element: Element) -> Item | None:
    """The entry of the conversation that an element stands for, if it is one."""
    match element.tag:
        case "user" | "assistant" | "system" | "developer":
            return _message(element.tag, element)
        case "tool_call":
            return _call(element)
        case "tool_response":
            return _response(element)
        case "reasoning":
            return _reasoning(element)
        case "msg" if element.get("role") == "tool":
            return _call(element) if "tool_call" in element.attributes else _response(element)
        case "msg":
            return _message(element.get("role") or "", element)
        case _:
            return None


def _message(role: str, element: Element) -> Message:
    get = element.get
    return Message(
        role, element.parts, get("id"), get("status"), get("phase"), get("name"), get("type"),
        get("native"), element.span,
    )  # fmt: skip


def _call(element: Element) -> ToolCall:
    get = element.get
    custom = get("type") == "custom_tool_call"
    name = get("function_name") or get("name") or ""
    return ToolCall(
        get("tool_call_id") or "", name, element.parts, get("id"), custom, get("native"),
        element.span,
    )  # fmt: skip


def _response(element: Element) -> ToolResponse:
    get = element.get
    custom = (get("type") or "").startswith("custom_tool_call")
    return ToolResponse(
        get("tool_call_id") or "", element.parts, get("id"), custom, get("status"), get("native"),
        element.span,
    )  # fmt: skip


def _reasoning(element: Element) -> Reasoning:
    get = element.get
    summaries: list[str] = []
    texts: list[str] = []
    for part in element.parts:
        if isinstance(part, Element):
            (texts if part.get("type") == "reasoning_text" else summaries).append(part.text)
        elif part.text.strip():
            summaries.append(part.text.strip())
    return Reasoning(
        get("id"), tuple(summaries), get("encrypted"), get("status"),
        tuple(texts), get("protocol"), get("native"), element.span,
    )  # fmt: skip


class Nodes(Sequence[Node]):
    """The top level of a file; each node is made anew when it is looked at."""

    __slots__ = ("_kinds", "_make", "_may_hold_elements", "_names")

    def __init__(
        self,
        kinds: Sequence[int],
        names: Sequence[str],
        make: Callable[[int], Node],
        may_hold_elements: Callable[[int], bool],
    ) -> None:
        self._kinds = kinds
        self._names = names
        self._make = make
        self._may_hold_elements = may_hold_elements

    def __len__(self) -> int:
        return len(self._kinds)

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, index: int | slice) -> Node | tuple[Node, ...]:
        if isinstance(index, slice):
            return tuple(self._make(at) for at in range(*index.indices(len(self._kinds))))
        return self._make(range(len(self._kinds))[index])

    def where(self, *tags: str) -> Iterator[int]:
        """The indices of the nodes with one of these tags, without making any."""
        wanted = {kind for kind, name in enumerate(self._names) if name in tags}
        return (at for at, kind in enumerate(self._kinds) if kind in wanted)

    def tagged(self, *tags: str) -> Iterator[Element]:
        """The elements with one of these tags, in order; no other node is made."""
        return self._elements(self.where(*tags))

    def holding(self, *tags: str) -> Iterator[Element]:
        """Those among them with elements inside, and perhaps a few more; hardly any is made."""
        return self._elements(filter(self._may_hold_elements, self.where(*tags)))

    def _elements(self, indices: Iterable[int]) -> Iterator[Element]:
        for at in indices:
            node = self._make(at)
            if isinstance(node, Element):
                yield node


class Diagnostics(Sequence[Diagnostic]):
    """What is wrong with a file, in its order; found out when first asked."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], tuple[Diagnostic, ...]]) -> None:
        self._find = find
        self._found: tuple[Diagnostic, ...] | None = None

    def _all(self) -> tuple[Diagnostic, ...]:
        if self._found is None:
            self._found = self._find()
        return self._found

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, index: int) -> Diagnostic: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Diagnostic, ...]: ...
    def __getitem__(self, index: int | slice) -> Diagnostic | tuple[Diagnostic, ...]:
        return self._all()[index]


_TRANSCRIPT = frozenset(
    {"user", "assistant", "system", "developer", "msg", "tool_call", "tool_response", "reasoning"}
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Document:
    """A file that was read. Its source stays as it was; edits give a new document."""

    source: bytes
    nodes: Nodes
    diagnostics: Diagnostics

    def __repr__(self) -> str:
        return f"Document({len(self.source)} bytes, {len(self.nodes)} nodes)"

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics with which a file must not be run."""
        return tuple(found for found in self.diagnostics if found.severity is Severity.ERROR)

    @property
    def config(self) -> Element | None:
        """The settings: the first `<config>`; later ones do not count."""
        return next(self.nodes.tagged("config"), None)

    def tagged(self, *tags: str) -> Iterator[Element]:
        """The top-level elements with one of these tags, in order."""
        return self.nodes.tagged(*tags)

    def holding(self, *tags: str) -> Iterator[Element]:
        """Those among them with elements inside; in a long file much sooner found than all."""
        return self.nodes.holding(*tags)

    def items(self) -> Iterator[Item]:
        """The conversation, in order."""
        for element in self.nodes.tagged(*_TRANSCRIPT):
            item = item_of(element)
            if item is not None:
                yield item
