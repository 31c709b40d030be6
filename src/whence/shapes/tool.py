"""A tool: what a model is shown, and what happens when it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from whence.shapes.dataclass import dataclass
from whence.shapes.json import JSONObject, JSONValue

if TYPE_CHECKING:
    from whence.shapes.command import CommandsOf
    from whence.shapes.pin import Guard


class Effect(StrEnum):
    """What a tool does to the world."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"


EVERYWHERE = ("**",)
"""The whole workspace."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Where a tool may act."""

    network: bool = False
    """Whether it may use the network."""
    filesystem: tuple[str, ...] = EVERYWHERE
    """Patterns relative to the workspace; `r:` and `w:` prefixes narrow, `!` excludes."""
    timeout_ms: int = 10_000
    """How long one call may take."""
    hosts: tuple[str, ...] = ()
    """What the network is for it: `example.org`, `*.example.org`, `*`; with `:port` only that."""
    output_chars: int | None = None
    """How much of an output reaches the model; None: as much as the policy says."""
    read_roots: tuple[str, ...] = ()
    """Directories, absolute and without links: with any, it reads below them and nowhere else."""


@dataclass(frozen=True, slots=True)
class Example:
    """A call that shows how a tool is meant to be used."""

    input: JSONObject
    output: JSONValue = None
    why: str = ""


class Handler(Protocol):
    """What runs: checked arguments and ports to the world in, a JSON value or a `Reply` out."""

    def __call__(self, arguments: JSONObject, ports: object, /) -> Awaitable[object]:
        """Run the tool once."""
        ...


Touches: TypeAlias = Callable[[JSONObject], Iterable[tuple[Effect, str]]]
"""The paths that checked arguments name, and what happens there. Never raises; pure."""


Legacy: TypeAlias = Callable[[Mapping[str, str]], JSONObject]
"""Arguments out of the texts of a call in XML, where it is written as it once was; else none."""


@dataclass(frozen=True, slots=True)
class Freeform:
    """That a tool can be called with plain text instead of JSON, where a provider has such calls.

    The text becomes the argument `input`.
    """

    grammar: Callable[[], str]
    """What the text must look like, in Lark's notation; made when it is needed."""
    asked: bool = False
    """Whether the declaration asks for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """One tool, whatever its source."""

    name: str
    """Canonical and dotted, e.g. `fs.read`."""
    description: str
    input_schema: JSONObject
    """JSON Schema 2020-12 of the arguments, without the injected reason."""
    handler: Handler | None
    """None: declared, but its source cannot be reached; calls fail as UNAVAILABLE."""
    output_schema: JSONObject | None = None
    category: str = "custom"
    effects: frozenset[Effect] = frozenset()
    sandbox: Sandbox = Sandbox()
    examples: tuple[Example, ...] = ()
    aliases: tuple[str, ...] = ()
    paths: Mapping[str, Effect] = field(default_factory=dict)
    """Which arguments are paths, and what the tool does there."""
    argument_aliases: Mapping[str, str] = field(default_factory=dict)
    """Older names of arguments, which are taken and not shown."""
    touches: Touches | None = None
    """Finds the paths that stand inside other arguments, as in the text of a patch."""
    commands: CommandsOf | None = None
    """What a call would run, where it runs commands: rules then match those, not paths."""
    guard: Guard | None = None
    """Says before each call whether what is behind the tool is still what was trusted."""
    freeform: Freeform | None = None
    """None: it takes JSON only."""
    legacy: Legacy | None = None
    """Reads calls in words that have an older form than the schema."""
    source: str = "python"
    """builtin, shell, agent, mcp or python."""
    strict: bool = False
    """Whether providers that can are to hold the model to the schema."""
    notes: str = ""
