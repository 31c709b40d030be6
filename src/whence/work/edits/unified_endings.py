"""Line endings of an edited file: taken from the diff where it knows them, else from the file."""

from __future__ import annotations

from collections.abc import Sequence

from whence.work.edits.unified_place import FileLines
from whence.work.edits.unified_shapes import Hunk


def edited(file: FileLines, hunks: Sequence[Hunk], places: Sequence[int]) -> str:
    """The content with every hunk applied at its place."""
    last_cr = _ending_not_written(file)
    lines = [*file.pieces[:-1], file.pieces[-1] + last_cr] if last_cr else file.pieces
    result: list[str] = []
    done, terminated = 0, file.terminated
    for hunk, place in zip(hunks, places, strict=True):
        lead, tail = hunk.context
        end = place + len(hunk.old)
        exact = _knows_endings(file, hunk, place)
        new = hunk.new if exact else _adapted(lines, hunk, place)
        result += lines[done : place + lead]
        result += new[lead : len(new) - tail]
        done = end - tail
        if done == len(lines):
            terminated = _terminated(hunk, exact=exact, before=terminated)
            last_cr = _cr(new[-1]) if new and not (exact or hunk.new_unterminated) else ""
    result += lines[done:]
    if not terminated and last_cr:
        result[-1] = result[-1].removesuffix("\r")
    return joined(result, terminated=terminated)


def joined(lines: Sequence[str], *, terminated: bool) -> str:
    """Lines without LF as text."""
    return "\n".join(lines) + ("\n" if terminated and lines else "")


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
    for line in reversed(hunk.body):
        if line[0] == "+":
            return True
        if line[0] == " ":
            break
    return False


def _adapted(lines: Sequence[str], hunk: Hunk, place: int) -> list[str]:
    """The new lines of the hunk: context as in the file, added ones ending like neighbours."""
    new: list[str] = []
    removed: list[str] = []
    added: list[str] = []
    at = place
    for line in (*hunk.body, " "):
        if line[0] == "-":
            removed.append(line[1:])
        elif line[0] == "+":
            added.append(line[1:])
        else:
            new += _ended(lines, at, removed, added)
            at += len(removed)
            new += lines[at : at + 1]
            at += 1
            removed, added = [], []
    new = new[: len(hunk.new)]
    if hunk.new_unterminated:
        new[-1] = hunk.new[-1]
    return new


def _ended(lines: Sequence[str], at: int, removed: list[str], added: list[str]) -> list[str]:
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
