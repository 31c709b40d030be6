"""One answer put together from bytes: streamed, in one piece, or a failure. Opens no socket."""

from __future__ import annotations

from collections.abc import Sequence

from whence.errors import ParseError
from whence.provider.codec import Codec
from whence.provider.exchange import Completion
from whence.provider.ids import CallIds
from whence.provider.network import Broken
from whence.provider.sse import MAX_EVENT_BYTES, SseReader
from whence.provider.stream import Assembler, Delta, ItemDone, ReasoningDelta, TextDelta
from whence.provider.xml_answer import XmlAssembler, with_text_calls
from whence.provider.xml_stream import Definitions
from whence.shapes.item import Item, Message, Reasoning

_EVENT_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
_NO_EVENT_STARTS = (b"{", b"[", b"<")
"""JSON or a page, which some servers send under the name of events."""

_LAST_DATA = b"[DONE]"
_LAST_EVENTS = frozenset(
    {"message_stop", "response.completed", "response.incomplete", "response.failed"}
)


class Incoming:
    """Reads what a server sends, whether or not it streams as it was asked to."""

    def __init__(
        self,
        codec: Codec,
        ids: CallIds,
        definitions: Definitions | None,
        status: int,
        content_type: str,
    ) -> None:
        self._codec = codec
        self._ids = ids
        self._definitions = definitions
        self._status = status
        self._kind = content_type.lower()
        self._reader = SseReader()
        self._assembler = self._new_assembler()
        self._streams = status < 300 and "event-stream" in self._kind
        self._begun = False
        self.ended = False
        """Whether the server has said that nothing follows."""
        self._body: list[bytes] = []
        self._size = 0

    @property
    def is_page(self) -> bool:
        """Whether it is something for people instead of an answer."""
        return self._status < 300 and "html" in self._kind

    def feed(self, piece: bytes) -> list[Delta]:
        """What this piece adds.

        Raises:
            Broken: There is more than any answer has.
        """
        if self._streams and not self._begun and piece.strip():
            self._begun = True
            self._streams = not piece.lstrip().startswith(_NO_EVENT_STARTS)
        if not self._streams:
            self._keep(piece)
            return []
        deltas: list[Delta] = []
        try:
            for event in self._reader.feed(piece):
                deltas += self._assembler.feed(event)
                if event.data == _LAST_DATA or event.event in _LAST_EVENTS:
                    self.ended = True
        except ParseError as error:
            raise Broken("broken", error.message) from error
        return deltas

    def finish(self) -> tuple[list[Delta], Completion]:
        """What was held back, and the answer as far as it came."""
        body = b"".join(self._body)
        if not self._streams and not self._is_stream(body):
            return self._whole(body)
        deltas: list[Delta] = []
        for event in (*self._reader.feed(body), *self._reader.close()):
            deltas += self._assembler.feed(event)
        rest, completion = self._assembler.finish()
        return deltas + rest, completion

    def _new_assembler(self) -> Assembler:
        assembler = self._codec.assembler(self._ids)
        if self._definitions is None:
            return assembler
        return XmlAssembler(assembler, self._definitions)

    def _keep(self, piece: bytes) -> None:
        self._body.append(piece)
        self._size += len(piece)
        if self._size > MAX_EVENT_BYTES:
            raise Broken("broken", f"it sent more than {MAX_EVENT_BYTES} bytes")

    def _is_stream(self, body: bytes) -> bool:
        """Whether events came under another name."""
        return self._status < 300 and body.lstrip().startswith(_EVENT_STARTS)

    def _whole(self, body: bytes) -> tuple[list[Delta], Completion]:
        completion = self._codec.decode(body, self._ids, self._status)
        if self._definitions is not None:
            completion = with_text_calls(completion, self._definitions)
        return _shown(completion.items), completion


def _shown(items: Sequence[Item]) -> list[Delta]:
    """The deltas of items that came at once."""
    deltas: list[Delta] = []
    for item in items:
        if isinstance(item, Message) and item.text:
            deltas.append(TextDelta(item.text))
        elif isinstance(item, Reasoning) and item.text:
            deltas.append(ReasoningDelta(item.text))
    return [*deltas, *map(ItemDone, items)]
