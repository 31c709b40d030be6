"""Where a journal ends, found out from its files: what a writer must know before it writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace

from whence.journal.head import Head, pack_head
from whence.journal.record import Record, part_name, part_numbers, records
from whence.journal.standing import OPENINGS, Standing


@dataclass(slots=True)
class Place:
    """The end of the good records of one part."""

    part: int = 1
    size: int = 0
    inode: int = 0
    events: int = 0
    """How many this part holds."""
    standing: Standing = field(default_factory=Standing)

    def follow(self, descriptor: int, stop: int) -> str | None:
        """Advance over the good records before an offset; what is wrong with the next, if it is."""
        for record in records(descriptor, self.size, stop):
            problem = self.standing.fault_in(record)
            if problem:
                return problem
            self.standing.advance(record)
            self.size = record.end
            self.events += 1
        return None

    @property
    def ends(self) -> bool:
        """Whether the last event says that the next part follows."""
        return self.standing.last_type == "rotated" and self.size > 0

    def head(self) -> bytes:
        """This place as the head remembers it."""
        now = self.standing
        return pack_head(now.seq, now.last_call, self.part, self.size, now.hash)


@dataclass(frozen=True, slots=True)
class Survey:
    """What opening a journal found."""

    place: Place
    head: Head | None
    problem: str | None = None
    """Why the current part cannot be trusted beyond `place`."""


def survey(directory: int) -> Survey:
    """Check the whole current part; the parts before it were closed and are left to `verify`."""
    head = Head.read(directory)
    last = max((n for n in part_numbers(directory) if size_of(directory, n)), default=0)
    if not last:
        gone = head is not None and head.seq > 0
        return Survey(Place(), head, f"{part_name(1)} is gone" if gone else None)
    place = Place(last)
    with opened(directory, last) as descriptor:
        status = os.fstat(descriptor)
        place.inode = status.st_ino
        first = next(records(descriptor, 0, status.st_size))
        place.standing = standing_before(first, last)
        if head and head.hash == _superseded(first):
            head = replace(head, part=0)  # the crash came between a recovery and its head
        problem = _follow_to_head(place, head, descriptor, status.st_size)
        problem = problem or place.follow(descriptor, status.st_size)
    if head and head.part > last and not problem:
        problem = f"{part_name(head.part)} is gone"
        if place.standing.last_type == "rotated":
            place = Place(last + 1)
    return Survey(place, head, problem)


def _follow_to_head(place: Place, head: Head | None, descriptor: int, size: int) -> str | None:
    if head is None or head.part != place.part:
        return None
    problem = place.follow(descriptor, min(head.size, size))
    if place.head() == pack_head(*astuple(head)):
        return None
    if problem is None and size < head.size:
        lost = head.seq - place.standing.seq
        return f"the end is missing: the head knows {lost} more events"
    return problem or "the head remembers another end: events were replaced"


def standing_before(first: Record, part: int) -> Standing:
    """Where things stood before the first record of a part, as far as it can be trusted."""
    if not first.whole or (part == 1 and first.kind not in OPENINGS):
        return Standing()
    claimed = Standing.claimed(first)
    return claimed if claimed.fault_in(first) else Standing.before(first)


def _superseded(first: Record) -> str | None:
    return first.field(b"head") if first.whole and first.kind == "recovery" else None


def size_of(directory: int, part: int) -> int:
    """The bytes of a part; 0 where it does not exist."""
    try:
        return os.stat(part_name(part), dir_fd=directory, follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


@contextmanager
def opened(directory: int, part: int) -> Iterator[int]:
    """A part, for reading."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(part_name(part), flags, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
