"""What a run allows: reasons, rules, quotas and limits."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from whence.shapes.dataclass import dataclass


class WhyPolicy(StrEnum):
    """How much of a reason a call must give."""

    STRICT = "strict"
    """Circular and mechanical reasons are refused."""
    REQUIRED = "required"
    """A reason must be there; a weak one warns."""
    OPTIONAL = "optional"
    """A reason may be left out; a weak one warns."""
    OFF = "off"
    """Reasons are neither asked for nor judged."""


class Verdict(StrEnum):
    """What a rule says; the strongest matching rule decides."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Rule:
    """One permission: `tool(pattern)`, as in `fs.write(src/**)`; no pattern means any argument."""

    verdict: Verdict
    tool: str
    pattern: str | None = None
    source: str = "policy"
    """Where a person can find and change it."""
    settles: bool = False
    """An allow that a person gave as an answer: it also settles what `ask` rules would ask."""
    ceiling: bool = False
    """An administrator's: no answer settles it."""

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"


@dataclass(frozen=True, slots=True)
class Quotas:
    """How much one session may do; None is no limit."""

    calls: int | None = 10_000
    calls_per_turn: int | None = 256
    bytes_written: int | None = 1_000_000_000
    seconds: float | None = None
    """Time spent inside tools, all calls together."""
    repeats: int | None = 5
    """How often the same call may follow itself, and a pair of calls may alternate."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of an output reaches the model and the journal."""

    output_chars: int = 100_000
    """Per call; the whole goes to an artifact."""
    turn_chars: int = 400_000
    """All calls of one turn together."""
    inline_chars: int = 2_000
    """Per event of the journal; a longer result is kept as an artifact."""
    timeout_ms: int = 600_000
    """No call may take longer, whatever its tool declares."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A named set of tool groups; a group may be held to paths that match a pattern."""

    slug: str
    name: str
    groups: Mapping[str, str | None]
    """read, edit, command, mcp → a regular expression over the path, or None for any."""
    role: str = ""
    """What a model is told in it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that decides about a call besides the call and the tool."""

    why: WhyPolicy = WhyPolicy.REQUIRED
    rules: tuple[Rule, ...] = ()
    quotas: Quotas = Quotas()
    limits: Limits = Limits()
    mode: Mode | None = None
    """None: every declared tool may be used."""
    isolated: bool = False
    """Whether the programs of tools run in a sandbox that the kernel fully enforces."""
    ceiling: tuple[Mode, ...] = ()
    """Modes of the agents above this one; what they do not have, it does not have either."""
