"""Where hunks belong in a file: the only places that fit all of them, in their order, or none.

Each hunk is put as high as it can be. If any could be put lower without moving the one after it,
the patch does not say enough; if none can, there is no second way to place them all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from whence.errors import Conflict
from whence.work.edits.coded import Coded
from whence.work.edits.fold import fold
from whence.work.edits.v4a import refuse
from whence.work.edits.v4a.anchors import Anchors, first_reach
from whence.work.edits.v4a.scopes import scope_of
from whence.work.edits.v4a.shapes import Hunk, Update

LEVELS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip, fold)
"""What is compared: lines as they are, without white space at their end, without any around them,
and as they look."""


class Spot(NamedTuple):
    """The place of a hunk."""

    start: int
    """How many lines come before it."""
    level: int
    """What had to be overlooked: an index of `LEVELS`."""


class Sought:
    """A hunk that is looked for, with what the search asks of it again and again."""

    __slots__ = ("changes_to", "hunk", "lead", "old")

    def __init__(self, hunk: Hunk) -> None:
        self.hunk = hunk
        self.old = hunk.old
        self.lead = hunk.lead
        self.changes_to = len(self.old) - hunk.tail
        """How many of its old lines come before the end of its last change."""


class Seeker:
    """Looks for the hunks of one section in the lines of a file."""

    def __init__(self, update: Update, text: str, lines: Sequence[str], hint: int = 0) -> None:
        self.path, self.lines = update.path, lines
        self._text = text
        self._hint = hint
        """A place in the text that the first odd hunk is probably close to."""
        self._sought = [Sought(hunk) for hunk in update.hunks]
        self._coded: list[Coded | None] = [None] * len(LEVELS)
        self._looks_first = True

    def spots(self, settled: Sequence[Spot] = ()) -> list[Spot]:
        """The place of each hunk, where those of the first ones are known.

        Raises:
            Conflict: A hunk has no place, or could have another one.
        """
        spots = list(settled)
        below = spots[-1].start + self._sought[len(spots) - 1].changes_to if spots else 0
        for sought in self._sought[len(spots) :]:
            spot = self._highest(sought, below)
            if spots:
                self._require_only(spots, spot.start + sought.lead)
            spots.append(spot)
            below = spot.start + sought.changes_to
        self._require_only(spots, len(self.lines))
        return spots

    def _highest(self, sought: Sought, below: int) -> Spot:
        """The first place whose changes are below those of the hunk before."""
        self._require_anchors(sought)
        start = max(below - sought.lead, 0)
        for level in self._levels(sought):
            at = self._first(sought, level, start, len(self.lines))
            if at >= 0:
                return Spot(at, level)
            earlier = self._all(sought, level, 0, start - 1) if start else []
            if earlier:
                raise refuse.out_of_order(self.path, sought.hunk, earlier)
        raise self._misfit(sought, below)

    def _require_only(self, spots: Sequence[Spot], limit: int) -> None:
        """Refuse if the last hunk could be put lower, with its last change above the limit."""
        sought, spot = self._sought[len(spots) - 1], spots[-1]
        last = limit - sought.changes_to
        if self._first(sought, spot.level, spot.start + 1, last) >= 0:
            places = self._all(sought, spot.level, spot.start, last)
            raise refuse.ambiguous(self.path, sought.hunk, places)

    def _levels(self, sought: Sought) -> Iterator[int]:
        """The levels at which the hunk can be found at all.

        Most patches fail with their first odd hunk, so that one is looked for in the plain text
        before all lines are made comparable.
        """
        looks, self._looks_first = self._looks_first and "\r" not in self._text, False
        if looks and not self._may_be_alike(sought):
            return
        if not looks or "\n".join(sought.old) in self._text:
            yield 0
        if sought.old:
            yield from range(1, len(LEVELS))

    def _may_be_alike(self, sought: Sought) -> bool:
        """Whether the longest word of each line is somewhere in the file."""
        text, hint = self._text, self._hint
        longest = (max(fold(line).split(), key=len, default="") for line in sought.old)
        return not text.isascii() or all(
            text.find(word, hint) >= 0 or word in text for word in longest
        )

    def _first(self, sought: Sought, level: int, start: int, last: int) -> int:
        """The first place from `start` to `last`; -1: there is none."""
        if not sought.old:
            return self._insertion(sought.hunk, start, last)
        run = [LEVELS[level](line) for line in sought.old] if level else sought.old
        coded = self._at(level)
        if sought.hunk.ends_file:
            start = max(start, len(self.lines) - len(run))
        if not sought.hunk.anchors:
            return coded.find(run, start, last)
        reaches = self._anchors.reaches(sought.hunk.anchors)
        # Lines above the anchor may be its context, though not all of its lines.
        above = min(sought.lead, len(run) - 1)
        for index in range(first_reach(reaches, start), len(reaches)):
            reach = reaches[index]
            low = max(start, reach.start - above)
            if low > last:
                break
            at = coded.find(run, low, min(last, reach.end))
            if at >= 0:
                return at
        return -1

    def _insertion(self, hunk: Hunk, start: int, last: int) -> int:
        """The place of a hunk that only adds: nothing but an anchor or an end can tell it."""
        if hunk.ends_file or not self.lines:
            places = [len(self.lines)]
        elif hunk.anchors and scope_of(hunk.anchors[-1]):
            raise refuse.somewhere_inside(self.path, hunk)
        elif hunk.anchors:
            places = self._anchors.insertions(hunk.anchors)
        else:
            raise refuse.unplaced(self.path, hunk)
        at = bisect_left(places, start)
        return places[at] if at < len(places) and places[at] <= last else -1

    def _all(self, sought: Sought, level: int, start: int, last: int) -> list[int]:
        """The first few places from `start` to `last`."""
        places: list[int] = []
        while len(places) < refuse.MANY and (at := self._first(sought, level, start, last)) >= 0:
            places.append(at)
            start = at + 1
        return places

    def _misfit(self, sought: Sought, below: int) -> Conflict:
        hunk = sought.hunk
        if not sought.old:
            return refuse.no_such_line(self.path, self.lines, hunk, hunk.anchors[-1])
        if hunk.ends_file or hunk.anchors:
            free = Sought(hunk._replace(ends_file=False, anchors=()))
            for level in self._levels(free):
                places = self._all(free, level, 0, len(self.lines))
                if places:
                    return refuse.elsewhere(self.path, hunk, places, len(self.lines))
        done_at = self._already(hunk)
        if done_at is not None:
            return refuse.already_applied(self.path, hunk, done_at)
        return refuse.stale(self.path, self.lines, hunk, max(below - sought.lead, 0))

    def _already(self, hunk: Hunk) -> int | None:
        """The only place that looks as if the hunk had been applied there."""
        telling = [line for sign, line in zip(hunk.signs, hunk.lines, strict=True) if sign == "+"]
        if not any(map(str.strip, telling)) or "\n".join(hunk.new) not in self._text:
            return None
        coded = Coded(self.lines, hunk.new)
        at = coded.find(hunk.new, 0, len(self.lines))
        again = coded.find(hunk.new, at + 1, len(self.lines))
        return at if at >= 0 > again else None

    def _require_anchors(self, sought: Sought) -> None:
        anchors = sought.hunk.anchors
        if not anchors or self._anchors.reaches(anchors):
            return
        for text in anchors:
            if not self._anchors.is_known(text):
                raise refuse.no_such_line(self.path, self.lines, sought.hunk, text)
        raise refuse.not_nested(self.path, sought.hunk)

    def _at(self, level: int) -> Coded:
        coded = self._coded[level]
        if coded is None:
            norm = LEVELS[level]
            wanted = map(norm, chain.from_iterable([sought.old for sought in self._sought]))
            lines = list(map(norm, self.lines)) if level else self.lines
            coded = self._coded[level] = Coded(lines, wanted)
        return coded

    @cached_property
    def _anchors(self) -> Anchors:
        return Anchors(self.lines, {sought.hunk.anchors for sought in self._sought})
