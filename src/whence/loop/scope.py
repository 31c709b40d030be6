"""What a run and the sub-agents below it share, and what each has of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from whence.errors import QuotaExceeded
from whence.loop.budget import Budget
from whence.loop.compact import LIMIT
from whence.loop.news import News, Notice
from whence.shapes.web import PUBLIC, HostPolicy

if TYPE_CHECKING:
    from whence.loop.lock import Lock
    from whence.loop.servers import Servers
    from whence.loop.session import Session
    from whence.loop.turns import Run
    from whence.provider.model import Model

DEPTH = 5
"""How deep agents may call agents."""


@dataclass(slots=True)
class Scope:
    """Where an agent runs."""

    workspace: str
    emit: Callable[[News], None]
    budget: Budget
    session: Session
    model: Model
    """Of the agent that was run; sub-agents that name none use it, too."""
    named_model: str | None = None
    """The model that the caller demands, of sub-agents, too."""
    parallel: int | None = None
    compact_at: int = LIMIT
    """Tokens at which a conversation is summed up."""
    web: HostPolicy = PUBLIC
    """Where the documents and pictures of messages may come from."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    depth: int = 0
    parent: str | None = None
    """The call that this agent works for."""
    steering: list[str] = field(default_factory=list)
    """What a person says while it runs."""
    run: Run | None = None
    """The conversation, once it has begun."""
    lock: Lock | None = None
    """What its tools are held to; made by whoever binds them first."""
    servers: list[Servers] = field(default_factory=list)
    """The MCP servers of the run, once some agent names one; whoever began the run closes them."""

    def below(self, call_id: str, budget: Budget) -> Scope:
        """The scope of a sub-agent.

        Raises:
            QuotaExceeded: agents call agents too deep.
        """
        if self.depth + 1 >= DEPTH:
            raise QuotaExceeded(
                f"agents call one another {self.depth + 1} deep, and {DEPTH} is the limit",
                "Do it here instead of handing it on.",
                details={"depth": self.depth + 1},
            )
        return replace(
            self, budget=budget, depth=self.depth + 1, parent=call_id or self.parent,
            steering=[], run=None,
        )  # fmt: skip

    def say(self, text: str) -> None:
        """Let a person know."""
        self.emit(Notice(text, self.parent))
