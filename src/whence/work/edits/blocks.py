"""SEARCH/REPLACE blocks applied to a text: all of them, or none and the reasons.

Every block is looked for in the text as it is before the call. Its lines must be there: exactly, or
else but for white space at line ends, or else but for all differences that `fold` takes away. Its
place is the stated line if it fits there, or else the only fit; a few lines beside the stated one
will do where every other fit is far off. Lines that search and replacement share stay as the file
has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from whence.errors import Conflict, InvalidArgs
from whence.work.edits.closest import compare
from whence.work.edits.diff_blocks import Block
from whence.work.edits.indent import Reindent, lead_of
from whence.work.edits.numbered import first_number, without_numbers
from whence.work.edits.runs import MANY, Likeness, Lines
from whence.work.edits.splice import Edit, Source
from whence.work.edits.unified.make import changes
from whence.work.edits.words import listed

_NEARBY = 5
"""A stated line may be so far off, where other fits are several times as far."""
_CLEARLY = 4


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a block was applied."""

    block: Block
    """As it was applied: without line numbers that had been copied into it."""
    start: int
    """How many lines come before it."""
    matched: Likeness
    note: str | None = None
    """What was not as the block said."""

    @property
    def end(self) -> int:
        """How many lines there are up to its end."""
        return self.start + len(self.block.search)


@dataclass(frozen=True, slots=True)
class Applied:
    """A text after its blocks."""

    text: str
    placed: tuple[Placed, ...]


def apply(blocks: Sequence[Block], original: str) -> Applied:
    """The text with every block applied. A text without a newline at its end stays so.

    Raises:
        InvalidArgs: A block changes nothing.
        Conflict: At least one has no place, or more than one; the details have each.
    """
    ending = _missing_ending(original)
    source = Source(original + ending)
    lines = Lines(source.text)
    placed: list[Placed] = []
    failures: list[tuple[Block, Conflict]] = []
    for block in blocks:
        try:
            placed.append(_place(lines, block))
        except Conflict as error:
            failures.append((block, error))
    if failures:
        raise _refusal(len(blocks), failures)
    ordered = sorted(placed, key=lambda one: one.start)
    for one, other in pairwise(ordered):
        _refuse_overlap(one, other)
    text = source.changed([edit for one in ordered for edit in _edits(lines, one)])
    if ending:
        text = text.removesuffix("\n").removesuffix("\r" if text.endswith("\r\n") else "")
    return Applied(text, tuple(placed))


def _missing_ending(text: str) -> str:
    """What the last line would end with, if it had an ending."""
    if not text or text.endswith("\n"):
        return ""
    newline = text.rfind("\n")
    return "\r\n" if text.endswith("\r") or text[newline - 1 : newline] == "\r" else "\n"


def _place(lines: Lines, block: Block) -> Placed:
    found = _found(lines, block)
    if found is not None:
        return found
    pair = without_numbers(block.search, block.replace)
    if pair is not None:
        stated = block.start_line or first_number(block.search)
        bare = replace(block, search=pair[0], replace=pair[1], start_line=stated)
        found = _found(lines, bare)
        if found is not None:
            note = "its line numbers were left out"
            return replace(found, note=f"{note}; {found.note}" if found.note else note)
    raise _missing(lines, block)


def _found(lines: Lines, block: Block) -> Placed | None:
    """Its place by the strictest comparison that finds any; None where none does."""
    if block.search == block.replace:
        raise InvalidArgs(
            f"block {block.number}: search and replacement are identical",
            "Leave it out, or write what shall change.",
            details={"block": block.number, "line": block.line},
        )
    stated = None if block.start_line is None else block.start_line - 1
    for likeness, index, wanted in lines.indices(block.search):
        if stated is not None and index.fits(wanted, stated):
            return Placed(block, stated, likeness, _how(likeness))
        places = index.places(wanted)
        if places:
            return _chosen(lines, block, likeness, places)
    return None


