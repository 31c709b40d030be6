"""The journal's bytes: the names of its files, the shape of a record, and a glance into one.

A record is `lead + hash + END`. Its lead is everything since the end of the record before (in the
first record of a file that includes the file's header) up to and including `hash: "`; its hash is
the SHA-256 of the previous hash and the lead. So no byte of a file lies outside the chain.

Keys at the left margin can be read without parsing YAML: nothing else ever starts a line there.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from whence.errors import ParseError
from whence.journal.comments import load_with_comments

PROTOCOL = "EVENT-LOG/0.2"
LOG = "session-log.md"
NO_HASH = "0" * 64
END = b'"\n```\n\n---\n\n'

_PART = re.compile(r"session-log(?:\.(\d{3,}))?\.md").fullmatch
_HASH_AT = -len(END) - 64
_HASH_LEAD = b'\nhash: "'
_FENCE = b"```yaml\n"
_CHUNK = 1 << 20


def part_name(number: int) -> str:
    """The file name of a part; the first is the one that everybody knows."""
    return LOG if number == 1 else f"session-log.{number:03d}.md"


def part_numbers(directory: str | int) -> list[int]:
    """Which parts a session has, in order; given its path or a descriptor of it."""
    matches = (_PART(name) for name in os.listdir(directory))
    return sorted(int(match[1] or 1) for match in matches if match)


def header(session: str, started: str, part: int) -> str:
    """What stands above the first event of a part."""
    title = f"# Session Log: {session}\n\nStarted: {started}\nProtocol: {PROTOCOL}\n"
    continued = f"Continued from: {part_name(part - 1)}\n" if part > 1 else ""
    return f"{title}{continued}\n---\n\n"


def seal(prev: str, lead: bytes) -> str:
    """The hash of a record, given the hash before it and its bytes up to its own."""
    return hashlib.sha256(prev.encode() + lead).hexdigest()


def closing(seq: int, prev: str) -> bytes:
    """The last lines of a lead."""
    return f'seq: {seq}\nprev: "{prev}"\nhash: "'.encode()


class Record(NamedTuple):
    """One record as it lies in a file."""

    offset: int
    data: bytes

    @property
    def end(self) -> int:
        """The offset of the byte behind it."""
        return self.offset + len(self.data)

    @property
    def whole(self) -> bool:
        """Whether it has the shape of a record; its hash may still be wrong."""
        data = self.data
        framed = data.endswith(END) and data[_HASH_AT - len(_HASH_LEAD) : _HASH_AT] == _HASH_LEAD
        return framed and _FENCE in data

    @property
    def lead(self) -> bytes:
        """The bytes that its hash covers."""
        return self.data[:_HASH_AT]

    @property
    def hash(self) -> str:
        """The hash that it states."""
        return self.data[_HASH_AT : -len(END)].decode("ascii", "replace")

    @property
    def block(self) -> bytes:
        """Its YAML, with the line break before it."""
        return self.data[self.data.find(_FENCE) + len(_FENCE) - 1 : 2 - len(END)]


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


def field(block: bytes, name: bytes) -> str | None:
    """The string or number behind a key at the left margin, given the line break before it."""
    start = block.find(b"\n" + name + b": ")
    if start < 0:
        return None
    start += len(name) + 3
    stop = block.find(b"\n", start)
    return scalar_text(block[start : stop if stop >= 0 else len(block)])


def number(block: bytes, name: bytes) -> int:
    """The natural number behind a key at the left margin; -1 where there is none."""
    text = field(block, name)
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 20 else -1


def scalar_text(raw: bytes) -> str:
    """The text of a scalar that was written on one line."""
    text = raw.decode("utf-8", "replace").strip()
    if text[:1] not in ('"', "'"):
        return text
    if text[0] == '"' and "\\" not in text and text.find('"', 1) == len(text) - 1:
        return text[1:-1]
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
