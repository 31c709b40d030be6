"""A journal read back: every event, or the last few, with narratives and comments.

Reads what `write` wrote and what people write by hand in the same dialect: there `seq` counts and
the date comes from `Started:` and from midnights passing. A log without events yields none.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from whence.errors import NotFound, ParseError, Unavailable
from whence.journal.blocks import Block, blocks
from whence.journal.comments import load_with_comments
from whence.journal.place import opened
from whence.journal.prose import plain
from whence.journal.record import line_at, part_name, part_numbers
from whence.shapes.call import Comment
from whence.shapes.dataclass import dataclass
from whence.shapes.event import Entry

UNREADABLE = "unreadable"
"""The type of an entry whose block is not YAML; its fields are `problem` and `text`."""

_STARTED = re.compile(rb"^Started:\s*(\d{4}-\d\d-\d\d)", re.MULTILINE)
_HEADING = re.compile(r"^##[ \t]+(.*)$", re.MULTILINE)
_TITLE = re.compile(r"(?:(\d{4}-\d\d-\d\d)[T ])?(\d\d:\d\d(?::\d\d)?)Z?\s*(?:[—–-]+\s*)?(.*)")
_TYPE = re.compile(rb"^type:", re.MULTILINE)
_TAIL = 1 << 16


def read_entries(directory: str | os.PathLike[str]) -> Iterator[Entry]:
    """Every event of a session in order, one at a time.

    Raises:
        NotFound: There is no log in that directory.
    """
    with session_directory(directory) as session:
        clock = _Clock()
        seq = 0
        for part in part_numbers(session):
            with opened(session, part) as descriptor:
                for block in blocks(descriptor, 0, os.fstat(descriptor).st_size):
                    for entry in _entries(block, part_name(part), seq, clock):
                        seq = entry.seq
                        yield entry


def last_entries(directory: str | os.PathLike[str], count: int) -> list[Entry]:
    """The last events of a session in order; reads from the end, and no more than it needs.

    Raises:
        NotFound: There is no log in that directory.
    """
    found: list[Entry] = []
    with session_directory(directory) as session:
        for part in reversed(part_numbers(session)):
            if len(found) >= count:
                break
            found = _tail(session, part, count - len(found)) + found
    return found[-count:] if count > 0 else []


@contextmanager
def session_directory(directory: str | os.PathLike[str]) -> Iterator[int]:
    """A descriptor of a session's directory.

    Raises:
        NotFound: It is not there, or holds no log.
        Unavailable: A file could not be read inside the block.
    """
    path = os.fspath(directory)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _no_log(path) from error
    try:
        if not part_numbers(descriptor):
            raise _no_log(path)
        yield descriptor
    except OSError as error:
        raise Unavailable(
            f"the log in {path} cannot be read ({error.strerror or error})",
            "Check that its files are there, are no links, and that you may read them.",
        ) from error
    finally:
        os.close(descriptor)


def _no_log(path: str) -> NotFound:
    return NotFound(
        f"there is no session log in {path}",
        "Give the directory of a session, as in .agent/sessions/<id>.",
    )


def _tail(session: int, part: int, count: int) -> list[Entry]:
    """The last events of one part, read backwards in growing pieces."""
    with opened(session, part) as descriptor:
        size = os.fstat(descriptor).st_size
        start = size
        found: list[Block] = []
        span = _TAIL
        while start > 0 and len(found) < count:
            start = _event_start(descriptor, max(0, size - span))
            found = [b for b in blocks(descriptor, start, size) if _TYPE.search(b.text)]
            if not all(b"\nseq: " in block.text for block in found):
                start = 0  # written by hand: numbers and dates depend on all that came before
            span *= 4
        line = line_at(descriptor, start)
        pieces = list(blocks(descriptor, start, size, line=line))
        clock = _Clock()
        entries: list[Entry] = []
        for block in pieces if start == 0 else pieces[-count - 1 :]:
            seq = entries[-1].seq if entries else 0
            entries.extend(_entries(block, part_name(part), seq, clock))
        return entries[-count:]


def _event_start(descriptor: int, offset: int) -> int:
    """The first heading at or behind an offset; the offset's own line if there is none near."""
    if offset == 0:
        return 0
    near = os.pread(descriptor, _TAIL, offset - 1)
    found = near.find(b"\n## ")
    return offset + found if found >= 0 else 0


