"""Why a section was not applied, in words that tell how to repair it."""

from __future__ import annotations

from collections.abc import Sequence

from whence.errors import Conflict
from whence.work.edits.closest import compare
from whence.work.edits.v4a.grammar import END_OF_FILE, shown
from whence.work.edits.v4a.shapes import Hunk
from whence.work.edits.words import cut, listed_places

MANY = 20
"""How many candidate lines are looked for."""
_AROUND = 3
"""How many lines are shown above and below the closest region."""
_SHOWN_LINES = 40
_REACH = 1000
"""How many lines on each side of the expected place are looked at first."""
_ALIKE = 75
"""From so many of 100 points on, what is close by is not compared with the rest of the file."""


def stale(path: str, lines: Sequence[str], hunk: Hunk, expected: int) -> Conflict:
    """The error for a hunk whose lines are nowhere in the file."""
    words, details = _compared(lines, hunk.old, expected)
    closest = details.get("closest")
    start, end = expected, expected + len(hunk.old)
    if isinstance(closest, dict):
        start, end = closest["start"] - 1, closest["end"]
    low, high = max(start - _AROUND, 0), min(end + _AROUND, len(lines))
    return Conflict(
        f"Context mismatch in {path}: {_named(hunk)} does not fit; {words}\n"
        f"--- expected ---\n{_block(hunk.old)}\n"
        f"--- actual, lines {low + 1}-{high} of {len(lines)} ---\n{_block(lines[low:high])}",
        "Nothing was changed. Write the hunk again with the lines that are there now, "
        "white space included.",
        details={**_details(path, hunk, "stale"), **_without_reason(details)},
    )


def _compared(
    lines: Sequence[str], wanted: Sequence[str], expected: int
) -> tuple[str, dict[str, object]]:
    """What resembles the wanted lines most: something close by if it is alike enough."""
    skipped = max(expected - _REACH, 0)
    nearby = lines[skipped : expected + _REACH]
    words, details = compare(nearby, wanted, expected - skipped, skipped=skipped)
    closest = details.get("closest")
    if len(nearby) == len(lines) or (isinstance(closest, dict) and closest["similarity"] > _ALIKE):
        return words, details
    return compare(lines, wanted, expected)


def already_applied(path: str, hunk: Hunk, place: int) -> Conflict:
    """The error for a hunk whose new lines are there and whose old ones are not."""
    return Conflict(
        f"Context mismatch in {path}: {_named(hunk)} does not fit, and the file looks as if it had "
        f"been applied already, at line {place + 1}",
        "Nothing was changed. Read the file again; leave this hunk out if nothing is missing.",
        details={**_details(path, hunk, "already_applied"), "candidates": [place + 1]},
    )


def ambiguous(path: str, hunk: Hunk, places: Sequence[int]) -> Conflict:
    """The error for a hunk that fits in several places."""
    return Conflict(
        f"Ambiguous patch for {path}: {_named(hunk)} fits at {_listed(places)}",
        "Nothing was changed. Add context lines above or below, or an @@ line with the class or "
        "function that holds it, until it fits in one place only.",
        details={**_details(path, hunk, "ambiguous"), "candidates": [at + 1 for at in places]},
    )


def out_of_order(path: str, hunk: Hunk, places: Sequence[int]) -> Conflict:
    """The error for a hunk that fits only above the one before it."""
    return Conflict(
        f"Context mismatch in {path}: {_named(hunk)} fits only at {_listed(places)}, which is not "
        f"below the change of hunk {hunk.number - 1}",
        "Nothing was changed. Order the hunks as in the file, and join those that change the same "
        "lines.",
        details={**_details(path, hunk, "out_of_order"), "candidates": [at + 1 for at in places]},
    )


def elsewhere(path: str, hunk: Hunk, places: Sequence[int], lines: int) -> Conflict:
    """The error for a hunk that fits, but not where its anchors or its end say."""
    end, anchors = f"at the end of the file, line {lines}", f"below {_anchors(hunk)}"
    where = end if hunk.ends_file else anchors
    repair = f"`{END_OF_FILE}`" if hunk.ends_file else "the @@ line"
    return Conflict(
        f"Context mismatch in {path}: {_named(hunk)} fits at {_listed(places)}, but not {where}",
        f"Nothing was changed. Correct {repair}, or leave it out.",
        details={**_details(path, hunk, "elsewhere"), "candidates": [at + 1 for at in places]},
    )


def no_such_line(path: str, lines: Sequence[str], hunk: Hunk, anchor: str) -> Conflict:
    """The error for an anchor that is no line of the file."""
    from rapidfuzz import process

    found = process.extract(anchor.strip(), lines, limit=3, score_cutoff=60)
    close = [{"line": at + 1, "text": cut(line)} for line, _, at in found]
    like = ", ".join(f"{shown(line.strip())} (line {at + 1})" for line, _, at in found)
    return Conflict(
        f"No such line in {path}: {_named(hunk)} is anchored to {shown(anchor)}",
        f"Nothing was changed. {f'Did you mean {like}? ' if like else ''}"
        "After @@ goes a whole line of the file.",
        details={**_details(path, hunk, "anchor"), "anchor": cut(anchor), "closest": close},
    )


def not_nested(path: str, hunk: Hunk) -> Conflict:
    """The error for anchors that are there, but not one below the other."""
    return Conflict(
        f"No such place in {path}: the anchors of {_named(hunk)}, {_anchors(hunk)}, are not below "
        "one another",
        "Nothing was changed. Give the outermost line first, or only the innermost one.",
        details=_details(path, hunk, "anchor"),
    )


def unplaced(path: str, hunk: Hunk) -> Conflict:
    """The error for lines that are added nowhere in particular."""
    return Conflict(
        f"Ambiguous patch for {path}: {_named(hunk)} adds lines and does not say where",
        "Nothing was changed. Give a context line above or below them, an @@ line to put them "
        f"under, or `{END_OF_FILE}` to put them last.",
        details=_details(path, hunk, "unplaced"),
    )


def somewhere_inside(path: str, hunk: Hunk) -> Conflict:
    """The error for lines that are added to a class or a function, who knows where in it."""
    return Conflict(
        f"Ambiguous patch for {path}: {_named(hunk)} adds lines to {shown(hunk.anchors[-1])} and "
        "does not say where in it",
        "Nothing was changed. Give a context line above or below them.",
        details=_details(path, hunk, "unplaced"),
    )


def _details(path: str, hunk: Hunk, reason: str) -> dict[str, object]:
    return {
        "reason": reason,
        "path": path,
        "hunk": hunk.number,
        "patch_line": hunk.line,
        "expected": [cut(line) for line in hunk.old[:_SHOWN_LINES]],
    }


def _without_reason(details: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in details.items() if key != "reason"}


def _named(hunk: Hunk) -> str:
    return f"hunk {hunk.number} (line {hunk.line} of the patch)"


def _anchors(hunk: Hunk) -> str:
    return " › ".join(shown(anchor) for anchor in hunk.anchors)


def _listed(places: Sequence[int]) -> str:
    return listed_places(places, MANY)


def _block(lines: Sequence[str]) -> str:
    return "\n".join([cut(line) for line in lines[:_SHOWN_LINES]])
