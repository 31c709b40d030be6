"""From an event to the bytes of its record; everything but the chain is decided here."""

from __future__ import annotations

import time
from functools import lru_cache

from whence.errors import InvalidArgs
from whence.journal.emit import emit
from whence.journal.prose import one_line, paragraphs
from whence.journal.record import END, closing, seal
from whence.journal.redact import Redactor
from whence.shapes.event import Event

_STAMPED = frozenset({"type", "timestamp", "seq", "prev", "hash", "salvaged_from", "altered"})


def compose(event: Event, redactor: Redactor) -> str:
    """The text of an event after its time of day, without secrets, up to its stamp."""
    text = _text(event)
    suspicious = redactor.suspects(text.encode())
    return _text(redactor.event(event)) if suspicious else text


def _text(event: Event) -> str:
    if not _STAMPED.isdisjoint(event.fields):
        raise InvalidArgs(
            f"an event of type {event.type!r} brings keys of the journal's own: "
            f"{', '.join(sorted(_STAMPED & event.fields.keys()))}",
            "Leave them out: the journal stamps every event itself.",
        )
    block = emit(event.fields, event.comments, kind=event.type)
    narrative = f"{paragraphs(event.narrative)}\n\n" if event.narrative else ""
    return f"{_heading(event.title)}{narrative}```yaml\n{block}"


@lru_cache(maxsize=256)
def _heading(title: str) -> str:
    return f" — {one_line(title)}\n\n"


def sealed(top: str, text: str, seq: int, prev: str) -> tuple[bytes, str]:
    """A whole record and its hash; `top` is the file's header, where it is the first one."""
    moment = now()
    lead = (
        f'{top}## {moment[11:19]}{text}timestamp: "{moment}"\nseq: {seq}\nprev: "{prev}"\nhash: "'
    ).encode()
    digest = seal(prev, lead)
    return lead + digest.encode() + END, digest


def seal_up(text: bytes, seq: int, prev: str) -> tuple[bytes, str]:
    """A whole record and its hash, given everything above its `seq`."""
    lead = text + closing(seq, prev)
    digest = seal(prev, lead)
    return lead + digest.encode() + END, digest


def now() -> str:
    """The time in UTC, to the millisecond."""
    seconds, fraction = divmod(time.time_ns(), 1_000_000_000)
    return f"{_second(seconds)}.{fraction // 1_000_000:03d}Z"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
