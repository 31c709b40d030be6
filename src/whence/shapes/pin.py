"""What is behind a tool, as it was when it was trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from whence.shapes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Pin:
    """A tool's declaration and the files that it runs, by their hashes."""

    kind: Literal["shell", "agent", "python", "mcp"]
    declaration: str
    """As text, one thing per line."""
    files: Mapping[str, str]
    """Path → SHA-256; a path inside the workspace is relative to it."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A tool that is no longer what it was."""

    reason: str
    """Which pieces changed."""
    difference: str
    """Old and new hashes, and a unified diff of the declaration."""
    remedy: str
    """What a person can do."""


class Guard(Protocol):
    """Watches over what is behind one tool."""

    async def look(self) -> None:
        """Find out what is behind it now, where that takes asking somebody.

        Raises:
            WhenceError: it cannot be found out.
        """
        ...

    def drift(self) -> Drift | None:
        """How it differs from what was trusted; on first use it is trusted, and kept.

        Raises:
            WhenceError: it cannot be told.
        """
        ...

    def accept(self, *, keep: bool) -> None:
        """Trust it as it is now: while the run lasts, or, kept, from now on."""
        ...
