"""Which requests over HTTP are answered with one JSON body, and which with a stream of events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from typing import Any, TypeAlias, cast

import msgspec

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

_is_brief: ContextVar[bool] = ContextVar("is_brief", default=False)


class _Brevity:
    """True while a request is served that is answered with JSON."""

    def __bool__(self) -> bool:
        return _is_brief.get()


BREVITY = cast("bool", _Brevity())
"""For the SDK, which asks at each request, but takes one answer for all of them."""


class _Params(msgspec.Struct):
    name: str = ""
    meta: dict[str, Any] = msgspec.field(name="_meta", default_factory=dict)


class _Request(msgspec.Struct):
    method: str
    params: _Params = msgspec.field(default_factory=_Params)


def told_apart(app: App, answers_soon: Callable[[str], bool]) -> App:
    """The application, knowing what each request of a session is to be answered with.

    Nothing is streamed to one that asks for no progress, so that JSON will do, at half the cost.
    But a stream shows that a server still works, so that JSON is for tools that `answers_soon`.
    """

    async def tell(scope: Message, receive: Receive, send: Send) -> None:
        if b"mcp-session-id" in dict(scope["headers"]):
            first = await receive()
            whole = b"" if first.get("more_body") else first.get("body", b"")
            _is_brief.set(_is_soon_answered(whole, answers_soon))
            receive = _again(first, receive)
        await app(scope, receive, send)

    return tell


def _is_soon_answered(body: bytes, answers_soon: Callable[[str], bool]) -> bool:
    try:
        request = msgspec.json.decode(body, type=_Request)
    except (msgspec.DecodeError, RecursionError):
        return False
    if "progressToken" in request.params.meta:
        return False
    return request.method != "tools/call" or answers_soon(request.params.name)


def _again(first: Message, receive: Receive) -> Receive:
    """Receives what was taken out already, then the rest."""
    taken = [first]

    async def given() -> Message:
        return taken.pop() if taken else await receive()

    return given