@dataclass(slots=True)
class _Clock:
    """Gives times of day their dates: the day turns where the time goes back."""

    day: datetime | None = None
    last: str = ""

    def start(self, before: bytes) -> None:
        match = _STARTED.search(before)
        if match:
            self.day = datetime.strptime(match[1].decode(), "%Y-%m-%d").replace(tzinfo=UTC)

    def date(self, time: str) -> str:
        if self.day is not None and time < self.last:
            self.day += timedelta(days=1)
        self.last = time
        return f"{self.day:%Y-%m-%d}T{time}Z" if self.day else time


def _entries(block: Block, part: str, seq: int, clock: _Clock) -> Iterator[Entry]:
    clock.start(block.before)
    if b'{"type"' in block.before:
        for legacy in _json_lines(block, part, seq):
            seq = legacy.seq
            yield legacy
    if block.text and _TYPE.search(block.text):
        yield _entry(block, part, seq, clock)


def _entry(block: Block, part: str, seq: int, clock: _Clock) -> Entry:
    title, time, narrative = _words(block.before)
    inferred = clock.date(time) if "T" not in time and time else time
    fields, comments = _fields(block.text)
    if "type" not in fields or not isinstance(fields["type"], str):
        fields = {"type": UNREADABLE, **fields}
    own = fields.get("seq")
    return Entry(
        seq=own if type(own) is int else seq + 1,
        type=fields["type"],
        timestamp=str(fields.get("timestamp", inferred)),
        fields=fields,
        title=title,
        narrative=narrative,
        comments=comments,
        part=part,
        line=block.line,
    )


def _fields(text: bytes) -> tuple[Mapping[str, Any], tuple[Comment, ...]]:
    try:
        value, comments = load_with_comments(text.decode())
    except (ParseError, UnicodeDecodeError) as error:
        return _unreadable(str(error), text), ()
    if not isinstance(value, Mapping):
        return _unreadable("the block is not a mapping", text), ()
    whole = (Comment((), c.text) if c.at == ("type",) else c for c in comments)
    return value, tuple(whole)


def _unreadable(problem: str, text: bytes) -> Mapping[str, Any]:
    return {"type": UNREADABLE, "problem": problem, "text": text.decode("utf-8", "replace")}


def _words(before: bytes) -> tuple[str, str, str]:
    """Title, time and narrative from the words above a block."""
    words = before.decode("utf-8", "replace")
    headings = list(_HEADING.finditer(words))
    if not headings:
        return "", "", ""
    heading = headings[-1]
    narrative = plain(words[heading.end() :].strip("\n"))
    match = _TITLE.fullmatch(heading[1].strip())
    if match is None:
        return heading[1].strip(), "", narrative
    day, time, title = match.groups()
    time = time if len(time) == 8 else f"{time}:00"
    return title, f"{day}T{time}Z" if day else time, narrative


def _json_lines(block: Block, part: str, seq: int) -> Iterator[Entry]:
    """Events that an older dialect put on lines of their own, as JSON."""
    for number, line in enumerate(block.before.split(b"\n"), block.before_line):
        if not line.startswith(b'{"type"'):
            continue
        try:
            fields = json.loads(line)
        except ValueError:
            continue  # prose that happens to start like an event
        seq += 1
        stamp = str(fields.get("timestamp", ""))
        yield Entry(seq, str(fields["type"]), stamp, fields, "", "", (), part, number)
