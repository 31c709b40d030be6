"""`whence mcp`."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whence.cli.options import add_workspace
from whence.cli.text import print_json
from whence.shapes.glyph import visible

if TYPE_CHECKING:
    from whence.shapes.declaration import McpServer

EXAMPLE = """\
TARGET is written as in <tool mcp_server="…"/>: stdio: and a command, or an address. The program is
started, or the address asked; nothing is called.

examples:
  whence mcp 'stdio:npx -y @modelcontextprotocol/server-everything'
  whence mcp https://tools.example.org/mcp --headers-env TOOLS_HEADERS --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("target", metavar="TARGET", help="stdio:COMMAND or https://…")
    parser.add_argument(
        "--env", metavar="NAMES", default="", help="variables that a program gets, by commas"
    )
    parser.add_argument("--cwd", metavar="DIR", default="", help="where a program runs")
    parser.add_argument(
        "--headers-env", metavar="NAME", default="", help="the variable that holds headers"
    )
    parser.add_argument(
        "--network", metavar="NETWORKS", default="", help="private networks that may be asked"
    )
    parser.add_argument(
        "--timeout", metavar="TIME", default="", help="how long it may take (default: 60s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, schemas included")
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Connect, and show what there is."""
    from whence.cli.options import workspace_of
    from whence.declare.mcp import server_at

    server = server_at(
        options.target, env=options.env, cwd=options.cwd, headers_env=options.headers_env,
        network=options.network, timeout=options.timeout,
    )  # fmt: skip
    offer = asyncio.run(_offer(server, workspace_of(options)))
    if options.json:
        print_json(offer, indent=2)
    else:
        _show(offer)
    return 0


async def _offer(server: McpServer, workspace: str) -> dict[str, Any]:
    from whence.loop.servers import Servers

    servers = Servers(workspace, os.environ, patience_s=0)
    try:
        return await servers.of(server).offer()
    finally:
        await servers.close()


def _show(offer: Mapping[str, Any]) -> None:
    name = " ".join(filter(None, (offer["name"], offer["version"]))) or offer["server"]
    print(visible(f"{name}, protocol {offer['protocol']}"))
    if offer["instructions"]:
        print(visible(_first_line(offer["instructions"])))
    for what, key in (
        ("tools", "name"), ("prompts", "name"), ("resources", "uri"), ("templates", "uriTemplate"),
    ):  # fmt: skip
        listed = offer[what]
        if listed:
            print(f"\n{what}:")
            width = max(len(visible(str(each.get(key)))) for each in listed)
        for each in listed:
            about = _first_line(str(each.get("description") or each.get("title") or ""))
            print(f"  {visible(str(each.get(key))):<{width}}  {visible(about)}".rstrip())


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
