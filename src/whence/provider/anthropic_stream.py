"""A streamed Anthropic answer, put together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from whence.errors import ParseError
from whence.provider.anthropic_decode import completed, decode_block, joined, own_call, stop_of
from whence.provider.arguments import make_call
from whence.provider.exchange import Completion, Failure
from whence.provider.failure import failure_of
from whence.provider.ids import CallIds
from whence.provider.sse import SseEvent
from whence.provider.stream import (
    CallDelta,
    Delta,
    ItemDone,
    ReasoningDelta,
    TextBuffer,
    TextDelta,
)
from whence.provider.wire import dumps, loads, mapping, mend, string, text_or_none
from whence.shapes.item import Item, Opaque, Part, Reasoning, StopReason, ToolCall


class _Block:
    """A block while it grows."""

    def __init__(self, fields: dict[str, Any], call_position: int) -> None:
        self.fields = fields
        self.kind = string(fields.get("type"))
        self.call_position = call_position
        self.words = TextBuffer()
        self.words.add(string(fields.get("text")) or string(fields.get("thinking")))
        self.json: list[str] = []
        self.ended = False

    def finished(self) -> Item | Part:
        """The item or part that it is, as far as it came."""
        fields = dict(self.fields)
        written = "".join(self.json)
        if self.kind in ("text", "thinking"):
            fields[self.kind] = self.words.value
        elif self.kind == "tool_use":
            return self._call(written)
        elif written.strip():
            fields["input"] = _value(written)
        block = decode_block(fields, "assistant")
        return block if self.ended else _never_replayed(block)

    def _call(self, written: str) -> ToolCall:
        text = mend(written) if written.strip() else dumps(self.fields.get("input", {})).decode()
        head = decode_block({**self.fields, "input": {}}, "assistant")
        native = head.native if isinstance(head, ToolCall) else None
        call_id, name = string(self.fields.get("id")), string(self.fields.get("name"))
        return make_call(call_id, name, text, native=native, cut=not self.ended)


class AnthropicAssembler:
    """A call is given out when its block ends, everything else at the end of the answer."""

    def __init__(self, ids: CallIds | None = None) -> None:
        self._ids = ids or CallIds()
        self._blocks: list[_Block] = []
        self._open: dict[int, _Block] = {}
        self._given: dict[int, ToolCall] = {}
        self._answer: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._failure: Failure | None = None
        self._calls = 0

    def feed(self, event: SseEvent) -> list[Delta]:
        """What an event adds; kinds of events that are not known are passed over."""
        try:
            value = mapping(loads(event.data))
        except ParseError as error:
            if event.whole:
                self._failure = self._failure or Failure(error.message)
            return []
        match value.get("type") or event.event:
            case "content_block_delta":
                return self._take_delta(value)
            case "content_block_start":
                return self._take_start(value)
            case "content_block_stop":
                return self._take_stop(value)
            case "message_start":
                self._take_message(mapping(value.get("message")))
            case "message_delta":
                self._take_message({**mapping(value.get("delta")), "usage": value.get("usage")})
            case "error":
                self._failure = failure_of(value) or Failure("the provider reported an error")
        return []

    def finish(self) -> tuple[list[Delta], Completion]:
        """What was held back, and the answer as far as it came."""
        word = text_or_none(self._answer.get("stop_reason"))
        limited = stop_of(word) is StopReason.LENGTH
        items = joined([self._settled(block, limited=limited) for block in self._blocks])
        completion = completed({**self._answer, "usage": self._usage}, items)
        if word is None and self._failure is not None:
            completion = replace(completion, stop=StopReason.ERROR)
        given = {id(call) for call in self._given.values()}
        deltas: list[Delta] = [ItemDone(item) for item in items if id(item) not in given]
        return deltas, replace(completion, failure=self._failure)

    def _settled(self, block: _Block, *, limited: bool) -> Item | Part:
        given = self._given.get(id(block))
        if given is not None:
            return given
        item = block.finished()
        if not isinstance(item, ToolCall):
            return item
        last = block is self._blocks[-1]
        return own_call(item, self._ids, cut=limited and last and item.arguments == {})

    def _take_message(self, fields: dict[str, Any]) -> None:
        self._usage |= {k: v for k, v in mapping(fields.get("usage")).items() if v is not None}
        known = ("id", "model", "stop_reason", "container")
        self._answer |= {key: fields[key] for key in known if fields.get(key) is not None}

    def _take_start(self, value: dict[str, Any]) -> list[Delta]:
        fields = dict(mapping(value.get("content_block")))
        is_call = fields.get("type") == "tool_use"
        block = _Block(fields, self._calls if is_call else -1)
        self._calls += is_call
        self._blocks.append(block)
        index = value.get("index")
        self._open[index if isinstance(index, int) else len(self._blocks) - 1] = block
        if is_call:
            return [CallDelta(block.call_position, string(fields.get("name")), "")]
        shown = block.words.value
        if not shown:
            return []
        return [ReasoningDelta(shown) if block.kind == "thinking" else TextDelta(shown)]

    def _take_delta(self, value: dict[str, Any]) -> list[Delta]:
        delta = mapping(value.get("delta"))
        block = self._block_of(value)
        if block is None:
            return []
        match delta.get("type"):
            case "text_delta":
                shown = block.words.add(string(delta.get("text")))
                return [TextDelta(shown)] if shown else []
            case "thinking_delta":
                shown = block.words.add(string(delta.get("thinking")))
                return [ReasoningDelta(shown)] if shown else []
            case "input_json_delta":
                return self._take_json(block, string(delta.get("partial_json")))
            case "citations_delta":
                cited = [*(block.fields.get("citations") or []), delta.get("citation")]
                block.fields["citations"] = cited
            case _:
                _grow(block.fields, delta)
        return []

    def _take_json(self, block: _Block, piece: str) -> list[Delta]:
        block.json.append(piece)
        if block.kind != "tool_use":
            return []
        return [CallDelta(block.call_position, string(block.fields.get("name")), piece)]

    def _take_stop(self, value: dict[str, Any]) -> list[Delta]:
        block = self._block_of(value)
        if block is None:
            return []
        block.ended = True
        item = block.finished()
        # A call without arguments may also be one that a token limit cut off: the end will tell.
        if not isinstance(item, ToolCall) or item.arguments == {}:
            return []
        call = own_call(item, self._ids)
        self._given[id(block)] = call
        return [ItemDone(call)]

    def _block_of(self, value: dict[str, Any]) -> _Block | None:
        index = value.get("index")
        if isinstance(index, int):
            return self._open.get(index)
        return self._blocks[-1] if self._blocks else None


def _value(written: str) -> Any:
    """The value of a server's own arguments; the bare text where it is no JSON."""
    try:
        return loads(written)
    except ParseError:
        return written


def _grow(fields: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a kind of piece that is not known: texts and lists grow, anything else is replaced."""
    for key, value in delta.items():
        known = fields.get(key)
        if key == "type":
            continue
        grows = isinstance(value, str | list) and type(known) is type(value)
        fields[key] = known + value if grows else value


def _never_replayed(block: Item | Part) -> Item | Part:
    """What broke off in the middle; its provider would refuse it."""
    return replace(block, protocol="") if isinstance(block, Opaque | Reasoning) else block
