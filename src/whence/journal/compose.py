"""From an event to the bytes of its record; everything but the chain is decided here."""

from __future__ import annotations

from functools import lru_cache
from time import gmtime, strftime, time

from whence.errors import InvalidArgs
from whence.journal.emit import emit
from whence.journal.prose import one_line, paragraphs
from whence.journal.record import END, closing, seal
from whence.journal.redact import Redactor
from whence.journal.usual import call_block, result_block
from whence.shapes.event import Event

_STAMPED = frozenset({"type", "timestamp", "seq", "prev", "hash", "salvaged_from", "altered"})
_USUAL = {"tool_call": call_block, "tool_result": result_block}


def record_of(
    event: Event, redactor: Redactor, seq: int, prev: str, top: bytes = b""
) -> tuple[bytes, str]:
    """The whole record of an event, without secrets, and its hash.

    Args:
        event: What happened.
        redactor: Takes secrets out.
        seq: Its number.
        prev: The hash of the record before it.
        top: The header of the file, where it is the first one there.
    """
    text = _text(event)
    if redactor.suspects(text):
        text = _text(redactor.event(event))
    moment = now().encode()
    stamped = (top, b"## ", moment[11:19], text, b'timestamp: "', moment, b'"\n')
    return seal_up(b"".join(stamped), seq, prev)


def _text(event: Event) -> bytes:
    usual = _USUAL.get(event.type)
    block = (usual and usual(event)) or _block(event)
    why = event.narrative
    narrative = f"{paragraphs(why)}\n\n" if why else ""
    return _heading(event.title) + f"{narrative}```yaml\n{block}".encode()


def _block(event: Event) -> str:
    if not _STAMPED.isdisjoint(event.fields):
        raise InvalidArgs(
            f"an event of type {event.type!r} brings keys of the journal's own: "
            f"{', '.join(sorted(_STAMPED & event.fields.keys()))}",
            "Leave them out: the journal stamps every event itself.",
        )
    return emit(event.fields, event.comments, kind=event.type)


@lru_cache(maxsize=256)
def _heading(title: str) -> bytes:
    return f" — {one_line(title)}\n\n".encode()


def seal_up(text: bytes, seq: int, prev: str) -> tuple[bytes, str]:
    """A whole record and its hash, given everything above its `seq`."""
    lead = text + closing(seq, prev)
    digest = seal(prev, lead)
    return lead + digest.encode() + END, digest


def now() -> str:
    """The time in UTC, to the millisecond."""
    seconds, milliseconds = divmod(int(time() * 1000), 1000)
    return f"{_second(seconds)}.{milliseconds:03d}Z"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))
