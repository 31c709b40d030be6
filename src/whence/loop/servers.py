"""The MCP servers of a run: one connection each, whichever agents name them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from whence.declare.mcp import endpoint, headers
from whence.loop.measure import server_files
from whence.loop.server_secrets import discretion
from whence.shapes.declaration import McpServer
from whence.shapes.web import host_policy

if TYPE_CHECKING:
    from whence.mcp.server import Server
    from whence.mcp.transport import Transport

PATIENCE_S = 30.0
"""Programs may have to be fetched before they start."""
_INHERITED = ("PATH", "HOME", "LANG", "USER", "LOGNAME", "TMPDIR")
"""What a server's program sees of our environment, besides what its declaration names."""


class Servers:
    """Connects when a tool is first needed; `close` ends every connection and program.

    Args:
        workspace: where programs run, unless they declare another directory below it.
        environ: where the variables come from that declarations name.
        patience_s: how long connecting may take even where a call may not take as long.
    """

    def __init__(
        self, workspace: str, environ: Mapping[str, str], patience_s: float | None = None
    ) -> None:
        self.workspace, self.environ = workspace, environ
        self._patience_s = PATIENCE_S if patience_s is None else patience_s
        self._open: dict[McpServer, Server] = {}

    def of(self, declared: McpServer) -> Server:
        """The server that a declaration names; it need not be connected yet."""
        from whence.mcp.server import Server

        key = replace(declared, include=None, strict=False, timeout_ms=0)
        if key not in self._open:
            make = self._program if declared.transport == "stdio" else self._address
            answer_s = declared.timeout_ms / 1000
            ready_s = max(answer_s, self._patience_s)
            ways = partial(make, declared)
            discreet = discretion(declared, self.environ)
            self._open[key] = Server(
                declared.label, ways, ready_s=ready_s, answer_s=answer_s, discreet=discreet
            )
        return self._open[key]

    async def close(self) -> None:
        """End all of them, at the same time."""
        servers = list(self._open.values())
        self._open.clear()
        await asyncio.gather(*(server.close() for server in servers))

    def _program(self, declared: McpServer) -> Transport:
        from whence.execute.dialogue import Dialogue
        from whence.mcp.pipes import Pipes

        path = next(iter(server_files(declared, self.workspace, self.environ)))
        cwd = os.path.join(os.path.abspath(self.workspace), declared.cwd or "")
        seen = (*_INHERITED, *declared.env)
        env = {name: self.environ[name] for name in seen if name in self.environ}
        return Pipes(partial(Dialogue.start, (path, *declared.argv[1:]), cwd=cwd, env=env))

    def _address(self, declared: McpServer) -> Transport:
        from whence.execute.gateway import Gateway
        from whence.mcp.web import Web

        allow = host_policy((host_of(declared), *declared.networks))
        return Web(
            endpoint(declared, self.environ),
            headers(declared, self.environ),
            partial(Gateway, allow),
            declared.label,
        )


def host_of(declared: McpServer) -> str:
    """The host and port of a server's address."""
    parts = urlsplit(declared.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = parts.hostname or ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
