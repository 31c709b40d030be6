"""`whence lock`."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from whence.cli.options import add_workspace
from whence.shapes.glyph import visible, visible_lines

if TYPE_CHECKING:
    from whence.loop.locked import Held

EXAMPLE = """\
Pins what is behind the tools of agent files in .agent/lock.yaml: programs and scripts, other agents
and Python files by their hashes, and the declarations. A run pins what it uses first, and refuses
what has changed since. Nothing of the files is run, but MCP servers are started or asked for the
definitions of their tools; a server's program that changed is started only by --update.
Exit code: 0 if everything is as it is pinned, 1 if not.

examples:
  whence lock agent.chatmd
  whence lock --update agent.chatmd
  whence lock --check prompts/*.chatmd
"""
_SIGNS = {"pinned": "✓", "new": "+", "changed": "✗", "gone": "-", "unknown": "?"}


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="agent files")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--update", action="store_true", help="accept every change")
    choice.add_argument("--check", action="store_true", help="write nothing; new tools fail, too")
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Compare, show and write."""
    from whence.cli.options import workspace_of
    from whence.loop.agent_file import load_runnable
    from whence.loop.locked import compare, compare_servers, keep

    workspace = workspace_of(options)
    held: list[Held] = []
    for path in options.files:
        agent = load_runnable(path, workspace, run_python=False)
        held += compare(agent, workspace, os.environ)
        if agent.resolved.servers:
            import asyncio

            asked = compare_servers(agent, workspace, os.environ, update=options.update)
            held += asyncio.run(asked)
    if not held:
        print("nothing to pin: every tool is built in")
    for one in held:
        _show(one, accepted=options.update)
    if not options.check:
        keep(held, workspace, update=options.update)
    return 0 if all(_is_fine(one, options) for one in held) else 1


def _is_fine(one: Held, options: argparse.Namespace) -> bool:
    if options.check:
        return one.sound
    return one.state != "unknown" and (options.update or one.state != "changed")


def _show(one: Held, *, accepted: bool) -> None:
    said = one.problem or (one.drift.reason if one.drift else one.state)
    print(visible(f"{_SIGNS[one.state]} {one.agent} {one.tool}: {said}"))
    for line in visible_lines(one.drift.difference) if one.drift else ():
        print(f"    {line}")
    if one.drift and not accepted:
        print(f"    {visible(one.drift.remedy)}")
