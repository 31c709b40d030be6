"""From an event to the bytes of its record; everything but the chain is decided here."""

from __future__ import annotations

from functools import lru_cache
from time import gmtime, strftime, time_ns

from whence.errors import InvalidArgs
from whence.journal.emit import emit
from whence.journal.prose import one_line, paragraphs
from whence.journal.record import END, closing, seal
from whence.journal.redact import Redactor
from whence.journal.usual import call_block, result_block
from whence.shapes.event import Event

_STAMPED = frozenset({"type", "timestamp", "seq", "prev", "hash", "salvaged_from", "altered"})
_LEAD = b'%b## %b%btimestamp: "%b"\nseq: %d\nprev: "%b"\nhash: "'
_USUAL = {"tool_call": call_block, "tool_result": result_block}


def compose(event: Event, redactor: Redactor) -> bytes:
    """The text of an event after its time of day, without secrets, up to its stamp."""
    text = _text(event)
    return _text(redactor.event(event)) if redactor.suspects(text) else text


def _text(event: Event) -> bytes:
    usual = _USUAL.get(event.type)
    block = (usual(event) if usual else None) or _block(event)
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


def sealed(top: bytes, text: bytes, seq: int, prev: str) -> tuple[bytes, str]:
    """A whole record and its hash; `top` is the file's header, where it is the first one."""
    moment = _moment()
    lead = _LEAD % (top, moment[11:19], text, moment, seq, prev.encode())
    digest = seal(prev, lead)
    return lead + digest.encode() + END, digest


def seal_up(text: bytes, seq: int, prev: str) -> tuple[bytes, str]:
    """A whole record and its hash, given everything above its `seq`."""
    lead = text + closing(seq, prev)
    digest = seal(prev, lead)
    return lead + digest.encode() + END, digest


def now() -> str:
    """The time in UTC, to the millisecond."""
    return _moment().decode()


def _moment() -> bytes:
    milliseconds = time_ns() // 1_000_000
    return b"%b.%03dZ" % (_second(milliseconds // 1000), milliseconds % 1000)


@lru_cache(maxsize=4)
def _second(seconds: int) -> bytes:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds)).encode()
