"""Line endings of an edited file: taken from the diff where it knows them, else from the file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whence.work.edits.unified_place import FileLines
from whence.work.edits.unified_shapes import Hunk

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
    at_old = at_new = 0
    for run in _RUNS.finditer(hunk.signs):
        at = place + at_old
        kept = len(run[1])
        removed = hunk.old[at_old + kept : at_old + kept + run[2].count("-")]
        added = hunk.new[at_new + kept : at_new + kept + run[2].count("+")]
        new += lines[at : at + kept]
        new += _ended(lines, at + kept, removed, added)
        at_old += kept + len(removed)
        at_new += kept + len(added)
    if hunk.new_unterminated:
        new[-1] = hunk.new[-1]
    return new


def _ended(
    lines: Sequence[str], at: int, removed: Sequence[str], added: Sequence[str]
) -> list[str]:
    """Added lines with the endings of the lines that they replace, or else follow."""
    ended = []
    for index, line in enumerate(added):
        text = line.removesuffix("\r")
        old = removed[index] if index < len(removed) else line
        if old != line and old.removesuffix("\r") == text:
            ended.append(line)  # the very purpose of the change
            continue
        like = at + min(index, len(removed) - 1) if removed else max(at - 1, 0)
        ended.append(text + _cr(lines[like]) if lines else line)
    return ended
