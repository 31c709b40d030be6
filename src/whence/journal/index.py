"""Which calls of a part touched which path: derived from the log, never trusted over it.

A closed part keeps its index in a file beside it, so that a question about one path need not read
the whole part. An index that does not fit its part is ignored and built again in memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from whence.errors import ParseError
from whence.journal.blocks import blocks
from whence.journal.comments import load_with_comments
from whence.journal.place import opened
from whence.journal.record import END
from whence.journal.record import field as key
from whence.journal.standing import OUTCOMES


class Touch(msgspec.Struct, array_like=True):
    """A call that touched a path: where it stands, and where its outcome does (-1: not here)."""

    offset: int
    line: int
    outcome: int = -1


class Index(msgspec.Struct):
    """The touches of one part by path, and the outcomes of calls that an earlier part holds."""

    size: int
    hash: str
    touches: dict[str, list[Touch]]
    late: dict[str, int]


@dataclass(slots=True)
class Indexer:
    """Builds an index, one event after the other."""

    touches: dict[str, list[Touch]] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    _open: dict[str, list[Touch]] = field(default_factory=dict)

    def call(self, call_id: str, paths: list[str], offset: int, line: int) -> None:
        """Take a call into account."""
        touch = Touch(offset, line)
        self._open.setdefault(call_id, []).append(touch)
        for path in paths:
            self.touches.setdefault(path, []).append(touch)

    def outcome(self, call_id: str, offset: int) -> None:
        """Take an outcome into account."""
        calls = self._open.pop(call_id, None)
        if calls is None:
            self.late[call_id] = offset
        for touch in calls or ():
            touch.outcome = offset

    def index(self, size: int, digest: str) -> Index:
        """The index of a part of that size that ends with that hash."""
        return Index(size, digest, self.touches, self.late)


def paths_of(block: bytes) -> list[str]:
    """The paths of a call: its `paths`, or where a person wrote the log, the argument `path`."""
    start = block.find(b"\npaths: [")
    if start < 0:
        path = key(block, b"  path")
        return [path] if path else []
    line = block[start + 8 : block.find(b"\n", start + 8)]
    if b'"' not in line:
        inner = line[1:-1].decode("utf-8", "replace")
        return inner.split(", ") if inner else []
    try:
        value = load_with_comments(line.decode("utf-8", "replace"))[0]
    except ParseError:
        return []  # damaged, which `verify` reports
    return [str(path) for path in value] if isinstance(value, list) else []


def index_name(part: int) -> str:
    """The file name of a part's index."""
    return f"session-log.{part:03d}.idx"


def write_index(directory: int, part: int) -> None:
    """Keep the index of a closed part beside it.

    Raises:
        OSError: There is no room for it.
    """
    data = msgspec.json.encode(_build(directory, part))
    fresh = f"{index_name(part)}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(fresh, flags, 0o600, dir_fd=directory), "wb") as file:
        file.write(data)
    os.replace(fresh, index_name(part), src_dir_fd=directory, dst_dir_fd=directory)


def index_of(directory: int, part: int) -> Index:
    """The index of a part: the kept one where it fits, else a new one."""
    kept = stored_index(directory, part)
    with opened(directory, part) as descriptor:
        size = os.fstat(descriptor).st_size
        if kept and (kept.size, kept.hash) == (size, _last_hash(descriptor, size)):
            return kept
    return _build(directory, part)


def stored_index(directory: int, part: int) -> Index | None:
    """The kept index of a part, unchecked."""
    try:
        descriptor = os.open(index_name(part), os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        try:
            return msgspec.json.decode(file.read(), type=Index)
        except msgspec.MsgspecError:
            return None


def _build(directory: int, part: int) -> Index:
    indexer = Indexer()
    with opened(directory, part) as descriptor:
        size = os.fstat(descriptor).st_size
        for block in blocks(descriptor, 0, size):
            kind, call_id = key(block.text, b"type"), key(block.text, b"call_id") or ""
            if kind == "tool_call":
                indexer.call(call_id, paths_of(block.text), block.offset, block.line)
            elif kind in OUTCOMES:
                indexer.outcome(call_id, block.offset)
        return indexer.index(size, _last_hash(descriptor, size))


def _last_hash(descriptor: int, size: int) -> str:
    start = max(0, size - len(END) - 64)
    return os.pread(descriptor, 64, start).decode("ascii", "replace")


def touching(index: Index, path: str) -> Mapping[int, Touch]:
    """The calls that touched a path, or anything below it, by offset and in order."""
    below = "" if path == "." else f"{path}/"
    found = {
        touch.offset: touch
        for name, touches in index.touches.items()
        if name == path or name.startswith(below)
        for touch in touches
    }
    return dict(sorted(found.items()))
