"""An offer, served: the official SDK speaks every version of the protocol, the offer answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from whence import __version__
from whence.errors import WhenceError
from whence.mcp.offer import Offer

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions
    from mcp.server.session import ServerSession

    Context = ServerRequestContext[Any, Any]

T = TypeVar("T")
_WATCH_S = 2.0
_ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow this call once"}},
    "required": ["allow"],
}


class Publisher:
    """The server of an offer, for any number of connections.

    Args:
        offer: what is served.
        may_ask: whether the person behind a client may approve calls: where the client started
            this server, it could have allowed them itself.
    """

    def __init__(self, offer: Offer, *, may_ask: bool) -> None:
        self._offer = offer
        self._may_ask = may_ask
        self._bus = InMemorySubscriptionBus()
        self._connected: set[ServerSession] = set()
        self.server: Server[Any] = Server(
            "whence",
            version=__version__,
            instructions=offer.instructions,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.server.middleware.clear()  # spans of a tracer that nobody installed
        logging.getLogger("mcp").setLevel(logging.ERROR)  # the rest is what clients do
        self.server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        self.server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )

    def options(self) -> InitializationOptions:
        """What a client is told when it connects."""
        changes = NotificationOptions(prompts_changed=True, tools_changed=True)
        return self.server.create_initialization_options(changes)

    def answers_soon(self, tool: str) -> bool:
        """Whether calls of a tool are brief."""
        return self._offer.is_brief(tool)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Tells clients when tools or prompts change, as long as it lasts."""
        watch = asyncio.ensure_future(self._watch())
        try:
            yield
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_S)
            if self._offer.has_changed():
                await self._bus.publish(ToolsListChanged())
                await self._bus.publish(PromptsListChanged())
                telling = map(_tell_of_change, tuple(self._connected))
                await asyncio.gather(*telling, return_exceptions=True)  # some may just have gone

    async def _initialized(self, context: Context, _: object) -> None:
        session = context.session
        self._connected.add(session)
        # The SDK shows a handler no other way to learn that the connection has ended.
        session._connection.exit_stack.callback(self._connected.discard, session)

    async def _list_tools(self, _: Context, __: object) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": self._offer.tools()})

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        """What the SDK would else list all tools for, at each call over HTTP."""
        listed: list[Any] = self._offer.tools()
        return {tool["name"]: tool["inputSchema"] for tool in listed}.get(name)

    async def _list_prompts(self, _: Context, __: object) -> types.ListPromptsResult:
        return types.ListPromptsResult.model_validate({"prompts": self._offer.prompts()})

    async def _get_prompt(
        self, _: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        try:
            prompt = self._offer.prompt(params.name, params.arguments or {})
            return types.GetPromptResult.model_validate(prompt)
        except WhenceError as error:
            raise _refusal(error) from None

    async def _call_tool(self, context: Context, _: object) -> dict[str, Any]:
        caller = _Client(context, may_ask=self._may_ask)
        try:
            calling = self._offer.call(context.params or {}, caller)
            return {"resultType": "complete", **await _cancelled_once(calling, caller.leave)}
        except WhenceError as error:
            raise _refusal(error) from None
        finally:
            await caller.flush()


async def _cancelled_once(work: Coroutine[Any, Any, T], leave: Callable[[], None]) -> T:
    """The result of some work, which may still put its things away when it is cancelled.

    The SDK cancels a request again and again, until it is gone; a task of its own hears it once.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        leave()
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(task, return_exceptions=True)
        raise


async def _tell_of_change(session: ServerSession) -> None:
    with anyio.move_on_after(_WATCH_S):  # one that does not listen keeps nobody waiting
        await session.send_tool_list_changed()
        await session.send_prompt_list_changed()


def _refusal(error: WhenceError) -> MCPError:
    data = {"code": error.code, "suggestion": error.suggestion}
    return MCPError(types.INVALID_PARAMS, f"{error.message}. {error.suggestion}", data)


class _Client:
    """The client that made a request."""

    def __init__(self, context: Context, *, may_ask: bool) -> None:
        self._session = context.session
        self._wants_progress = _token(context.params) is not None
        self.can_be_asked = may_ask and _can_be_asked(context.session)
        self._sending: list[asyncio.Task[None]] = []

    def tell(self, done: float, said: str) -> None:
        if self._wants_progress:
            telling = self._session.report_progress(done, 1, said)
            self._sending.append(asyncio.ensure_future(telling))

    def leave(self) -> None:
        """Say no more: whoever cancels a request is not told what becomes of it."""
        self._wants_progress = False

    async def flush(self) -> None:
        """Let everything go out that was told, before the answer does."""
        if self._sending:
            await asyncio.gather(*self._sending, return_exceptions=True)

    async def ask(self, question: str) -> bool:
        try:
            answer = await self._session.elicit_form(question, _ANSWER)
        except (MCPError, ValueError):  # it cannot, or its answer is none
            return False
        content: Mapping[str, Any] = answer.content or {}
        return answer.action == "accept" and content.get("allow") is True


def _token(params: Mapping[str, Any] | None) -> object:
    meta = (params or {}).get("_meta")
    return meta.get("progressToken") if isinstance(meta, Mapping) else None


def _can_be_asked(session: ServerSession) -> bool:
    capabilities = session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if elicitation is None or not session.can_send_request:
        return False
    return elicitation.form is not None or elicitation.url is None
