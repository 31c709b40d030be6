"""One live session with a server, in a task of its own, which the SDK's scopes demand."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from whence import __version__
from whence.errors import ExecutionFailed, Unavailable, WhenceError
from whence.mcp import faults

if TYPE_CHECKING:
    from pydantic import BaseModel

    from mcp import Client
    from whence.mcp.transport import Transport

T = TypeVar("T")
_MOST_PAGES, _MOST_ENTRIES, _MOST_CHARACTERS = 1000, 10_000, 64_000_000
_GOODBYE_S = 5.0
"""How long a server may take to be left."""
_LOST = ("SSE stream", "Connection closed", "Session terminated")
"""How the SDK begins to say that no answer will come; servers use its codes for other things."""
_FORGOTTEN = -32600
"""Of an address, when it does not know the session any more."""


@lru_cache(maxsize=1)
def load_sdk() -> None:
    """Import the SDK, once; what it logs is not for the terminal.

    Raises:
        Unavailable: it is not installed.
    """
    try:
        import mcp.client.streamable_http  # noqa: F401
    except ImportError as error:
        raise Unavailable(
            f"the SDK for MCP servers cannot be used: {error}",
            "Install it: pip install 'mcp>=2.3,<3'.",
        ) from error
    for name in ("mcp", "client"):
        logging.getLogger(name).addHandler(logging.NullHandler())


class Connection:
    """Open after `start`, until it is closed or the server dies.

    Args:
        transport: the way to the server; it is used up.
        label: what people are shown for the server.
        legacy: whether it is greeted as servers before 2026 are, without trying more.
    """

    def __init__(self, transport: Transport, label: str, *, legacy: bool = False) -> None:
        self._transport, self._label, self._legacy = transport, label, legacy
        self._closing = asyncio.Event()
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        """Whether a request could be answered."""
        task = self._task
        return task is not None and not task.done() and not self._transport.is_over

    async def start(self) -> None:
        """Connect and agree on a version.

        Raises:
            WhenceError: It cannot be connected to.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        try:
            await ready
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Say goodbye; a program is ended."""
        self._closing.set()
        task = self._task
        if task is None:
            return
        patience = _GOODBYE_S if self._client is not None else 0
        _, late = await asyncio.wait([task], timeout=patience)
        if late:
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # it was told to whoever waited, or nobody does any more

    def about(self) -> dict[str, Any]:
        """What the server says of itself."""
        session = self._connected.session
        info = session.server_info
        return {
            "name": info.name if info else None,
            "version": info.version if info else None,
            "protocol": session.protocol_version,
            "instructions": session.instructions,
            "capabilities": _plain(self._connected.server_capabilities),
        }

    async def tools(self) -> list[dict[str, Any]]:
        """The definitions of all its tools, as it words them."""
        return await self._pages("tools/list", "tools")

    async def prompts(self) -> list[dict[str, Any]]:
        """Its prompts; none where it has none."""
        return await self._pages("prompts/list", "prompts", capability="prompts")

    async def resources(self) -> list[dict[str, Any]]:
        """Its resources; none where it has none."""
        return await self._pages("resources/list", "resources", capability="resources")

    async def templates(self) -> list[dict[str, Any]]:
        """Its templates of resources; none where it has none."""
        key = "resourceTemplates"
        return await self._pages("resources/templates/list", key, capability="resources")

    async def call(
        self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What came of a call; when this is cancelled, the server is told.

        Raises:
            WhenceError: There is no result: the server died, refused, or answered nonsense.
        """
        import mcp_types as types
        from pydantic import TypeAdapter

        noted = cast("types.RequestParamsMeta", dict(meta))
        params = types.CallToolRequestParams(name=name, arguments=dict(arguments), _meta=noted)
        answers = TypeAdapter[Any](types.CallToolResult | types.InputRequiredResult)
        session = self._connected.session
        request = types.CallToolRequest(params=params)
        result = await self._asked(name, lambda: session.send_request(request, answers))
        if isinstance(result, types.InputRequiredResult):
            raise ExecutionFailed(
                f"the MCP server {self._label} wants to ask something before it does {name!r}",
                "Give it everything in the arguments: nobody can answer it from here.",
            )
        return _plain(result)

    async def _pages(
        self, method: str, key: str, capability: str | None = None
    ) -> list[dict[str, Any]]:
        """Every page of a list."""
        if capability and not getattr(self._connected.server_capabilities, capability):
            return []
        found: list[dict[str, Any]] = []
        cursor, seen, size = None, set[str](), 0
        for _ in range(_MOST_PAGES):
            page = await self._page(method, cursor)
            found += page.get(key, ())
            cursor = page.get("nextCursor")
            if not cursor or cursor in seen or len(found) > _MOST_ENTRIES:
                break
            size += len(str(page))
            if size > _MOST_CHARACTERS:
                break
            seen.add(cursor)
        if cursor:
            raise faults.senseless(self._label, method, ValueError("its pages have no end"))
        return found

    async def _page(self, method: str, cursor: str | None) -> dict[str, Any]:
        import mcp_types as types

        session, params = self._connected.session, types.PaginatedRequestParams(cursor=cursor)
        lists: dict[str, Callable[[], Awaitable[BaseModel]]] = {
            "tools/list": lambda: session.list_tools(params=params),
            "prompts/list": lambda: session.list_prompts(params=params),
            "resources/list": lambda: session.list_resources(params=params),
            "resources/templates/list": lambda: session.list_resource_templates(params=params),
        }
        return _plain(await self._asked(method, lists[method]))

    @property
    def _connected(self) -> Client:
        assert self._client is not None  # noqa: S101 - whoever asks has started it
        return self._client

    async def _asked(self, what: str, request: Callable[[], Awaitable[T]]) -> T:
        """The answer to a request, or the error that it is."""
        from pydantic import ValidationError

        from mcp import MCPError

        try:
            return await request()
        except MCPError as error:
            raise self._fault(error.code, error.message, what) from error
        except (ValidationError, ValueError) as error:
            raise faults.senseless(self._label, what, error) from error

    def _fault(self, code: int, message: str, what: str) -> WhenceError:
        failure = self._transport.failure
        if code == faults.UNREACHABLE and failure is not None:
            return failure
        if code == faults.UNREADABLE:
            return faults.senseless(self._label, what, ValueError(message))
        lost = code in (faults.CLOSED, _FORGOTTEN) and message.startswith(_LOST)
        if lost or (code == faults.CLOSED and not self.is_alive):
            return faults.ended(self._label, f"during {what}", self._transport.last_words())
        return faults.refused(self._label, code, message)

    async def _live(self, ready: asyncio.Future[None]) -> None:
        """The connection from beginning to end."""
        try:
            await self._transport.begin()
            try:
                await asyncio.to_thread(load_sdk)
            except BaseException:
                await self._transport.abandon()
                raise
            await self._converse(ready)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(self._start_fault(error))

    async def _converse(self, ready: asyncio.Future[None]) -> None:
        from mcp import Client, Implementation

        client = Client(
            self._transport.streams(),
            client_info=Implementation(name="whence", version=__version__),
            mode="legacy" if self._legacy else "auto",
            cache=None,
        )
        async with client:
            self._client = client
            if not ready.done():
                ready.set_result(None)
            await self._closing.wait()

    def _start_fault(self, error: BaseException) -> BaseException:
        """Why there is no connection; what is no error of ours or the SDK's stays what it is."""
        if isinstance(error, WhenceError):
            return error
        from pydantic import ValidationError

        from mcp import MCPError

        found = faults.within(error)
        if isinstance(found, MCPError):
            if found.code == faults.CLOSED:
                return faults.unready(self._label, self._transport.last_words())
            if found.code in (faults.UNREACHABLE, faults.UNREADABLE):
                return self._fault(found.code, found.message, "the greeting")
            return faults.unwelcome(self._label, found.code, found.message)
        if isinstance(found, ValidationError | RuntimeError | ValueError):
            return faults.senseless(self._label, "the greeting", found)
        return found


def _plain(model: BaseModel) -> dict[str, Any]:
    """As the protocol words it."""
    dumped: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return dumped
