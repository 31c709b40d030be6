"""Two texts to a unified diff that leads exactly from one to the other."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from whence.work.edits.unified.headers import NOWHERE, quoted

_CONTEXT = 3
_SMALL = 40_000
"""Up to this many pairs of lines are compared with one another."""
_DEPTH = 12
"""How often the gaps between unique lines are searched for lines unique there."""
_UNTERMINATED = "\n\\ No newline at end of file\n"

_Block = tuple[int, int, int]
"""Start in the old lines, start in the new lines, length."""
_Change = tuple[int, int, int, int]
"""Old lines from and to, new lines from and to."""


def make(old: str | None, new: str | None, path: str) -> str:
    """A unified diff that turns `old` into `new`; empty if they are equal.

    None stands for an absent file. The diff is exact, line endings included. It is not always
    the shortest one: the cost stays close to linear.
    """
    if old == new:
        return ""
    old_lines, new_lines = _lines(old or ""), _lines(new or "")
    if not old_lines and not new_lines:
        what = "new" if old is None else "deleted"
        names = f"{quoted('a/' + path)} {quoted('b/' + path)}".replace("\t", "")
        return f"diff --git {names}\n{what} file mode 100644\n"
    before = NOWHERE if old is None else quoted("a/" + path)
    after = NOWHERE if new is None else quoted("b/" + path)
    return f"--- {before}\n+++ {after}\n" + "".join(_hunks(old_lines, new_lines))


def _lines(text: str) -> list[str]:
    lines = [piece + "\n" for piece in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    group: list[_Change] = []
    for change in changes(old, new):
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield _hunk(old, new, group)
            group = []
        group.append(change)
    yield _hunk(old, new, group)


def changes(old: Sequence[str], new: Sequence[str]) -> Iterator[_Change]:
    """Which runs of lines differ: old lines from and to, new lines from and to."""
    at_old = at_new = 0
    for start_old, start_new, size in [*_equal_blocks(old, new), (len(old), len(new), 0)]:
        if (at_old, at_new) != (start_old, start_new):
            yield at_old, start_old, at_new, start_new
        at_old, at_new = start_old + size, start_new + size


def _hunk(old: Sequence[str], new: Sequence[str], changes: Sequence[_Change]) -> str:
    lead = min(_CONTEXT, changes[0][0])
    old_start, new_start = changes[0][0] - lead, changes[0][2] - lead
    tail = min(_CONTEXT, len(old) - changes[-1][1])
    old_end, new_end = changes[-1][1] + tail, changes[-1][3] + tail
    ranges = f"-{_range(old_start, old_end)} +{_range(new_start, new_end)}"
    parts = [f"@@ {ranges} @@\n"]
    at = old_start
    for from_old, to_old, from_new, to_new in changes:
        parts += _signed(" ", old[at:from_old])
        parts += _signed("-", old[from_old:to_old])
        parts += _signed("+", new[from_new:to_new])
        at = to_old
    parts += _signed(" ", old[at:old_end])
    return "".join(parts)


def _range(start: int, end: int) -> str:
    count = end - start
    first = start + 1 if count else start
    return str(first) if count == 1 else f"{first},{count}"


def _signed(sign: str, lines: Sequence[str]) -> list[str]:
    return [sign + (line if line.endswith("\n") else line + _UNTERMINATED) for line in lines]


def _equal_blocks(old: Sequence[str], new: Sequence[str]) -> list[_Block]:
    """Runs of equal lines, in the order of both texts."""
    found: list[_Block] = []
    waiting = [(0, len(old), 0, len(new), 0)]
    while waiting:
        low, high, new_low, new_high, depth = waiting.pop()
        head = _common(old[low:high], new[new_low:new_high])
        found.append((low, new_low, head))
        low, new_low = low + head, new_low + head
        tail = _common(old[low:high][::-1], new[new_low:new_high][::-1])
        high, new_high = high - tail, new_high - tail
        found.append((high, new_high, tail))
        here, there = old[low:high], new[new_low:new_high]
        anchors = _anchors(here, there) if depth < _DEPTH else []
        if anchors:
            edges = [(0, 0), *anchors, (len(here), len(there))]
            waiting += [
                (low + a, low + b, new_low + c, new_low + d, depth + 1)
                for (a, c), (b, d) in pairwise(edges)
            ]
        elif 0 < len(here) * len(there) <= _SMALL:
            blocks = SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks()
            found += [(low + a, new_low + b, size) for a, b, size in blocks]
    return sorted(block for block in found if block[2])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return index
    return min(len(one), len(other))


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Where runs of lines begin that occur once on each side, in the order of both."""
    counts, new_counts = Counter(old), Counter(new)
    where = {line: at for at, line in enumerate(new) if new_counts[line] == 1}
    pairs = [
        (at, where[line]) for at, line in enumerate(old) if counts[line] == 1 and line in where
    ]
    before, anchors = (-1, -1), []
    for at, target in _rising(pairs):
        if (at - 1, target - 1) != before:
            anchors.append((at, target))
        before = at, target
    return anchors


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second numbers rise, as the first ones do."""
    lowest: list[int] = []
    """For each length, the lowest number that ends a subsequence of it."""
    ends: list[int] = []
    """The indices of those numbers."""
    links: list[int] = []
    for index, (_, target) in enumerate(pairs):
        length = bisect_left(lowest, target)
        links.append(ends[length - 1] if length else -1)
        lowest[length : length + 1] = [target]
        ends[length : length + 1] = [index]
    chain = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = links[index]
    return chain[::-1]
