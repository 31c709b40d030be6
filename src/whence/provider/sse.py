"""Server-sent events from bytes that arrive in any pieces."""

from __future__ import annotations

import re

import msgspec

from whence.errors import ParseError

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 128 * 1024 * 1024
"""More than any provider sends at once; a server that never ends a line must not fill memory."""


class SseEvent(msgspec.Struct, frozen=True):
    """One event."""

    data: bytes
    """Its data lines, joined by newlines; not decoded, so that nothing is lost here."""
    event: str = "message"
    whole: bool = True
    """False for what was left when the stream ended in the middle of an event."""


class SseReader:
    """Collects bytes and gives out the events that they complete."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._event = ""
        self._size = 0
        self._after_cr = False
        self._beginning = b""
        self._started = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that are whole now.

        Raises:
            ParseError: One event is larger than the limit.
        """
        if self._is_between_events() and chunk.endswith(b"\n\n") and b"\r" not in chunk:
            plain = self._whole_lines(chunk)
            if plain is not None:
                self._started = True
                return plain
        chunk = self._without_bom(chunk)
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        first, *rest = _LINE_END.split(chunk)
        self._keep(first)
        events = []
        for following in rest:
            done = self._end_line()
            if done is not None:
                events.append(done)
            self._keep(following)
        return events

    def _is_between_events(self) -> bool:
        inside = self._line or self._data or self._event or self._after_cr or self._beginning
        return not inside

    def _whole_lines(self, chunk: bytes) -> list[SseEvent] | None:
        """The events of a chunk that is nothing but single data lines, as most chunks are."""
        events = []
        for block in chunk[:-2].split(b"\n\n"):
            if not block.startswith(b"data: ") or b"\n" in block:
                return None
            events.append(SseEvent(block[6:]))
        return events

    def close(self) -> list[SseEvent]:
        """What is left when the stream has ended: an event without its blank line, if any."""
        cut = bool(self._line)
        if self._beginning:
            self._keep(self._beginning)
        if self._line:
            self._end_line()
        if not self._data:
            return []
        return [SseEvent(b"\n".join(self._data), self._event or "message", not cut)]

    def _without_bom(self, chunk: bytes) -> bytes:
        if self._started:
            return chunk
        seen = self._beginning + chunk
        if len(seen) < len(_BOM) and _BOM.startswith(seen):
            self._beginning = seen
            return b""
        self._started = True
        self._beginning = b""
        return seen.removeprefix(_BOM)

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._line.append(piece)
        self._size += len(piece)
        if self._size > self._max:
            raise ParseError(
                f"the server sent an event of more than {self._max} bytes",
                "Ask for a shorter answer, or check that the server really streams events.",
            )

    def _end_line(self) -> SseEvent | None:
        line = b"".join(self._line)
        self._line.clear()
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        if name != b"data":
            self._size -= len(line)
        self._field(name, value.removeprefix(b" "))
        return None

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"error":  # not in the standard; llama.cpp reports failures so
            self._event = "error"
            self._data.append(value)

    def _end_event(self) -> SseEvent | None:
        done = SseEvent(b"\n".join(self._data), self._event or "message") if self._data else None
        self._data.clear()
        self._event = ""
        self._size = 0
        return done
