"""`whence tools`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from whence.cli.options import PROTOCOLS, add_workspace
from whence.cli.text import print_json

if TYPE_CHECKING:
    from whence.declare.toolbox import Mounted
    from whence.shapes.tool import Tool

EXAMPLE = """\
examples:
  whence tools
  whence tools agent.chatmd       the tools that an agent file declares
  whence tools fs.read            one tool, with its schemas and examples
  whence tools --mode ask --json  what a mode leaves, for a program
  whence tools --as anthropic     as one provider is sent them
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "name", metavar="FILE|NAME", nargs="?", help="an agent file, or a tool to show in full"
    )
    parser.add_argument("--catalog", metavar="NAME", help="only the tools of this catalog")
    parser.add_argument("--mode", metavar="NAME", help="only the tools that this mode has")
    parser.add_argument("--json", action="store_true", help="print JSON, schemas included")
    parser.add_argument(
        "--as",
        dest="protocol",
        choices=PROTOCOLS,
        help="print the tools as this protocol sends them",
    )
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """List the tools."""
    mounted, single = _chosen(options)
    if options.protocol:
        from whence.loop.request import show_tools

        print(show_tools(mounted, options.protocol))
        return 0
    if options.json or single:
        listed = [_as_json(item) for item in mounted]
        value = listed[0] if single else listed
        print_json(value, indent=2)
        return 0
    rows = [
        (item.name, ",".join(sorted(item.tool.effects)) or "none", _first_line(item.tool))
        for item in mounted
    ]
    wide, wider = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    for name, effects, text in rows:
        print(f"{name:<{wide}}  {effects:<{wider}}  {text}")
    if not rows:
        print("whence tools: there are none", file=sys.stderr)
    return 0


def _chosen(options: argparse.Namespace) -> tuple[list[Mounted], bool]:
    """The tools to show, and whether one was asked for by name."""
    from whence.cli.options import closest_tools, load_connected, tools_of, workspace_of
    from whence.declare.toolbox import Toolbox
    from whence.errors import NotFound

    file = options.name if options.name and _is_file(options.name) else None
    declared = load_connected(file, workspace_of(options)).resolved.tools if file else None
    toolbox = Toolbox(tools_of(options) if declared is None else declared)
    if options.name and not file:
        found = toolbox.find(options.name)
        if found is None:
            hint = closest_tools(options.name, toolbox)
            raise NotFound(f"unknown tool {options.name!r}", hint)
        return [found], True
    return _of_mode(list(toolbox), options) if options.mode else list(toolbox), False


def _of_mode(listed: list[Mounted], options: argparse.Namespace) -> list[Mounted]:
    from whence.cli.options import workspace_of
    from whence.gate.mode import group_of
    from whence.loop.settings import load_mode

    groups = load_mode(workspace_of(options), options.mode).groups
    return [item for item in listed if group_of(item.tool) in (None, *groups)]


def _first_line(tool: Tool) -> str:
    return tool.description.partition("\n")[0]


def _is_file(name: str) -> bool:
    return name.endswith((".chatmd", ".md")) or "/" in name or os.path.isfile(name)


def _as_json(item: Mounted) -> dict[str, Any]:
    tool = item.tool
    return {
        "name": tool.name,
        "wire_name": item.wire,
        "aliases": list(tool.aliases),
        "description": tool.description,
        "category": tool.category,
        "effects": sorted(tool.effects),
        "source": tool.source,
        "input_schema": item.wire_schema,
        "output_schema": tool.output_schema,
        "sandbox": {
            "network": tool.sandbox.network,
            "filesystem": list(tool.sandbox.filesystem),
            "timeout_ms": tool.sandbox.timeout_ms,
        },
        "examples": [
            {"input": {**example.input, "why": example.why}, "output": example.output}
            for example in tool.examples
        ],
        "notes": tool.notes,
    }
