"""Options that several commands share, and what they mean."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.declare.toolbox import Toolbox
    from whence.loop.agent_file import AgentFile
    from whence.shapes.policy import Policy
    from whence.shapes.tool import Tool


PROTOCOLS = ("openai", "responses", "anthropic", "mcp", "xml")
"""What `--as` takes; `openai` is chat completions."""


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """`-C DIR`."""
    parser.add_argument(
        "-C", dest="workspace", metavar="DIR", default=".", help="the workspace (default: here)"
    )


def add_session(parser: argparse.ArgumentParser) -> None:
    """`--session ID`."""
    parser.add_argument(
        "--session",
        metavar="ID",
        default=os.environ.get("WHENCE_SESSION") or None,
        help="name of the journal (default: $WHENCE_SESSION)",
    )


def add_policy(parser: argparse.ArgumentParser, why: str = "required") -> None:
    """Rules, reasons and modes; how much of a reason is demanded where nobody says."""
    for verdict, text in (
        ("allow", "let matching calls through, as in --allow 'fs.write(src/**)'"),
        ("ask", "ask about matching calls"),
        ("deny", "refuse matching calls; deny beats ask beats allow"),
    ):
        parser.add_argument(f"--{verdict}", metavar="RULE", action="append", default=[], help=text)
    parser.add_argument(
        "--why",
        choices=("strict", "required", "optional", "off"),
        default=why,
        help=f"how much of a reason a call must give (default: {why})",
    )
    parser.add_argument("--mode", metavar="NAME", help="hold the call to a mode's tools")


def add_tools(parser: argparse.ArgumentParser) -> None:
    """Which built-ins there are, and what they may reach."""
    parser.add_argument("--catalog", metavar="NAME", help="only the tools of this catalog")
    parser.add_argument(
        "--network",
        metavar="HOST",
        action="append",
        default=[],
        help="hosts that network tools may ask; private ones must be named, as in localhost:8000",
    )


def add_file(parser: argparse.ArgumentParser) -> None:
    """`-f FILE`."""
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="the tools of this agent file, not the built-in ones"
    )


def tools_of(options: argparse.Namespace) -> tuple[Tool, ...]:
    """The tools that the options name."""
    from whence.catalogs import load_catalog, load_catalogs

    tools = load_catalog(options.catalog) if options.catalog else load_catalogs()
    hosts = tuple(getattr(options, "network", ()))
    return tuple(_held(tool, hosts) for tool in tools) if hosts else tools


def _held(tool: Tool, hosts: tuple[str, ...]) -> Tool:
    from dataclasses import replace

    return replace(tool, sandbox=replace(tool.sandbox, hosts=hosts))


def policy_of(options: argparse.Namespace, toolbox: Toolbox) -> Policy:
    """The policy that the options describe; the files in the workspace are not read here."""
    from whence.loop.rules import rules_from
    from whence.loop.settings import load_mode
    from whence.shapes.policy import Policy, Verdict, WhyPolicy

    written = {verdict: getattr(options, verdict.value) for verdict in Verdict}
    return Policy(
        why=WhyPolicy(options.why),
        rules=rules_from(written, "the command line", toolbox),
        mode=load_mode(options.workspace, options.mode) if options.mode else None,
    )


def load_connected(path: str, workspace: str) -> AgentFile:
    """An agent file without errors, with the tools of its MCP servers, which are asked.

    What a person should know of them goes to standard error.
    """
    from whence.loop.agent_file import load_runnable

    agent = load_runnable(path, workspace)
    if not agent.resolved.servers:
        return agent
    import asyncio
    import sys

    from whence.loop.server_tools import with_server_tools
    from whence.shapes.glyph import visible

    agent, notes = asyncio.run(with_server_tools(agent, workspace, os.environ))
    for note in notes:
        print(visible(f"note: {note}"), file=sys.stderr)
    return agent


def closest_tools(name: str, toolbox: Toolbox) -> str:
    """What to do about a name that no tool has."""
    close = toolbox.names.closest(name)
    return f"Did you mean {' or '.join(close)}?" if close else "`whence tools` lists them all."


def workspace_of(options: argparse.Namespace) -> str:
    """The workspace's path; it must exist."""
    from whence.errors import UsageError

    if not os.path.isdir(options.workspace):
        raise UsageError(f"{options.workspace!r} is not a directory", "Name one with -C DIR.")
    return str(options.workspace)
