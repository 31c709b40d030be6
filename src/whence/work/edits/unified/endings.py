"""Line endings of an edited file: taken from the diff where it knows them, else from the file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whence.work.edits.unified.place import FileLines
from whence.work.edits.unified.shapes import Hunk

_RUNS = re.compile(r"( *)([-+]*)")
"""Context, then a change; either may be missing."""


def edited(file: FileLines, hunks: Sequence[Hunk], places: Sequence[int]) -> str:
    """The content with every hunk applied at its place."""
    last_cr = _ending_not_written(file)
    lines = [*file.pieces[:-1], file.pieces[-1] + last_cr] if last_cr else file.pieces
    result: list[str] = []
    done, terminated = 0, file.terminated
    for hunk, place in zip(hunks, places, strict=True):
        lead, tail = hunk.lead, hunk.tail
        exact = _knows_endings(file, hunk, place)
        new = hunk.new if exact else _adapted(lines, hunk, place)
        result += lines[done : place + lead]
        result += new[lead : len(new) - tail]
        done = place + len(hunk.old) - tail
        if done == len(lines):
            terminated = _terminated(hunk, exact=exact, before=terminated)
            last_cr = _cr(new[-1]) if new and not (exact or hunk.new_unterminated) else ""
    result += lines[done:]
    if not terminated and last_cr:
        result[-1] = result[-1].removesuffix("\r")
    return joined(result, terminated=terminated)


def joined(lines: Sequence[str], *, terminated: bool) -> str:
    """Lines without LF as text."""
    # An empty last line makes the LF without a second copy of the whole text.
    return "\n".join([*lines, ""] if terminated and lines else lines)


def _ending_not_written(file: FileLines) -> str:
    """The CR that the last line would have, were there an LF after it.

    It is put there while lines are added below, and taken away at the end.
    """
    if file.terminated or len(file.pieces) < 2:
        return ""
    return _cr(file.pieces[-2])


def _cr(line: str) -> str:
    return "\r" if line.endswith("\r") else ""


def _knows_endings(file: FileLines, hunk: Hunk, place: int) -> bool:
    """Whether the old lines of the diff equal those of the file, endings included."""
    end = place + len(hunk.old)
    at_end = end == len(file.pieces)
    if not hunk.old or hunk.old_unterminated != (at_end and not file.terminated):
        return False
    return file.pieces[place:end] == hunk.old


def _terminated(hunk: Hunk, *, exact: bool, before: bool) -> bool:
    """Whether an LF ends the file, after a change of its last line."""
    if hunk.new_unterminated:
        return False
    if exact or hunk.old_unterminated or before:
        return True
    return not _last_change_adds(hunk)


def _last_change_adds(hunk: Hunk) -> bool:
    last_change = hunk.signs[len(hunk.signs.rstrip("-+")) :]
    return "+" in last_change


def _adapted(lines: Sequence[str], hunk: Hunk, place: int) -> list[str]:
    """The new lines of the hunk: context as in the file, added ones ending like neighbours."""
    new: list[str] = []
    with_ending = hunk.old[:-1] if hunk.old_unterminated else hunk.old
    at_old = at_new = 0
    for run in _RUNS.finditer(hunk.signs):
        kept, removed, added = len(run[1]), run[2].count("-"), run[2].count("+")
        new += lines[place + at_old : place + at_old + kept]
        at_old, at_new = at_old + kept, at_new + kept
        new += _ended(
            hunk.new[at_new : at_new + added],
            with_ending[at_old : at_old + removed],
            lines[place + at_old : place + at_old + removed] or _neighbour(lines, place + at_old),
        )
        at_old, at_new = at_old + removed, at_new + added
    if hunk.new_unterminated:
        new[-1] = hunk.new[-1]
    return new


def _neighbour(lines: Sequence[str], at: int) -> Sequence[str]:
    """The line above, or else the one below."""
    return lines[at - 1 : at] if at else lines[:1]


def _ended(added: Sequence[str], removed: Sequence[str], like: Sequence[str]) -> list[str]:
    """Added lines that end as `like` does, unless the ending is what the diff changes."""
    ended = []
    for index, line in enumerate(added):
        text = line.removesuffix("\r")
        old = removed[index] if index < len(removed) else line
        is_change_of_ending = old != line and old.removesuffix("\r") == text
        if is_change_of_ending or not like:
            ended.append(line)
        else:
            ended.append(text + _cr(like[min(index, len(like) - 1)]))
    return ended
