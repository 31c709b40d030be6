"""Text to `Patch`: forgiving about what surrounds a diff and about its counts, strict inside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from whence.errors import InvalidArgs
from whence.work.edits.unified.headers import NOWHERE, Headers, read_headers
from whence.work.edits.unified.shapes import Hunk, Patch
from whence.work.edits.unified.text import HOW_TO, RANGES, DiffText

_BROKEN_RANGES = re.compile(r"@@@|@@\s*[-+]\s*[0-9]")
_SIGNS = frozenset({" ", "+", "-", "\\", ""})


def parse(diff: str) -> Patch:
    """The patch that a unified diff describes.

    A fence around the diff, text before it and wrong line counts are tolerated. The names are
    not compared with anything.

    Raises:
        InvalidArgs: not a diff, malformed, or about more than one file; names the line.
    """
    text = DiffText(diff)
    headers, at = read_headers(text)
    hunks: list[Hunk] = []
    warnings: list[str] = []
    while at < len(text.lines):
        start = _start(text, at)
        body, at = _body(text, start)
        hunks.append(_hunk(text, start, len(hunks) + 1, body))
        warnings += _count_warnings(start, hunks[-1])
    return _patch(text, headers, tuple(hunks), tuple(warnings))


class _Start(NamedTuple):
    """An `@@` line, read."""

    at: int
    old: int | None = None
    old_count: int = 0
    new: int | None = None
    new_count: int = 0


class _Body(NamedTuple):
    """The lines of a hunk, each with its sign; which sides end the file without an LF."""

    lines: Sequence[str]
    signs: str
    old_ends: bool = False
    new_ends: bool = False


def _start(text: DiffText, at: int) -> _Start:
    line = text.lines[at]
    ranges = RANGES.match(line)
    if ranges:
        old, old_count, new, new_count = ranges.groups("1")
        return _Start(at, int(old), int(old_count), int(new), int(new_count))
    if _BROKEN_RANGES.match(line):
        text.refuse(at, "is not a hunk header like `@@ -12,7 +12,8 @@`")
    return _Start(at)


def _body(text: DiffText, start: _Start) -> tuple[_Body, int]:
    """The body of a hunk, and where the next hunk begins."""
    first, next_at = start.at + 1, text.next_hunk(start.at + 1)
    signs = "".join(text.signs[first:next_at])
    if _is_complete(start, signs, next_at - first):
        return _Body(text.lines[first:next_at], signs), next_at
    end = _counted_end(text, start)
    counted = end is not None
    end = end or _visible_end(text, first)
    rest = text.after_blank(end)
    goes_on = _goes_on(text, rest, prose_may_follow=counted and rest > end)
    return _tidied(text, first, end), rest if goes_on else len(text.lines)


def _is_complete(start: _Start, signs: str, lines: int) -> bool:
    """Whether everything up to the next hunk is as the counts say, with nothing special in it."""
    kept, removed, added = signs.count(" "), signs.count("-"), signs.count("+")
    return (
        kept + removed + added == lines
        and kept + removed == start.old_count
        and kept + added == start.new_count
        and start.old is not None
    )


def _counted_end(text: DiffText, start: _Start) -> int | None:
    """Where the hunk ends if its counts are right; None: they are not, or it has none."""
    if start.old is None:
        return None
    signs, at, total = text.signs, start.at + 1, len(text.lines)
    old, new = start.old_count, start.new_count
    while (old > 0 or new > 0) and at < total:
        sign = signs[at]
        if sign not in _SIGNS:
            return None
        old -= sign not in {"+", "\\"}
        new -= sign not in {"-", "\\"}
        at += 1
    if old or new:
        return None
    if at < total and signs[at] == "\\":
        at += 1
    return at if text.is_boundary(text.after_blank(at)) else None


def _visible_end(text: DiffText, first: int) -> int:
    """Where the hunk ends as far as its lines show, empty lines at its end left out."""
    end = first
    while not text.is_end(end):
        if text.signs[end] not in _SIGNS:
            text.refuse(end, "stands inside a hunk and begins with none of space, + and -")
        end += 1
    while end > first and text.lines[end - 1] in {"", "\r"}:
        end -= 1
    return end


def _goes_on(text: DiffText, at: int, *, prose_may_follow: bool) -> bool:
    """Whether another hunk follows; anything else must not be part of a diff."""
    if at >= text.ink:
        return False
    if text.lines[at].startswith("@@"):
        return True
    if text.is_file_header(at) or text.lines[at].startswith("diff --git "):
        text.refuse_second_file(at)
    if not (prose_may_follow or text.closes_fence(at) or text.is_signature(at)):
        text.refuse(at, "follows a hunk and begins with none of space, + and -")
    for later in range(at, text.ink):
        if RANGES.match(text.lines[later]) or text.is_file_header(later):
            text.refuse(at, "stands between two parts of the diff")
    return False


def _tidied(text: DiffText, first: int, end: int) -> _Body:
    """The lines with a sign each, and without their "no newline" markers."""
    body: list[str] = []
    ended: set[str] = set()
    for at in range(first, end):
        line = text.lines[at]
        if line[:1] == "\\":
            if not body:
                text.refuse(at, "follows no line whose ending it could be about")
            if line.endswith("\r"):
                # The CR came with the transport of the diff: the marker has one too.
                body[-1] = body[-1].removesuffix("\r")
            ended |= _sides(body[-1])
        elif ended and ended & _sides(line):
            text.refuse(at, "follows the line that is said to end the file")
        else:
            body.append(" " + line if line in {"", "\r"} else line)
    return _Body(body, "".join([line[0] for line in body]), "-" in ended, "+" in ended)


def _sides(line: str) -> set[str]:
    return {line[0]} if line[:1] in {"-", "+"} else {"-", "+"}


def _hunk(text: DiffText, start: _Start, number: int, body: _Body) -> Hunk:
    old = tuple([line[1:] for line in body.lines if line[0] != "+"])
    new = tuple([line[1:] for line in body.lines if line[0] != "-"])
    if old == new and body.old_ends == body.new_ends:
        text.refuse(start.at, f"begins hunk {number}, which changes nothing")
    return Hunk(
        number,
        start.at + 1,
        body.signs,
        old,
        new,
        _keys(old, unterminated=body.old_ends) if text.has_cr else old,
        _keys(new, unterminated=body.new_ends) if text.has_cr else new,
        _lines_before(start.old, start.old_count, len(old)),
        _lines_before(start.new, start.new_count, len(new)),
        body.old_ends,
        body.new_ends,
    )


def _keys(lines: tuple[str, ...], *, unterminated: bool) -> tuple[str, ...]:
    """Lines without their endings; the CR of a line without LF is part of its text."""
    keys = tuple([line.removesuffix("\r") for line in lines])
    return keys[:-1] + lines[-1:] if unterminated else keys


def _lines_before(start: int | None, said: int, count: int) -> int | None:
    """What a start means: the first line of a range, or the line before an empty one."""
    if start is None or (count == 0 and said and start):
        return None
    return max(start - 1, 0) if count else start


def _count_warnings(start: _Start, hunk: Hunk) -> list[str]:
    old, new = len(hunk.old), len(hunk.new)
    if start.old is None or (start.old_count, start.new_count) == (old, new):
        return []
    said = f"-{start.old_count} +{start.new_count}"
    place = f"hunk {hunk.number} (line {hunk.line} of the diff)"
    return [f"{place} says {said} lines and has -{old} +{new}"]


def _patch(
    text: DiffText, headers: Headers, hunks: tuple[Hunk, ...], warnings: tuple[str, ...]
) -> Patch:
    from_nowhere, to_nowhere = (name == NOWHERE for name in headers.pair or ("", ""))
    if from_nowhere and to_nowhere:
        text.refuse(headers.pair_at, "names no file, and neither does the next one")
    if not (hunks or headers.created or headers.deleted):
        _refuse_empty(text, headers)
    deletes = to_nowhere or headers.deleted
    creates = from_nowhere or headers.created or (not deletes and _can_only_create(hunks))
    for hunk in hunks:
        _check_sides(text, hunk, creates=creates, deletes=deletes)
    if creates and len(hunks) > 1:
        text.refuse(hunks[1].line - 1, "begins a second hunk, and a new file has only one")
    old, new = headers.paths()
    return Patch(old, new, hunks, creates, deletes, warnings)


def _can_only_create(hunks: Sequence[Hunk]) -> bool:
    return len(hunks) == 1 and not hunks[0].old and not hunks[0].old_at


def _check_sides(text: DiffText, hunk: Hunk, *, creates: bool, deletes: bool) -> None:
    at = hunk.line - 1
    if creates and hunk.old:
        text.refuse(at, "begins a hunk with context or removed lines, but the file is new")
    if deletes and hunk.new:
        text.refuse(at, "begins a hunk that keeps or adds lines, but the file is deleted")
    if not creates and not hunk.old and hunk.old_at is None:
        text.refuse(at, "begins a hunk that has neither context nor a usable position")


def _refuse_empty(text: DiffText, headers: Headers) -> NoReturn:
    what = "only renames or copies a file" if headers.moved else "has no @@ line and no changes"
    raise InvalidArgs(f"the diff {text.diff[:80]!r} {what}", HOW_TO)
