"""How an agent is run, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from whence.shapes.approval import Approver
from whence.shapes.policy import Policy
from whence.shapes.tool import Tool
from whence.shapes.web import HostPolicy


class Options(TypedDict, total=False):
    """How an agent is run; whatever is left out is as its file says."""

    model: str | None
    """An id such as `anthropic/claude-sonnet-4-5`; sub-agents use it, too."""
    tools: Iterable[Tool]
    """More of them, such as functions with `@tool`."""
    policy: Policy
    """Rules, quotas and limits."""
    mode: str | None
    approver: Approver | None
    """Asked about what needs a person; without one, such calls are refused."""
    session: str | None
    """The journal's name; an existing one is continued."""
    max_turns: int | None
    parallel: int | None
    """How many calls of one turn run at once."""
    compact_at: int | None
    """The length in tokens at which a conversation is summed up."""
    web: HostPolicy
    """The servers that documents and pictures of messages may come from."""
    environ: Mapping[str, str]
    """Keys of providers, and the environment of commands."""
