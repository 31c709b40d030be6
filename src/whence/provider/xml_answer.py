"""Answers of a model that makes its calls in text, whatever provider it speaks through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whence.provider.exchange import Completion
from whence.provider.sse import SseEvent
from whence.provider.stream import Assembler, Delta, ItemDone, TextDelta
from whence.provider.xml_stream import Definitions, XmlCallReader
from whence.shapes.item import Item, Message, StopReason, ToolCall

_CUT = (StopReason.CUT, StopReason.ERROR, StopReason.LENGTH)


class XmlAssembler:
    """Reads the calls out of the words that another assembler gives."""

    def __init__(self, inner: Assembler, definitions: Definitions) -> None:
        self._inner = inner
        self._reader = XmlCallReader(definitions)

    def feed(self, event: SseEvent) -> list[Delta]:
        """What the event adds, with calls in place of the words that are calls."""
        return self._read(self._inner.feed(event))

    def finish(self) -> tuple[list[Delta], Completion]:
        """What was held back, and the answer as far as it came."""
        rest, completion = self._inner.finish()
        deltas = self._read(rest)
        more, spoken = self._reader.finish(cut=completion.stop in _CUT)
        words = [ItemDone(item) for item in spoken if isinstance(item, Message)]
        return [*deltas, *more, *words], _with_spoken(completion, spoken)

    def _read(self, deltas: Sequence[Delta]) -> list[Delta]:
        out: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, TextDelta):
                out += self._reader.feed(delta.text)
            elif not (isinstance(delta, ItemDone) and _is_words(delta.item)):
                out.append(delta)
        return out


def with_text_calls(completion: Completion, definitions: Definitions) -> Completion:
    """An answer that came in one piece, with the calls that stand in its words."""
    reader = XmlCallReader(definitions)
    reader.feed(completion.text)
    return _with_spoken(completion, reader.finish(cut=completion.stop in _CUT)[1])


def _is_words(item: Item) -> bool:
    return isinstance(item, Message) and item.role == "assistant"


def _with_spoken(completion: Completion, spoken: Sequence[Item]) -> Completion:
    """The completion with its words replaced, where the first of them stood."""
    first = next((at for at, item in enumerate(completion.items) if _is_words(item)), 0)
    before = [item for item in completion.items[:first] if not _is_words(item)]
    behind = [item for item in completion.items[first:] if not _is_words(item)]
    calls = any(isinstance(item, ToolCall) for item in spoken)
    ended = completion.stop is StopReason.END and calls
    stop = StopReason.CALLS if ended else completion.stop
    return replace(completion, items=(*before, *spoken, *behind), stop=stop)
