"""A server of fastmcp that echoes: `stdio`, or `sse PORT`."""

from __future__ import annotations

import sys

from fastmcp import FastMCP  # type: ignore[import-not-found]

server = FastMCP("echo")


@server.tool  # type: ignore[untyped-decorator]
async def echo(text: str) -> str:
    """Say it again."""
    return text


if sys.argv[1] == "stdio":
    server.run(show_banner=False)
else:
    server.run("http", port=int(sys.argv[2]), show_banner=False, log_level="warning")
