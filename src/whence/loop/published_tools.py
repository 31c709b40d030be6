"""The tools of a server as rules and clients know them, before anything is called."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from whence.catalogs import NAMES, load_catalog
from whence.loop.published_files import PublishedFiles
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Sandbox, Tool

if TYPE_CHECKING:
    from whence.loop.agent_file import AgentFile

_TIMEOUT_MS = 600_000
_ANYTHING: JSONObject = {"type": "object", "additionalProperties": True}


def known_tools(files: PublishedFiles, builtin: Iterable[Tool], workspace: str) -> tuple[Tool, ...]:
    """Whatever a rule may be about: what is published, and what published agents use.

    Servers are not asked what they offer: their tools are known by `include`, or once pinned.
    """
    known: dict[str, Tool] = {}
    for name, agent in files.agents.items():
        used = (*agent.resolved.tools, *_server_tools(agent, workspace), agent_tool(name, agent))
        known |= {tool.name: tool for tool in used}
    return (*(known | {tool.name: tool for tool in builtin}).values(),)


def _server_tools(agent: AgentFile, workspace: str) -> list[Tool]:
    from whence.loop.lock import Lock
    from whence.loop.measure import agent_name

    servers = agent.resolved.servers
    pins = Lock(workspace).pins().get(agent_name(agent.path, workspace), {}) if servers else {}
    pinned = [name for name, pin in pins.items() if pin.kind == "mcp"]
    included = [name for server in servers for name in server.include or ()]
    return [Tool(name, "", _ANYTHING, None, source="mcp") for name in {*pinned, *included}]


@cache
def writing_tools() -> tuple[str, ...]:
    """The names of all built-in tools that write files."""
    tools = (tool for name in NAMES for tool in load_catalog(name))
    return tuple({tool.name for tool in tools if Effect.WRITE in tool.effects})


def effects_of(agent: AgentFile) -> frozenset[Effect]:
    """What it may do; of servers and other agents nobody knows."""
    resolved = agent.resolved
    effects = frozenset[Effect]().union(*(tool.effects for tool in resolved.tools))
    if resolved.servers or any(tool.source == "agent" for tool in resolved.tools):
        return effects | {Effect.EXECUTE, Effect.NETWORK}
    return effects


def agent_tool(name: str, agent: AgentFile) -> Tool:
    """An agent file as a tool, without a handler."""
    interface = agent.resolved.interface
    return Tool(
        name=name,
        description="",
        input_schema=interface.input_schema,
        output_schema=interface.output_schema,
        handler=None,
        category="agent",
        sandbox=Sandbox(timeout_ms=_TIMEOUT_MS),
        source="agent",
    )
