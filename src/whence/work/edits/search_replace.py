"""Replacing text by text: where it stands, how often, and what becomes of the file.

The text must be there, and as often as the caller says; otherwise nothing is replaced. Line endings
do not count. What is looked for is never a pattern, and what replaces it goes in as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from whence.errors import Conflict, InvalidArgs
from whence.work.edits.closest import compare
from whence.work.edits.indent import Reindent
from whence.work.edits.numbered import is_numbered
from whence.work.edits.splice import Edit, Source
from whence.work.edits.words import cut, listed

Likeness: TypeAlias = Literal["exact", "whitespace", "tokens"]
"""How the text was found: as it is, with other white space in its lines, or word by word."""
_Span: TypeAlias = tuple[int, int]
_ANY_RUN = re.compile(r"\s+")
_RUN_IN_LINE = re.compile(r"[^\S\n]*\n|[^\S\n]+")
"""White space within a line, or a newline with what stands before it."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What came of one wanted replacement."""

    count: int
    matched: Likeness


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be replaced, and how often it must be there."""

    old: str
    new: str
    times: int | None = 1
    """None: once or more, and all of them."""
    old_name: str = "old_string"
    """What the caller calls it."""
    new_name: str = "new_string"
    tolerant: bool = False
    """Whether white space may differ, where the text itself is not there as often."""


def replace(original: str, *wanted: Wanted) -> tuple[str, tuple[Replaced, ...]]:
    """The text with what is wanted replaced: in order, each in what the one before it left.

    Raises:
        InvalidArgs: There is nothing to look for, or nothing to change.
        Conflict: The text is not there, or not as often as it should be.
    """
    source = Source(original)
    done: list[Replaced] = []
    for each in wanted:
        likeness, spans = _found(source, each)
        source = source.after(_edits(source.text, each, likeness, spans))
        done.append(Replaced(len(spans), likeness))
    return source.original, tuple(done)


def _found(source: Source, wanted: Wanted) -> tuple[Likeness, list[_Span]]:
    old = wanted.old.replace("\r\n", "\n")
    _check(wanted, old)
    counts: dict[Likeness, list[_Span]] = {}
    for likeness, spans in _ladder(source.text, old, tolerant=wanted.tolerant):
        counts[likeness] = spans
        if _is_enough(source.text, old, spans, wanted.times, likeness):
            return likeness, spans
    raise _refusal(source, wanted, old, counts)


def _edits(text: str, wanted: Wanted, likeness: Likeness, spans: Sequence[_Span]) -> Sequence[Edit]:
    as_given = [Edit(start, end, wanted.new) for start, end in spans]
    if likeness == "exact":
        return as_given
    indented = [_indented(text, wanted, start, end) for start, end in spans]
    overlap = any(one.end > other.start for one, other in pairwise(indented))
    return as_given if overlap else indented


def _indented(text: str, wanted: Wanted, start: int, end: int) -> Edit:
    """The new text, its lines indented as those that it replaces are, where they tell how."""
    as_it_is = Edit(start, end, wanted.new)
    old, new = (each.replace("\r\n", "\n").split("\n") for each in (wanted.old, wanted.new))
    head = text.rfind("\n", 0, start) + 1
    whole = 0 if not text[head:start].strip() else 1
    first = start if whole else head
    found = text[first:end].split("\n")
    if not wanted.new or len(found) != len(old):
        return as_it_is
    reindent = Reindent(old[whole:], found[whole:])
    told = [reindent(line) for line in new[whole:]]
    lines = [line for line in told if line is not None]
    return Edit(first, end, "\n".join([*new[:whole], *lines])) if lines == told else as_it_is


def _check(wanted: Wanted, old: str) -> None:
    if not old:
        raise InvalidArgs(
            f"{wanted.old_name} is empty",
            "Give the text that is to be replaced, as the file has it.",
        )
    if old == wanted.new.replace("\r\n", "\n"):
        raise InvalidArgs(
            f"{wanted.old_name} and {wanted.new_name} are identical: {old[:80]!r}",
            "Nothing would change; give the text as it shall become. Line endings are kept as they "
            "are and do not count.",
        )


def _is_enough(
    text: str, old: str, spans: Sequence[_Span], times: int | None, likeness: Likeness
) -> bool:
    if times is None:
        return bool(spans)
    if len(spans) != times:
        return False
    if times > 1:
        return True
    # Found once, but in two ways that overlap: "aa" in "aaa".
    start, end = spans[0]
    return text.find(old, start + 1, end + len(old) - 1 if likeness == "exact" else None) < 0


def _ladder(text: str, old: str, *, tolerant: bool) -> Iterator[tuple[Likeness, list[_Span]]]:
    yield "exact", [(at, at + len(old)) for at in _occurrences(text, old)]
    if tolerant and old.strip():
        yield "whitespace", _Collapsed(text, keep_lines=True).find(old)
        yield "tokens", _Collapsed(text, keep_lines=False).find(old.strip())


def _occurrences(text: str, old: str) -> Iterator[int]:
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + len(old))


class _Collapsed:
    """A text with one character for each run of white space, and the way back to its places."""

    def __init__(self, text: str, *, keep_lines: bool) -> None:
        self._run = _RUN_IN_LINE if keep_lines else _ANY_RUN
        self._keep_lines = keep_lines
        self._runs: list[int] = []
        """Where each run stands in the collapsed text."""
        self._shifts = [0]
        """How much was removed up to and with each run."""
        removed = 0
        for start, end in [match.span() for match in self._run.finditer(text)]:
            self._runs.append(start - removed)
            removed += end - start - 1
            self._shifts.append(removed)
        self.text = self._collapse(text)

    def find(self, old: str) -> list[_Span]:
        """Where a text stands, whatever white space is between its words."""
        needle = self._collapse(old)
        found = _occurrences(self.text, needle)
        return [(self._start(at), self._end(at + len(needle))) for at in found]

    def _collapse(self, text: str) -> str:
        if not self._keep_lines:
            return self._run.sub(" ", text)
        return self._run.sub(lambda run: "\n" if run[0][-1] == "\n" else " ", text)

    def _start(self, place: int) -> int:
        return place + self._shifts[bisect_left(self._runs, place)]

    def _end(self, place: int) -> int:
        return place + self._shifts[bisect_right(self._runs, place - 1)]


def _refusal(
    source: Source, wanted: Wanted, old: str, counts: dict[Likeness, list[_Span]]
) -> Conflict:
    likeness, spans = next(((k, s) for k, s in counts.items() if s), ("exact", []))
    return _miscounted(source, wanted, likeness, spans) if spans else _missing(source, wanted, old)


def _missing(source: Source, wanted: Wanted, old: str) -> Conflict:
    lines = old.removesuffix("\n").split("\n")
    said, details = compare(source.text.split("\n"), lines)
    way_out = "Read the file again and copy the text exactly, white space and indentation included."
    if is_numbered(lines):
        way_out = "Leave out the line numbers that stand before the text when a file is read."
    return Conflict(
        f"No match found for {wanted.old_name} {_quoted(old)}: {said}",
        way_out,
        details={**details, "argument": wanted.old_name},
    )


def _miscounted(
    source: Source, wanted: Wanted, likeness: Likeness, spans: Sequence[_Span]
) -> Conflict:
    numbers = list(dict.fromkeys(source.line_of(start) for start, _ in spans[:100]))
    how = {"exact": "", "whitespace": ", white space aside", "tokens": ", word by word"}[likeness]
    overlaps = len(spans) == wanted.times
    matches = "1 match" if len(spans) == 1 else f"{len(spans)} matches"
    found = "matches that overlap" if overlaps else matches
    return Conflict(
        f"Found {found} for {wanted.old_name} {_quoted(wanted.old)}{how}, expected {wanted.times}: "
        f"{listed(numbers)}",
        "Add lines from above or below until it fits only where it should, or say how many are "
        "meant.",
        details={
            "reason": "ambiguous",
            "argument": wanted.old_name,
            "expected": wanted.times,
            "found": len(spans),
            "lines": numbers,
        },
    )


def _quoted(text: str) -> str:
    first, _, rest = text.strip("\n").partition("\n")
    return f"{cut(first, 80)!r}{' …' if rest else ''}"
