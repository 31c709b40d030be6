"""The journal's bytes: the names of its files, the shape of a record, and a glance into one.

A record is `lead + hash + END`. Its lead is everything since the end of the record before (in the
first record of a file that includes the file's header) up to and including `hash: "`; its hash is
the SHA-256 of the previous hash and the lead. So no byte of a file lies outside the chain.

Keys at the left margin can be read without parsing YAML: nothing else ever starts a line there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256

from whence.errors import ParseError

PROTOCOL = "EVENT-LOG/0.2"
LOG = "session-log.md"
NO_HASH = "0" * 64
END = b'"\n```\n\n---\n\n'

_PART = re.compile(r"session-log(?:\.(\d{3,}))?\.md").fullmatch
_STAMP = re.compile(
    rb'\nseq: ([1-9]\d{0,17})\nprev: "([0-9a-f]{64})"\nhash: "([0-9a-f]{64})"\n```\n\n---\n\n\Z'
)
_STAMP_WIDTH = 256
_FENCE = b"```yaml\n"
_CHUNK = 1 << 20
_ABOUT_CALLS = frozenset({"tool_call", "tool_result", "tool_error"})


def part_name(number: int) -> str:
    """The file name of a part; the first is the one that everybody knows."""
    return LOG if number == 1 else f"session-log.{number:03d}.md"


def part_numbers(directory: str | int) -> list[int]:
    """Which parts a session has, in order; given its path or a descriptor of it."""
    matches = (_PART(name) for name in os.listdir(directory))
    return sorted(int(match[1] or 1) for match in matches if match)


def header(session: str, started: str, part: int) -> bytes:
    """What stands above the first event of a part."""
    title = f"# Session Log: {session}\n\nStarted: {started}\nProtocol: {PROTOCOL}\n"
    continued = f"Continued from: {part_name(part - 1)}\n" if part > 1 else ""
    return f"{title}{continued}\n---\n\n".encode()


def seal(prev: str, lead: bytes) -> str:
    """The hash of a record, given the hash before it and its bytes up to its own."""
    return sha256(prev.encode() + lead).hexdigest()


def closing(seq: int, prev: str) -> bytes:
    """The last lines of a lead."""
    return f'seq: {seq}\nprev: "{prev}"\nhash: "'.encode()


class Record:
    """One record as it lies in a file, or bytes that should be one."""

    __slots__ = ("_fence", "call_id", "data", "hash", "kind", "offset", "prev", "seq", "whole")

    def __init__(self, offset: int, data: bytes) -> None:
        self.offset = offset
        self.data = data
        self._fence = data.find(_FENCE)
        stamp = _STAMP.search(data, max(0, len(data) - _STAMP_WIDTH))
        self.whole = stamp is not None and self._fence >= 0
        """Whether it has the shape of a record; its hash may still be wrong."""
        seq, prev, digest = stamp.groups() if stamp else (b"0", b"", b"")
        self.seq = int(seq)
        self.prev = prev.decode()
        self.hash = digest.decode()
        self.kind = field(data, b"type", self._fence) or ""
        self.call_id = self.field(b"call_id") if self.kind in _ABOUT_CALLS else ""

    @property
    def end(self) -> int:
        """The offset of the byte behind it."""
        return self.offset + len(self.data)

    @property
    def lead(self) -> bytes:
        """The bytes that its hash covers."""
        return self.data[: -len(END) - 64]

    @property
    def block(self) -> bytes:
        """Its YAML between two line breaks."""
        return self.data[self._fence + len(_FENCE) - 1 : 2 - len(END)]

    def field(self, name: bytes) -> str:
        """The string or number behind a key at the left margin; empty where there is none."""
        return field(self.data, name, self._fence) or ""


def records(descriptor: int, start: int, stop: int) -> Iterator[Record]:
    """The records between two offsets of a file; the last may be torn."""
    buffer, offset, searched, position = b"", start, 0, start
    while position < stop:
        chunk = os.pread(descriptor, min(_CHUNK, stop - position), position)
        if not chunk:
            break
        position += len(chunk)
        buffer += chunk
        done = 0
        while (found := buffer.find(END, max(done, searched))) >= 0:
            yield Record(offset + done, buffer[done : found + len(END)])
            done = found + len(END)
        buffer = buffer[done:]
        offset += done
        searched = max(0, len(buffer) - len(END))
    if buffer:
        yield Record(offset, buffer)


def field(text: bytes, name: bytes, start: int = 0) -> str | None:
    """The string or number behind a key at the left margin; None where there is none."""
    start = text.find(b"\n%b: " % name, start)
    if start < 0:
        return None
    start += len(name) + 3
    stop = text.find(b"\n", start)
    return scalar_text(text[start : stop if stop >= 0 else len(text)])


def natural(text: str | None) -> int:
    """The natural number that a text is; 0 where it is none."""
    return int(text) if text and len(text) < 20 and text.isascii() and text.isdecimal() else 0


def scalar_text(raw: bytes) -> str:
    """The text of a scalar that was written on one line."""
    text = raw.decode("utf-8", "replace")
    if text[:1] not in ('"', "'"):
        return text.strip()
    if text[0] == '"' and "\\" not in text and text.find('"', 1) == len(text) - 1:
        return text[1:-1]
    from whence.journal.comments import load_with_comments

    try:
        return str(load_with_comments(text)[0])
    except ParseError:
        return text  # damaged: the caller compares, and finds a difference


def line_at(descriptor: int, offset: int) -> int:
    """The number of the line that holds a byte of a file; the first is 1."""
    lines, position = 1, 0
    while position < offset:
        chunk = os.pread(descriptor, min(_CHUNK, offset - position), position)
        if not chunk:
            break
        lines += chunk.count(b"\n")
        position += len(chunk)
    return lines
