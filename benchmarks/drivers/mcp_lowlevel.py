"""A bare server of the official SDK's lower half that echoes: `stdio`, `json PORT`, `sse PORT`."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TEXT = {"type": "string"}
SCHEMA = {"type": "object", "properties": {"text": TEXT}, "required": ["text"]}


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    tool = types.Tool(name="echo", description="Say it again", input_schema=SCHEMA)
    return types.ListToolsResult(tools=[tool])


async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    text = str((params.arguments or {})["text"])
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def main() -> None:
    server: Server[Any] = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)
    if sys.argv[1] == "stdio":
        anyio.run(serve_stdio, server)
        return
    import uvicorn

    app = server.streamable_http_app(json_response=sys.argv[1] == "json")
    uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)


main()
