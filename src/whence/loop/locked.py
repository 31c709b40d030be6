"""An agent file compared with its pins: which tools are as they were, which are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from whence.errors import WhenceError
from whence.loop.agent_file import AgentFile
from whence.loop.lock import Lock, drift_between
from whence.loop.measure import (
    agent_name,
    is_pinned,
    measure,
    measure_definition,
    named_inside,
    pinned_definition,
    server_files,
)
from whence.shapes.dataclass import dataclass
from whence.shapes.declaration import McpServer
from whence.shapes.pin import Drift, Pin

if TYPE_CHECKING:
    from whence.loop.servers import Servers


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
    mine = {name for name, pin in pins.items() if pin.kind != "mcp" or not file.resolved.servers}
    return [*found, *(Held(agent, name, "gone") for name in pins if name in mine - declared)]


async def compare_servers(
    file: AgentFile, workspace: str, environ: Mapping[str, str], *, update: bool = False
) -> list[Held]:
    """Every tool of the file's MCP servers, which are asked; with `update` also changed programs.

    A server that cannot be asked is one entry, called by its label.
    """
    if not file.resolved.servers:
        return []
    import asyncio

    from whence.loop.servers import Servers

    agent = agent_name(file.path, workspace)
    pins = Lock(workspace).pins().get(agent, {})
    servers = Servers(workspace, environ)
    try:
        asked = (
            _of_server(each, agent, pins, servers, update=update) for each in file.resolved.servers
        )
        found = [held for each in await asyncio.gather(*asked) for held in each]
    finally:
        await servers.close()
    if any(held.state == "unknown" for held in found):
        return found
    seen = {held.tool for held in found}
    gone = (name for name, pin in pins.items() if pin.kind == "mcp" and name not in seen)
    return [*found, *(Held(agent, name, "gone") for name in gone)]


async def _of_server(
    declared: McpServer, agent: str, pins: Mapping[str, Pin], servers: Servers, *, update: bool
) -> list[Held]:
    from whence.loop.server_tools import is_changed_server, pinned_of

    held = pinned_of(declared, pins)
    try:
        files = server_files(declared, servers.workspace, servers.environ)
        named = named_inside(files, servers.workspace)
        if not update and is_changed_server(declared, held.values(), servers):
            # It is not started to be looked at: what changed is enough to say.
            said = {name: pinned_definition(pin)[1] for name, pin in held.items()}
            now = {name: measure_definition(declared, said[name], named) for name in held}
            return [_held(agent, name, held[name], pin) for name, pin in now.items()]
        listed = {str(each.get("name")): each for each in await servers.of(declared).tools()}
    except WhenceError as error:
        return [Held(agent, declared.label, "unknown", problem=error.message)]
    names = listed if declared.include is None else declared.include
    return [
        _held(agent, name, pins.get(name), measure_definition(declared, listed[name], named))
        if name in listed
        else Held(agent, name, "unknown", problem=f"{declared.label} does not offer it")
        for name in names
    ]


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
