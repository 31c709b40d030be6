"""What an agent file declares: tools and what is behind each of them, settings, an interface.

    Resolved
    ├── tools           Tool, each name once
    ├── bindings        name → Builtin | ShellCommand | AgentReference | PythonReference
    ├── servers         McpServer: their tools are known after connecting
    ├── config          Config
    ├── interface       Interface: what the agent itself takes and gives
    ├── roots           name → Root: directories that one tool may read
    └── problems        Diagnostic

Paths, commands and addresses are kept as they are written; nothing is read or run to make these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Literal, TypeAlias

from whence.shapes.dataclass import dataclass
from whence.shapes.document import NOWHERE, Diagnostic, Severity, Span
from whence.shapes.json import JSONObject
from whence.shapes.policy import WhyPolicy
from whence.shapes.tool import Tool

TIMEOUT_MS = 60_000
"""How long a call may take where the declaration does not say."""
MAX_OUTPUT = 10_000
"""How many characters of a command's output reach the model, where it does not say."""


@dataclass(frozen=True, slots=True)
class Param:
    """One argument of a shell command, or one input of an agent."""

    name: str
    schema: JSONObject
    """JSON Schema, with its description and default."""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Builtin:
    """A tool that comes with the program."""

    catalog: str


@dataclass(frozen=True, slots=True)
class Hole:
    """Where the value of a parameter goes."""

    name: str


Word: TypeAlias = tuple[str | Hole, ...]
"""One word of a command; its parts are joined without a space."""


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A program and its arguments; it is started directly, never through a shell."""

    argv: tuple[Word, ...]
    params: tuple[Param, ...] = ()
    """None: the call's list `arguments` is added at the end."""
    timeout_ms: int = TIMEOUT_MS
    max_output: int = MAX_OUTPUT
    """How many characters reach the model."""
    cwd: str | None = None
    """Relative to the workspace; None is the workspace."""
    env: tuple[str, ...] = ()
    """Names of the variables that it gets from the environment, besides the usual few."""
    hosts: tuple[str, ...] = ()
    """What it may reach on the network: `example.org`, `*.example.org`, `*`, each with a port."""
    isolated: bool = False
    """Whether it is refused where its sandbox is not full."""


@dataclass(frozen=True, slots=True)
class AgentReference:
    """Another agent file."""

    path: str
    """As written: relative to the file that declares it, or an https URL."""
    remote: bool = False


@dataclass(frozen=True, slots=True)
class PythonReference:
    """A function in a Python file."""

    path: str
    function: str


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server whose tools are to be mounted."""

    transport: Literal["stdio", "http"]
    argv: tuple[str, ...] = ()
    """The program, for stdio."""
    url: str = field(default="", repr=False)
    """The address, for http. It may hold a secret: show `label` instead."""
    label: str = ""
    """What people are shown: the address without user, password and query; or the command."""
    include: tuple[str, ...] | None = None
    """The tools to mount; None: all of them."""
    strict: bool = False
    client_id_env: str | None = None
    client_secret_env: str | None = None
    headers_env: str | None = None
    """Names of variables in the environment; their values never enter a file."""
    networks: tuple[str, ...] = ()
    """Addresses that are not public and that the address's host may have, such as `10.0.0.0/8`."""
    env: tuple[str, ...] = ()
    cwd: str | None = None
    timeout_ms: int = TIMEOUT_MS
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Binding: TypeAlias = Builtin | ShellCommand | AgentReference | PythonReference
"""What is behind a tool."""


@dataclass(frozen=True, slots=True)
class Root:
    """A directory that a tool may read, known to the model by its id."""

    id: str
    path: str
    """As written; `${workspace}` and its like are filled in by whoever knows them."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Declared:
    """One tool, what is behind it, and where it was declared."""

    tool: Tool
    binding: Binding
    span: Span
    roots: tuple[Root, ...] = ()


class Effort(StrEnum):
    """How much a model is asked to think."""

    NONE = "none"
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class ToolProtocol(StrEnum):
    """How calls travel: as the provider's own, or as XML in the text."""

    NATIVE = "native"
    XML = "xml"


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use up; None is no limit."""

    dollars: float | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of an agent file; None: it does not say."""

    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: Effort | None = None
    show_tool_call: bool = False
    """Whether the transcript shows payloads where they happen."""
    id: str | None = None
    mode: str | None = None
    why: WhyPolicy | None = None
    max_turns: int | None = None
    parallel_tool_calls: bool = True
    protocol: ToolProtocol | None = None
    budget: Budget | None = None


PLAIN_INPUT: JSONObject = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
"""What an agent takes whose file declares nothing: one text."""


@dataclass(frozen=True, slots=True)
class Interface:
    """What an agent takes and gives."""

    input_schema: JSONObject = field(default_factory=lambda: dict(PLAIN_INPUT))
    inputs: tuple[Param, ...] = ()
    """None: it takes one text, called `input`."""
    output_schema: JSONObject | None = None
    """None: it answers with text."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Everything that a file declares, and everything that is wrong with its declarations."""

    tools: tuple[Tool, ...] = ()
    bindings: Mapping[str, Binding] = field(default_factory=dict)
    servers: tuple[McpServer, ...] = ()
    config: Config = Config()
    interface: Interface = field(default_factory=Interface)
    roots: Mapping[str, tuple[Root, ...]] = field(default_factory=dict)
    """By tool: what one tool may read, another may not."""
    spans: Mapping[str, Span] = field(default_factory=dict)
    """Where each tool is declared."""
    problems: tuple[Diagnostic, ...] = ()

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The problems with which a file must not be run."""
        return tuple(found for found in self.problems if found.severity is Severity.ERROR)
