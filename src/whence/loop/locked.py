"""An agent file compared with its pins: which tools are as they were, which are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from whence.errors import WhenceError
from whence.loop.agent_file import AgentFile
from whence.loop.lock import Lock, drift_between
from whence.loop.measure import agent_name, is_pinned, measure
from whence.shapes.dataclass import dataclass
from whence.shapes.pin import Drift, Pin


@dataclass(frozen=True, slots=True)
class Held:
    """One tool and its pin."""

    agent: str
    tool: str
    state: Literal["pinned", "new", "changed", "gone", "unknown"]
    """gone: pinned, and no longer declared; unknown: what is behind it cannot be read."""
    now: Pin | None = None
    drift: Drift | None = None
    problem: str = ""

    @property
    def sound(self) -> bool:
        """Whether it is what the lock says."""
        return self.state in ("pinned", "gone")


def compare(file: AgentFile, workspace: str, environ: Mapping[str, str]) -> list[Held]:
    """Every tool of a file that has a pin, or should have one."""
    agent = agent_name(file.path, workspace)
    pins = Lock(workspace).pins().get(agent, {})
    found = []
    for tool in file.resolved.tools:
        if not is_pinned(file, tool):
            continue
        try:
            now = measure(file, tool, workspace, environ)
        except WhenceError as error:
            found.append(Held(agent, tool.name, "unknown", problem=error.message))
            continue
        found.append(_held(agent, tool.name, pins.get(tool.name), now))
    declared = {held.tool for held in found}
    return [*found, *(Held(agent, name, "gone") for name in pins if name not in declared)]


def _held(agent: str, tool: str, kept: Pin | None, now: Pin) -> Held:
    if kept is None:
        return Held(agent, tool, "new", now)
    if kept == now:
        return Held(agent, tool, "pinned", now)
    return Held(agent, tool, "changed", now, drift_between(agent, tool, kept, now))


def keep(held: Iterable[Held], workspace: str, *, update: bool) -> None:
    """Pin what is new and, on `update`, what changed; what is gone loses its pin then, too."""
    lock = Lock(workspace)
    states = ("new", "changed", "gone") if update else ("new",)
    by_agent: dict[str, dict[str, Pin | None]] = {}
    for one in held:
        if one.state in states:
            by_agent.setdefault(one.agent, {})[one.tool] = one.now
    for agent, changed in by_agent.items():
        lock.keep(agent, changed)
