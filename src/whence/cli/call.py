"""`whence call`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING

from whence.cli.options import add_file, add_policy, add_session, add_tools, add_workspace
from whence.cli.text import print_json

if TYPE_CHECKING:
    from whence.shapes.call import Call, Outcome

EXAMPLE = """\
The outcome is printed as JSON; the exit code is 0 for a result, 1 for a fault, 2 for wrong usage.

examples:
  whence call fs.read '{"path": "README.md", "why": "Learn how to install it"}'
  whence call -f agent.chatmd git_log '{"arguments": ["-3"], "why": "See what was done"}'
  printf 'path: src  # the parser lives here\\nwhy: Find the entry point\\n' | whence call fs.ls
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("tool", metavar="TOOL", help="canonical name, wire name or alias")
    parser.add_argument(
        "arguments", metavar="JSON", nargs="?", help="JSON or YAML; from stdin if absent or -"
    )
    add_workspace(parser)
    add_session(parser)
    add_policy(parser)
    add_tools(parser)
    add_file(parser)


def run(options: argparse.Namespace) -> int:
    """Make the call; print its outcome."""
    from whence.cli.arguments import read_call

    perform = _perform if options.file is None else _perform_in
    outcome = asyncio.run(perform(options, read_call(options.tool, options.arguments)))
    print_outcome(outcome)
    if outcome.fault and "closest" in outcome.fault.details and options.file is None:
        _point_to_catalog(options)
    return 0 if outcome.ok else 1


def _point_to_catalog(options: argparse.Namespace) -> None:
    """Say where a tool is that was looked for in the wrong place."""
    from whence.catalogs import Catalogs

    for name, tools in Catalogs().items():
        if name != options.catalog and any(tool.name == options.tool for tool in tools):
            print(f"{options.tool} is in the catalog {name}: add --catalog {name}", file=sys.stderr)


async def _perform(options: argparse.Namespace, call: Call) -> Outcome:
    import msgspec

    from whence.cli.approve import terminal_approver
    from whence.cli.options import policy_of, tools_of, workspace_of
    from whence.declare.toolbox import Toolbox
    from whence.errors import Unavailable
    from whence.loop.session import Session
    from whence.shapes.call import Fault, Outcome

    workspace, tools = workspace_of(options), tools_of(options)
    policy = policy_of(options, Toolbox(tools))
    try:
        session = Session(
            workspace, tools, policy=policy, session=options.session, approver=terminal_approver()
        )
    except Unavailable as error:
        return Outcome("", options.session or "", call.tool, fault=Fault.of(error))
    try:
        outcome = await session.perform(call)
    except BaseException:
        session.close("interrupted")
        raise
    try:
        # A journal that was named is left open for the next call; one of our own ends here.
        session.close(None if options.session else "done")
    except Unavailable as error:
        outcome = msgspec.structs.replace(outcome, warnings=(*outcome.warnings, error.message))
    return outcome


async def _perform_in(options: argparse.Namespace, call: Call) -> Outcome:
    """Make the call with the tools of an agent file: its commands, functions, agents, servers."""
    from functools import partial

    from whence.cli.approve import terminal_approver
    from whence.cli.options import policy_of, workspace_of
    from whence.loop.agent import Agent

    agent = Agent.load(
        options.file, workspace_of(options), ephemeral=True, mode=options.mode,
        session=options.session, approver=terminal_approver(),
    )  # fmt: skip
    agent.policy_for = partial(policy_of, options)
    return await agent.call(call)


def print_outcome(outcome: Outcome) -> None:
    """The outcome as JSON on stdout."""
    print_json(outcome.as_json(), indent=2)
