"""Why a patch was not applied, in words that tell how to repair it."""

from __future__ import annotations

from collections.abc import Sequence

from whence.errors import Conflict
from whence.work.edits.closest import first_difference, shown_region
from whence.work.edits.unified.place import MANY, Misfit, Search, applied_at, is_applied
from whence.work.edits.unified.shapes import Hunk
from whence.work.edits.words import cut, listed_places

_ONCE_MORE = "If lines shall be added once more, give context lines above and below them."
_SHOWN_LINES = 60


def misfit(search: Search, hunks: Sequence[Hunk], found: Misfit) -> Conflict:
    """The error for the first hunk that has no place."""
    if found.reason != "ambiguous" and is_applied(search, hunks):
        return already_applied(len(hunks))
    explain = {
        "stale": _stale,
        "ambiguous": _ambiguous,
        "already_applied": _hunk_already_applied,
        "out_of_order": _out_of_order,
        "not_at_end": _not_at_end,
        "unchecked": _unchecked,
    }
    return explain[found.reason](search, found)


def already_applied(hunks: int) -> Conflict:
    """The error for a patch that has nothing left to do."""
    count = f"all {hunks} hunks" if hunks > 1 else "the hunk"
    return Conflict(
        f"the change is already there: the file looks as it would after {count}",
        f"Nothing needs to be done. {_ONCE_MORE}",
        details={"reason": "already_applied"},
    )


def file_exists(lines: int) -> Conflict:
    """The error for creating a file that has content."""
    return Conflict(
        f"the diff can only create the file, but it exists and has {_count(lines)}",
        "To change the file, read it and send hunks with context lines from it.",
        details={"reason": "exists", "lines": lines},
    )


def file_missing() -> Conflict:
    """The error for changing a file that is absent."""
    return Conflict(
        "the diff changes lines of a file that does not exist",
        "Check the path. To create a file, begin the diff with `--- /dev/null` and add lines only.",
        details={"reason": "missing"},
    )


def file_gone() -> Conflict:
    """The error for deleting a file that is absent."""
    return Conflict(
        "the change is already there: the file to be deleted does not exist",
        "Nothing needs to be done, if the path is right.",
        details={"reason": "already_applied"},
    )


def not_the_whole(keys: Sequence[str], shown: Sequence[str]) -> Conflict:
    """The error for deleting a file whose lines are not the ones that the diff shows."""
    first = first_difference(keys, shown, 0)
    return Conflict(
        f"the diff deletes a file of {_count(len(shown))}, but the file has {_count(len(keys))} "
        f"and differs from line {first.line} on",
        "Read the file again and, if it should still go, delete it with a diff of all its lines.",
        details={"reason": "stale", "first_difference": first.as_details()},
    )


def _stale(search: Search, found: Misfit) -> Conflict:
    from whence.work.edits.nearest import nearest  # rapidfuzz, which only failures need

    hunk, keys = found.hunk, search.keys
    done_at = applied_at(search, hunk)
    if done_at is not None:
        return _hunk_already_applied(search, Misfit("already_applied", hunk, done_at))
    closest = nearest(keys, hunk.old_keys, found.expected, search.around)
    details: dict[str, object] = {
        "reason": "stale",
        "hunk": hunk.number,
        "diff_line": hunk.line,
        "expected": _shown(hunk.old_keys),
        "expected_at": None if hunk.old_at is None else found.expected + 1,
    }
    if closest is None:
        where = "" if hunk.old_at is None else f" at line {found.expected + 1}"
        return Conflict(
            f"{_named(hunk)} does not fit{where}, and nothing around it resembles the "
            f"{_count(len(hunk.old))} that it expects",
            "Read the file again and rebuild the hunk, with context lines that are not blank.",
            details=details,
        )
    first = first_difference(keys, hunk.old_keys, closest.start)
    details["closest"] = shown_region(keys, closest, _SHOWN_LINES)
    details["first_difference"] = first.as_details()
    return Conflict(
        f"{_named(hunk)} does not fit: {first}",
        f"Read lines {_range(closest.start - 3, closest.end + 3, len(keys))} again and rebuild "
        "the hunk from what stands there now.",
        details=details,
    )


def _ambiguous(_: Search, found: Misfit) -> Conflict:
    hunk = found.hunk
    where = (
        "it does not say at which line"
        if hunk.old_at is None
        else f"line {found.expected + 1}, where it is due, is not the only one"
        if found.expected in found.candidates
        else f"line {found.expected + 1}, where it is due, is none of them"
    )
    return Conflict(
        f"{_named(hunk)} is ambiguous: it fits at {_listed(found.candidates)}, and {where}",
        "Add context lines until the hunk fits in one place only, or correct the line number "
        "in its @@ line.",
        details=_details(found),
    )


def _hunk_already_applied(_: Search, found: Misfit) -> Conflict:
    return Conflict(
        f"{_named(found.hunk)}: the change is already there, at line {found.expected + 1}",
        f"Leave this hunk out. {_ONCE_MORE}",
        details=_details(found),
    )


def _out_of_order(_: Search, found: Misfit) -> Conflict:
    before = found.hunk.number - 1
    return Conflict(
        f"{_named(found.hunk)} fits only at {_listed(found.candidates)}, which is before the end "
        f"of hunk {before}",
        "Order the hunks as in the file, and join hunks that touch the same lines.",
        details=_details(found),
    )


def _not_at_end(search: Search, found: Misfit) -> Conflict:
    return Conflict(
        f"{_named(found.hunk)} says with `\\ No newline at end of file` that the file ends there, "
        f"but its lines stand at {_listed(found.candidates)} of {_count(len(search.keys))}",
        "Remove the `\\ No newline` line, or read the end of the file again.",
        details=_details(found),
    )


def _unchecked(search: Search, found: Misfit) -> Conflict:
    lines = len(search.keys)
    problem = (
        f"the file has only {_count(lines)}"
        if found.expected > lines
        else "the file does not end there"
        if found.hunk.ends_file and found.expected != lines
        else "the line numbers of this diff do not hold: another hunk fits only elsewhere"
    )
    return Conflict(
        f"{_named(found.hunk)} adds lines after line {found.expected} without any context, "
        f"and {problem}",
        "Add context lines around the added ones.",
        details=_details(found),
    )


def _details(found: Misfit) -> dict[str, object]:
    return {
        "reason": found.reason,
        "hunk": found.hunk.number,
        "diff_line": found.hunk.line,
        "expected": _shown(found.hunk.old_keys),
        "candidates": [place + 1 for place in found.candidates],
    }


def _named(hunk: Hunk) -> str:
    return f"hunk {hunk.number} (line {hunk.line} of the diff)"


def _listed(places: Sequence[int]) -> str:
    return listed_places(places, MANY)


def _range(start: int, end: int, total: int) -> str:
    return f"{max(start, 0) + 1}-{min(end, total)}"


def _count(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _shown(lines: Sequence[str]) -> list[str]:
    return [cut(line) for line in lines[:_SHOWN_LINES]]
