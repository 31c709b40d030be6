"""The calls of a streamed Chat Completions answer, put together from their pieces.

Servers disagree about how the pieces of one call are recognised: by index, by id, or by nothing at
all; the id or the name may come late, be repeated with every piece, or an index be used again for
the next call. A piece belongs to the call that its index or id names, unless it evidently begins
another one.
"""

from __future__ import annotations

from typing import Any

from whence.provider.arguments import read_arguments
from whence.provider.chat_decode import argument_text
from whence.provider.stream import CallDelta
from whence.provider.wire import mapping, string


class _Growing:
    """One call while it grows."""

    __slots__ = ("extra", "free", "id", "index", "name", "pieces", "position")

    def __init__(self, position: int, index: int | None) -> None:
        self.position = position
        self.index = index
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.extra: dict[str, Any] = {}
        self.free = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def has_arguments(self) -> bool:
        return any(piece.strip() for piece in self.pieces)

    @property
    def is_whole(self) -> bool:
        """Whether nothing can be added to the arguments any more."""
        return self.has_arguments and read_arguments(self.text).arguments is not None


class GrowingCalls:
    """All calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Growing] = []

    def add(self, piece: dict[str, Any]) -> CallDelta:
        """Take a piece in, and say which call it belongs to."""
        custom = mapping(piece.get("custom"))
        body = custom or mapping(piece.get("function"))
        name = string(body.get("name"))
        text = string(body.get("input")) if custom else argument_text(body.get("arguments"))
        call = self._owner(piece, name, text)
        if text and call.id and call.id == piece.get("id") and call.is_whole:
            return CallDelta(call.position, call.name, "")
        call.free = call.free or bool(custom)
        call.id = call.id or string(piece.get("id"))
        if name and name != call.name and not call.has_arguments:
            call.name += name
        elif name and not call.name:
            call.name = name
        if text:
            call.pieces.append(text)
        known = ("index", "id", "type", "function", "custom")
        call.extra |= {key: value for key, value in piece.items() if key not in known}
        return CallDelta(call.position, call.name, text)

    def finished(self) -> list[dict[str, Any]]:
        """The calls in the form in which an unstreamed answer has them."""
        return [_as_sent(call) for call in self._calls]

    def __len__(self) -> int:
        return len(self._calls)

    def _owner(self, piece: dict[str, Any], name: str, text: str) -> _Growing:
        found = self._find(piece)
        if found is None or _begins_another(found, string(piece.get("id")), name, text):
            index = piece.get("index")
            found = _Growing(len(self._calls), index if isinstance(index, int) else None)
            self._calls.append(found)
        return found

    def _find(self, piece: dict[str, Any]) -> _Growing | None:
        index, call_id = piece.get("index"), string(piece.get("id"))
        newest_first = reversed(self._calls)
        if isinstance(index, int):
            return next((call for call in newest_first if call.index == index), None)
        last = self._calls[-1] if self._calls else None
        if call_id:
            same = next((call for call in newest_first if call.id == call_id), None)
            return same or (last if last is not None and not last.id else None)
        return last


def _begins_another(call: _Growing, call_id: str, name: str, text: str) -> bool:
    if call_id and call.id and call_id != call.id:
        return bool(name) or call.is_whole or not call.has_arguments
    if not (name and call.name and call.is_whole):
        return False
    repeated = bool(call_id) and text in ("", call.text)
    return not repeated and (bool(text.strip()) or name != call.name)


def _as_sent(call: _Growing) -> dict[str, Any]:
    if call.free:
        body = {"custom": {"name": call.name, "input": call.text}}
    else:
        body = {"function": {"name": call.name, "arguments": call.text}}
    return {"id": call.id, **body, **call.extra}
