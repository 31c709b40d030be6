"""A server on the SDK, over stdio or HTTP, whose tools do what tests need."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from mcp.server import MCPServer
from mcp_types import CallToolResult, ImageContent, ResourceLink, TextContent

server = MCPServer("modern", version="7.1", instructions="Be kind.")
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAA"
    "BJRU5ErkJggg=="
)


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("the moon is in the wrong phase")


@server.tool(structured_output=False)
def picture() -> Any:
    """A picture of one pixel, and where there are more."""
    return CallToolResult(
        content=[
            TextContent(text="here it is"),
            ImageContent(data=PIXEL, mime_type="image/png"),
            ResourceLink(name="more", uri="https://example.org/more"),
        ]
    )


@server.tool(structured_output=False)
def long(size: int) -> str:
    """Much text."""
    return "x" * size


@server.tool(structured_output=False)
def who() -> str:
    """The process and the environment of the server."""
    return f"{os.getpid()} {os.getcwd()} {sorted(os.environ)}"


@server.tool(structured_output=False)
def sleep(seconds: float) -> str:
    """Sleep."""
    time.sleep(seconds)
    return "awake"


@server.tool(structured_output=False)
def die() -> str:
    """Die."""
    print("I am dying", file=sys.stderr, flush=True)
    os._exit(3)


@server.prompt()
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello {name}"


@server.resource("note://one")
def note() -> str:
    """A note."""
    return "one"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(
            "streamable-http",
            host="127.0.0.1",
            port=int(sys.argv[1]),
            json_response=sys.argv[2:] == ["json"],
        )
    else:
        server.run()
