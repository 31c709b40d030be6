"""A server of the Model Context Protocol with one tool, on standard input and output."""

from __future__ import annotations

from mcp.server import MCPServer

server = MCPServer("counting")


@server.tool()
def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


if __name__ == "__main__":
    server.run()
