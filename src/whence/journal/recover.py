"""A damaged part is set aside, never repaired in place: a fresh one starts with a `recovery` event.

Every event of the old part that can still be read follows, its text unchanged, chained anew.
Numbers are never used twice: the new ones go on behind the highest that was ever known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from whence.errors import ParseError
from whence.journal.comments import load_with_comments
from whence.journal.compose import now, record_of, seal_up
from whence.journal.place import Place, Survey, opened, size_of, standing_before
from whence.journal.record import (
    NO_HASH,
    Record,
    field,
    header,
    line_at,
    natural,
    part_name,
    records,
)
from whence.journal.redact import Redactor
from whence.journal.standing import Standing
from whence.shapes.dataclass import dataclass
from whence.shapes.event import Event

_BLOCK = re.compile(rb"^```yaml\n(.*?)(?=^```|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(rb"^## [^\n`]*\n", re.MULTILINE)
_STAMP = re.compile(rb"^(?:seq|prev|hash|salvaged_from|altered): [^\n]*\n?", re.MULTILINE)
_FOREIGN = re.compile(rb'^hash: "[^\n]*\n', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Salvaged:
    seq: int
    text: bytes
    """Heading, narrative and block, without its stamp."""
    altered: bool
    """Readable, but not as it was written."""


def recover(directory: int, session: str, found: Survey) -> None:
    """Set the current part aside and start it anew with all that can be read.

    Raises:
        OSError: The fresh part could not be written; the old one is untouched.
    """
    part = found.place.part
    name = part_name(part)
    old: list[_Salvaged] = []
    line = 1
    base = _standing_after(directory, part - 1)
    if size_of(directory, part):
        with opened(directory, part) as descriptor:
            old = list(_salvage(descriptor))
            line = line_at(descriptor, found.place.size)
            if found.place.size:
                first = next(records(descriptor, 0, found.place.size))
                base.seq = Standing.claimed(first).seq
    backup = _set_aside(directory, name) if size_of(directory, part) else None
    event = _recovery(found, base, old, backup, line)
    data = _rebuilt(session, found.place, base, event, old, _highest(found, old, base))
    _replace(directory, name, data)


def _recovery(
    found: Survey, base: Standing, old: list[_Salvaged], backup: str | None, line: int
) -> Event:
    name = part_name(found.place.part)
    lost = max(0, _highest(found, old, base) - base.seq - len(old))
    last_call = max(base.last_call, found.head.last_call if found.head else 0)
    fields = {
        "from": name,
        "backup": backup,
        "reason": found.problem,
        "line": line,
        "salvaged": len(old),
        "lost": lost,
        "head": found.head.hash if found.head else NO_HASH,
        **base.as_fields(),
        "last_call": last_call,
    }
    narrative = f"{name} was damaged. What could be read of it follows; the file itself is kept."
    return Event("recovery", fields, "Recovery", narrative)


def _highest(found: Survey, old: list[_Salvaged], base: Standing) -> int:
    known = [item.seq for item in old if not item.altered]
    head = found.head
    return max([base.seq, *known, head.seq if head and head.part >= found.place.part else 0])


def _rebuilt(
    session: str, place: Place, base: Standing, event: Event, old: list[_Salvaged], highest: int
) -> bytes:
    prev = place.standing.hash if place.size else base.hash
    seq = highest + 1
    top = header(session, now(), place.part)
    record, prev = record_of(event, Redactor({}), seq, prev, top)
    fresh = [record]
    for item in old:
        seq += 1
        mark = b"altered: true\n" if item.altered else b""
        text = item.text + f"salvaged_from: {item.seq}\n".encode() + mark
        record, prev = seal_up(text, seq, prev)
        fresh.append(record)
    return b"".join(fresh)


def _salvage(descriptor: int) -> Iterator[_Salvaged]:
    for record in records(descriptor, 0, os.fstat(descriptor).st_size):
        if record.whole and Standing.claimed(record).fault_in(record) is None:
            start = record.data.find(b"## ")
            altered = record.field(b"altered") == "true"
            yield _Salvaged(record.seq, _STAMP.sub(b"", record.lead[start:]), altered)
        else:
            yield from _fragments(record)


def _fragments(record: Record) -> Iterator[_Salvaged]:
    """The readable events in a stretch of bytes that is not an intact record."""
    behind = 0
    for match in _BLOCK.finditer(record.data):
        headings = _HEADING.findall(record.data, behind, match.start())
        behind = match.end()
        block = _FOREIGN.split(match[1], maxsplit=1)[0]
        text = _STAMP.sub(b"", block)
        if _readable(text):
            heading = headings[-1] if headings else "## 00:00:00 — Salvaged\n".encode()
            seq = natural(field(b"\n" + block, b"seq"))
            yield _Salvaged(seq, heading + b"\n```yaml\n" + text, True)


def _readable(block: bytes) -> bool:
    try:
        value, _ = load_with_comments(block.decode())
    except (ParseError, UnicodeDecodeError):
        return False
    return isinstance(value, Mapping) and isinstance(value.get("type"), str)


def _standing_after(directory: int, part: int) -> Standing:
    """Where a closed part ended; the journal's beginning where there is none."""
    standing = Standing()
    if not size_of(directory, part):
        return standing
    with opened(directory, part) as descriptor:
        for record in records(descriptor, 0, os.fstat(descriptor).st_size):
            if record.offset == 0:
                standing = standing_before(record, part)
            if record.whole:
                standing.advance(record)
    return standing


def _set_aside(directory: int, name: str) -> str:
    """Give the old part its second name; the first one is taken over when the new part is ready."""
    count = 1
    while True:
        backup = f"{name}.corrupted" if count == 1 else f"{name}.corrupted.{count}"
        try:
            os.link(name, backup, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        except FileExistsError:
            if _inode(directory, backup) == _inode(directory, name):
                return backup  # an earlier attempt came this far
            count += 1
        except OSError:  # no hard links here: a crash from now on costs the salvage, not the file
            os.rename(name, backup, src_dir_fd=directory, dst_dir_fd=directory)
            return backup
        else:
            return backup


def _inode(directory: int, name: str) -> int:
    return os.stat(name, dir_fd=directory, follow_symlinks=False).st_ino


def _replace(directory: int, name: str, data: bytes) -> None:
    fresh = f"{name}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(fresh, flags, 0o600, dir_fd=directory), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, name, src_dir_fd=directory, dst_dir_fd=directory)
    os.fsync(directory)
