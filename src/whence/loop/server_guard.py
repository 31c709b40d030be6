"""Holds a server's tool to what the server said of it when it was first used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whence.errors import NotFound, PermissionDenied
from whence.loop.lock import Lock, LockGuard, drift_between
from whence.loop.measure import (
    measure_definition,
    named_inside,
    pinned_definition,
    server_files,
)
from whence.shapes.declaration import McpServer
from whence.shapes.pin import Drift, Pin

if TYPE_CHECKING:
    from whence.loop.servers import Servers


class ServerGuard(LockGuard):
    """Asks the server anew before each call; a changed definition is a change of the tool.

    Args:
        lock: where the pin is.
        agent: the file that declares the server, as the lock names it.
        declared: the server.
        servers: the connections of the run.
        definition: what the model is shown of the tool, as the server worded it.
    """

    def __init__(
        self,
        lock: Lock,
        agent: str,
        declared: McpServer,
        servers: Servers,
        definition: Mapping[str, Any],
    ) -> None:
        super().__init__(lock, agent, str(definition["name"]), self._now)
        self._declared, self._servers, self._definition = declared, servers, definition
        self._shown = self._pin(definition)

    async def look(self) -> None:
        """List the server's tools anew; one that changed is not started for that."""
        trusted, files = self._trusted() or [self._shown], self._files()
        if any(is_of_server(pin, self._declared, files) for pin in trusted):
            await self._servers.of(self._declared).tools()

    def drift(self) -> Drift | None:
        """How it differs from its pin, or, before it has one, from what the model is shown."""
        now = self._now()
        if not self._trusted() and now != self._shown:
            return drift_between(self._agent, self._tool, self._shown, now)
        return super().drift()

    def confirm_definition(self) -> None:
        """Make sure that the connected server says of the tool what was trusted.

        Raises:
            PermissionDenied: it says something else since the call was let through.
        """
        if self._now() not in self._trusted():
            raise PermissionDenied(
                f"{self._tool}: its definition changed while it was being called",
                "Call it again: a person is shown the difference then.",
            )

    def _trusted(self) -> list[Pin]:
        kept = self._lock.pins().get(self._agent, {}).get(self._tool)
        accepted = self._lock.accepted.get((self._agent, self._tool))
        return [pin for pin in (kept, accepted) if pin is not None]

    def _now(self) -> Pin:
        server = self._servers.of(self._declared)
        if not server.is_connected:
            return self._pin(self._definition)
        if self._tool not in server.known:
            raise NotFound(
                f"the MCP server {server.label} does not offer {self._tool!r} any more",
                "Use another tool.",
            )
        return self._pin(server.known[self._tool])

    def _pin(self, definition: Mapping[str, Any]) -> Pin:
        return measure_definition(self._declared, definition, self._files())

    def _files(self) -> dict[str, str]:
        servers = self._servers
        files = server_files(self._declared, servers.workspace, servers.environ)
        return named_inside(files, servers.workspace)


def is_of_server(pin: Pin, declared: McpServer, files: Mapping[str, str]) -> bool:
    """Whether a pin was made of this very server: the same words, and the same program."""
    return pin.files == files and pinned_definition(pin)[0] == declared.label
