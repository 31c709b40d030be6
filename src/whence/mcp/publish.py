"""An offer, served: the official SDK speaks every version of the protocol, the offer answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError, NoBackChannelError

from whence import __version__
from whence.errors import WhenceError
from whence.mcp.offer import Offer

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions
    from mcp.server.session import ServerSession

    Context = ServerRequestContext[Any, Any]

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
        self._connected: list[ServerSession] = []
        self.server: Server[Any] = Server(
            "whence",
            version=__version__,
            instructions=offer.instructions,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.server.middleware.clear()  # spans of a tracer that nobody installed
        self.server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )

    def options(self) -> InitializationOptions:
        """What a client is told when it connects."""
        changes = NotificationOptions(prompts_changed=True, tools_changed=True)
        return self.server.create_initialization_options(changes)

    async def watch(self) -> None:
        """Tell clients when tools or prompts change, until it is cancelled."""
        while True:
            await asyncio.sleep(_WATCH_S)
            if self._offer.has_changed():
                await self._bus.publish(ToolsListChanged())
                await self._bus.publish(PromptsListChanged())
                for session in self._connected:
                    with suppress(
                        Exception
                    ):  # one that has gone is no reason to keep others waiting
                        await session.send_tool_list_changed()
                        await session.send_prompt_list_changed()

    async def _initialized(self, context: Context, _: object) -> None:
        self._connected.append(context.session)

    async def _list_tools(self, _: Context, __: object) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": self._offer.tools()})

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

    async def _call_tool(self, context: Context, _: object) -> types.CallToolResult:
        caller = _Client(context, may_ask=self._may_ask)
        try:
            result = await self._offer.call(context.params or {}, caller)
            return types.CallToolResult.model_validate(result)
        except WhenceError as error:
            raise _refusal(error) from None
        finally:
            await caller.flush()


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

    async def flush(self) -> None:
        """Let everything go out that was told, before the answer does."""
        if self._sending:
            await asyncio.gather(*self._sending, return_exceptions=True)

    async def ask(self, question: str) -> bool:
        try:
            answer = await self._session.elicit_form(question, _ANSWER)
        except (MCPError, NoBackChannelError):
            return False
        content: Mapping[str, Any] = answer.content or {}
        return answer.action == "accept" and content.get("allow") is True


def _token(params: Mapping[str, Any] | None) -> object:
    meta = (params or {}).get("_meta")
    return meta.get("progressToken") if isinstance(meta, Mapping) else None


def _can_be_asked(session: ServerSession) -> bool:
    capabilities = session.client_capabilities
    return (
        session.can_send_request
        and capabilities is not None
        and capabilities.elicitation is not None
    )