def _chosen(lines: Lines, block: Block, likeness: Likeness, places: Sequence[int]) -> Placed:
    stated = None if block.start_line is None else block.start_line - 1
    if stated is None and len(places) == 1:
        return Placed(block, places[0], likeness, _how(likeness))
    if stated is None:
        raise _ambiguous(block, places)
    looser = [index.fits(wanted, stated) for _, index, wanted in lines.indices(block.search)]
    if any(looser):  # the text is there but for white space, and exactly the same text elsewhere
        raise _ambiguous(block, sorted([stated, *places]))
    near, *others = sorted(places, key=lambda place: abs(place - stated))
    distance = abs(near - stated)
    clear = distance <= _NEARBY and len(places) < MANY
    if others and not (clear and distance * _CLEARLY <= abs(others[0] - stated)):
        raise _ambiguous(block, places)
    moved = f"applied at line {near + 1}, not at line {stated + 1}"
    how = _how(likeness)
    return Placed(block, near, likeness, f"{moved}; {how}" if how else moved)


def _how(likeness: Likeness) -> str | None:
    return None if likeness == "exact" else f"matched but for {likeness}"


def _edits(lines: Lines, placed: Placed) -> Iterator[Edit]:
    block = placed.block
    new = block.replace
    if placed.matched == "white space":
        new = _indented(block, lines.lines[placed.start : placed.end])
    for old_from, old_to, new_from, new_to in changes(block.search, block.replace):
        start, end = lines.starts[placed.start + old_from], lines.starts[placed.start + old_to]
        yield Edit(start, end, "".join([f"{line}\n" for line in new[new_from:new_to]]))


def _indented(block: Block, there: Sequence[str]) -> tuple[str, ...]:
    """The replacement, indented as the file is where the searched lines tell it.

    Where they do not, from the file's first line as it is from the searched one.
    """
    reindent = Reindent(block.search, there)
    first = next((at for at, line in enumerate(block.search) if line.strip()), 0)
    base, target = lead_of(block.search[first]), lead_of(there[first])
    told = ((line, reindent(line)) for line in block.replace)
    return tuple([_shifted(line, base, target) if new is None else new for line, new in told])


def _shifted(line: str, base: str, target: str) -> str:
    own = lead_of(line)
    if own == line:
        return line
    if own.startswith(base):
        return target + line[len(base) :]
    missing = max(len(base) - len(own), 0)
    return target[: max(len(target) - missing, 0)] + line[len(own) :]


def _missing(lines: Lines, block: Block) -> Conflict:
    said, details = compare(lines.lines, block.search, (block.start_line or 1) - 1)
    return Conflict(
        f"no match: {said}",
        "Read the file again and build the block from what stands there now.",
        details=details,
    )


def _ambiguous(block: Block, places: Sequence[int]) -> Conflict:
    numbers = [place + 1 for place in places]
    stated = block.start_line
    where = "no line is stated" if stated is None else f"line {stated}, as stated, decides nothing"
    return Conflict(
        f"ambiguous: it fits at {listed(numbers)}, and {where}",
        "State the line with :start_line:, or add lines until it fits in one place only.",
        details={"reason": "ambiguous", "candidates": numbers},
    )


def _refuse_overlap(one: Placed, other: Placed) -> None:
    if other.start < one.end:
        raise Conflict(
            f"blocks {one.block.number} and {other.block.number} overlap: lines "
            f"{one.start + 1}-{one.end} and {other.start + 1}-{other.end}; nothing was applied",
            "Join them into one block. All blocks are compared with the file before the call.",
            details={"reason": "overlap", "blocks": [one.block.number, other.block.number]},
        )


def _refusal(total: int, failures: Sequence[tuple[Block, Conflict]]) -> Conflict:
    (block, first), *others = failures
    more = f" (and {len(others)} more of {total} blocks)" if others else ""
    reports = [
        {"block": each.number, "diff_line": each.line, "message": error.message, **error.details}
        for each, error in failures
    ]
    return Conflict(
        f"block {block.number} (line {block.line} of the diff): {first.message}{more}; "
        "nothing was applied",
        first.suggestion,
        details={"blocks": total, "failed": reports[:20]},
    )
