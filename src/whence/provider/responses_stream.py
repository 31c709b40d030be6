"""A streamed Responses answer, put together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from whence.errors import ParseError
from whence.provider.exchange import Completion, Failure
from whence.provider.failure import failure_of
from whence.provider.ids import CallIds
from whence.provider.responses_decode import claimed, completed
from whence.provider.responses_slots import CALLS, Slot, Slots, same_payload
from whence.provider.sse import SseEvent
from whence.provider.stream import CallDelta, Delta, ItemDone, ReasoningDelta, TextDelta
from whence.provider.wire import loads, mapping, objects, string
from whence.shapes.item import Item, StopReason

_WORDS = {"response.output_text.delta": "output_text", "response.refusal.delta": "refusal"}
_THOUGHTS = {
    "response.reasoning_summary_text.delta": "summary_text",
    "response.reasoning_text.delta": "reasoning_text",
    "response.reasoning.delta": "reasoning_text",
}
_ARGUMENTS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")
_WHOLE_ARGUMENTS = (
    "response.function_call_arguments.done",
    "response.custom_tool_call_input.done",
)
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class _Done(msgspec.Struct):
    """Only to learn where the entry begins and ends."""

    item: msgspec.Raw = msgspec.Raw()


class ResponsesAssembler:
    """An entry is given out when the provider says that it is done, and only once."""

    def __init__(self, ids: CallIds | None = None) -> None:
        self._ids = ids or CallIds()
        self._slots = Slots()
        self._given: dict[int, Item] = {}
        self._response: dict[str, Any] = {}
        self._ended = False
        self._failure: Failure | None = None

    def feed(self, event: SseEvent) -> list[Delta]:
        """What an event adds; kinds of events that are not known are passed over."""
        if event.data.strip() == b"[DONE]":
            return []
        try:
            value = mapping(loads(event.data))
        except ParseError as error:
            if event.whole:
                self._failure = self._failure or Failure(error.message)
            return []
        return self._take(string(value.get("type")) or event.event, value, event.data)

    def finish(self) -> tuple[list[Delta], Completion]:
        """What is left of entries that never ended, and the answer as far as it came."""
        deltas: list[Delta] = []
        items = []
        for slot in self._slots.all():
            item = self._given.get(id(slot))
            if item is None:
                left = slot.from_pieces() if self._ended_well() else slot.remains()
                item = claimed(left, self._ids) if left is not None else None
                deltas += [ItemDone(item)] if item is not None else []
            items += [item] if item is not None else []
        completion = completed(self._response, tuple(items))
        if not self._ended:
            stop = StopReason.ERROR if self._failure else StopReason.CUT
            completion = replace(completion, stop=stop, stop_word=None)
        return deltas, replace(completion, failure=self._failure or completion.failure)

    def _ended_well(self) -> bool:
        return self._ended and self._response.get("status") == "completed"

    def _take(self, kind: str, event: dict[str, Any], data: bytes) -> list[Delta]:
        if kind in _WORDS or kind in _THOUGHTS:
            return self._take_words(kind, event)
        if kind in _ARGUMENTS:
            return self._take_arguments(event)
        if kind in _WHOLE_ARGUMENTS:
            whole = string(event.get("arguments")) or string(event.get("input"))
            self._slots.of(event).replace_arguments(whole)
        elif kind == "response.output_item.added":
            entry = mapping(event.get("item"))
            self._slots.of(event, string(entry.get("id"))).announce(entry)
        elif kind == "response.output_item.done":
            return self._take_done(event, data)
        elif kind in _ENDS:
            return self._take_end(mapping(event.get("response")))
        elif kind == "error":
            self._failure = failure_of(event) or Failure("the provider reported an error")
        elif "response" in event:
            self._response = mapping(event["response"])
        return []

    def _take_words(self, kind: str, event: dict[str, Any]) -> list[Delta]:
        part = _WORDS.get(kind) or _THOUGHTS[kind]
        index = event.get("content_index", event.get("summary_index"))
        shown = self._slots.of(event).write(part, index, string(event.get("delta")))
        if not shown or part == "refusal":
            return []
        return [TextDelta(shown) if kind in _WORDS else ReasoningDelta(shown)]

    def _take_arguments(self, event: dict[str, Any]) -> list[Delta]:
        slot = self._slots.of(event)
        shown = slot.arguments.add(string(event.get("delta")))
        name = string(slot.entry.get("name"))
        return [CallDelta(self._slots.number(slot), name, shown)]

    def _take_done(self, event: dict[str, Any], data: bytes) -> list[Delta]:
        entry = mapping(event.get("item"))
        slot = self._slots.of(event, string(entry.get("id")))
        return self._settle(slot, entry, _exact(data))

    def _settle(self, slot: Slot, entry: dict[str, Any], text: str | None) -> list[Delta]:
        if slot.item is None:
            item = claimed(slot.settle(entry, text), self._ids)
            self._given[id(slot)] = item
            return [ItemDone(item)]
        if entry.get("type") in CALLS and not same_payload(slot.entry, entry):
            self._failure = Failure(
                f"the provider sent the call {slot.entry.get('call_id')!r} twice, with different"
                f" arguments: {slot.entry.get('arguments')!r} and {entry.get('arguments')!r}"
            )
        return []

    def _take_end(self, response: dict[str, Any]) -> list[Delta]:
        self._response = response or self._response
        self._ended = True
        deltas: list[Delta] = []
        for index, entry in enumerate(objects(response.get("output"))):
            entry_id = string(entry.get("id"))
            slot = self._slots.of({"item_id": entry_id, "output_index": index})
            slot.order = index
            deltas += self._settle(slot, entry, None)
        return deltas


def _exact(data: bytes) -> str | None:
    try:
        return bytes(msgspec.json.decode(data, type=_Done).item).decode() or None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
