"""An `Update` and the text of its file to the new text: every hunk, or an error and nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from whence.errors import Conflict
from whence.work.edits.indent import Reindent
from whence.work.edits.v4a import whole
from whence.work.edits.v4a.grammar import shown
from whence.work.edits.v4a.lines import FileLines
from whence.work.edits.v4a.seek import Seeker, Spot
from whence.work.edits.v4a.shapes import Hunk, Update

_OVERLOOKED = (
    "",
    "white space at the ends of lines",
    "white space around lines",
    "white space, quotes, dashes and the like",
)


_IS_END = "was taken for the end of the file"


class Edited:
    """A text after an `Update`."""

    def __init__(
        self, text: str, spots: Callable[[], Sequence[Spot]], warnings: tuple[str, ...] = ()
    ) -> None:
        self.text = text
        self.warnings = warnings
        self._find_spots = spots

    @cached_property
    def spots(self) -> Sequence[Spot]:
        """Where each hunk was found in the old text."""
        return self._find_spots()


def apply(update: Update, text: str) -> Edited:
    """The text after every hunk of the section.

    Args:
        update: What to change.
        text: The content, without a byte order mark, with its line endings as they are.

    Raises:
        Conflict: A hunk has no place in the text, or more than one.
    """
    found = whole.placed(text, update.hunks)
    if found.text is not None:
        return Edited(found.text, lambda: _exact_spots(text, found.places))
    try:
        return _apply(update, text, found)
    except Conflict:
        # What stands below the last newline looks like a blank line to who splits a text at them.
        ending = _without_blank_end(update)
        if ending is not None:
            with suppress(Conflict):
                edited = _apply(ending, text, found)
                edited.warnings += (f"the blank line below hunk {len(ending.hunks)} {_IS_END}",)
                return edited
        raise


def _without_blank_end(update: Update) -> Update | None:
    """The same without a blank context line below all others, which must then end the file."""
    *hunks, last = update.hunks
    if not last.tail or len(last.old) < 2 or last.old[-1].strip():
        return None
    ending = last._replace(
        signs=last.signs[:-1],
        lines=last.lines[:-1],
        old=last.old[:-1],
        tail=last.tail - 1,
        ends_file=True,
    )
    return replace(update, hunks=(*hunks, ending))


def _apply(update: Update, text: str, found: whole.Placed) -> Edited:
    file = FileLines(text)
    seeker = Seeker(update, text, file.keys, hint=max(found.places, default=0))
    spots = seeker.spots(_exact_spots(text, found.places))
    warnings: list[str] = []
    pieces: list[str] = []
    done = 0
    for hunk, spot in zip(update.hunks, spots, strict=True):
        pieces += file.pieces[done : spot.start + hunk.lead]
        pieces += _changed(file, hunk, spot, warnings)
        done = spot.start + len(hunk.old) - hunk.tail
    pieces += file.pieces[done:]
    return Edited(file.joined(pieces), lambda: spots, tuple(warnings))


def _exact_spots(text: str, places: Sequence[int]) -> list[Spot]:
    return [Spot(line, 0) for line in whole.line_numbers(text, places)]


def _changed(file: FileLines, hunk: Hunk, spot: Spot, warnings: list[str]) -> list[str]:
    """What stands between the first and the last change: context as it is in the file."""
    old = file.keys[spot.start : spot.start + len(hunk.old)]
    reindent = Reindent(hunk.old, old) if spot.level > 1 else None
    if spot.level:
        warnings.append(_overlooked(hunk, spot, reindent))
    elif hunk.anchors and not hunk.old and not hunk.ends_file:
        above = file.keys[spot.start - 1].strip()
        warnings.append(f"hunk {hunk.number} was put right below line {spot.start}, {shown(above)}")
    pieces: list[str] = []
    at = spot.start + hunk.lead
    for sign, line in zip(hunk.signs[hunk.changed], hunk.lines[hunk.changed], strict=True):
        if sign == "+":
            told = reindent(line) if reindent else None
            pieces.append((line if told is None else told) + file.ending)
        else:
            pieces += file.pieces[at : at + 1] if sign == " " else ()
            at += 1
    return pieces


def _overlooked(hunk: Hunk, spot: Spot, reindent: Reindent | None) -> str:
    text = (
        f"hunk {hunk.number} was found at line {spot.start + 1} only when "
        f"{_OVERLOOKED[spot.level]} did not count"
    )
    if reindent is None or "+" not in hunk.signs or reindent.is_same:
        return text
    signed = zip(hunk.signs, hunk.lines, strict=True)
    if all(reindent(line) is not None for sign, line in signed if sign == "+"):
        return f"{text}; its added lines were indented as the file is"
    return f"{text}; its added lines were taken as they are, check their indentation"


def spans(hunks: Sequence[Hunk], spots: Sequence[Spot]) -> list[tuple[int, int, int, int]]:
    """What each hunk changed: old lines from and to, new lines from and to."""
    found: list[tuple[int, int, int, int]] = []
    shift = 0
    for hunk, spot in zip(hunks, spots, strict=True):
        start = spot.start + hunk.lead
        end = spot.start + len(hunk.old) - hunk.tail
        grown = hunk.signs.count("+") - hunk.signs.count("-")
        found.append((start, end, start + shift, end + shift + grown))
        shift += grown
    return found
