"""What programs write, shown to whoever watches a run while they still write."""

from __future__ import annotations

from codecs import getincrementaldecoder

from msgspec import structs

from whence.execute.ports import Ports
from whence.loop.news import Output
from whence.loop.scope import Scope
from whence.shapes.json import JSONObject
from whence.shapes.tool import Handler

MOST_SHOWN = 1_000_000
"""How many bytes of one call are shown live: a flood must not reach a terminal or a log."""
_decoder = getincrementaldecoder("utf-8")


def showing(handler: Handler, scope: Scope) -> Handler:
    """The handler, with the output of its programs told as news."""

    async def run(arguments: JSONObject, ports: object, /) -> object:
        assert isinstance(ports, Ports)  # noqa: S101 - the executor gives nothing else
        live = _Live(ports.call_id, scope)
        return await handler(arguments, structs.replace(ports, on_output=live.show))

    return run


class _Live:
    """The output of one call, as text; a character may come in two pieces."""

    def __init__(self, call_id: str, scope: Scope) -> None:
        self._call_id, self._scope = call_id, scope
        self._left = MOST_SHOWN
        self._decode = _decoder("replace").decode

    def show(self, output: bytes) -> None:
        if self._left <= 0:
            return
        text = self._decode(output[: self._left])
        self._left -= len(output)
        if self._left <= 0:
            text += "\n…truncated\n"
        if text:
            self._scope.emit(Output(self._call_id, text, self._scope.parent))
