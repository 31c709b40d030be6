"""`Patch` and file content to new content: every hunk, or an error and nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whence.work.edits.unified import refuse
from whence.work.edits.unified.endings import edited, joined
from whence.work.edits.unified.place import FileLines, Misfit, Search, locate
from whence.work.edits.unified.shapes import Hunk, Patch


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of a patch."""

    text: str | None
    """The new content; None: the file is to be deleted."""
    hunks_applied: int
    added: int
    removed: int
    offsets: tuple[int, ...]
    """For each hunk, how many lines below its stated line it was applied."""
    warnings: tuple[str, ...]


def apply(patch: Patch, text: str | None) -> Applied:
    """The content after the patch.

    Args:
        patch: What `parse` returned.
        text: The content, with its line endings as they are; None: there is no such file.

    Raises:
        Conflict: a hunk has no place, or more than one, or the patch was applied before.
    """
    if patch.deletes:
        return _deleted(patch, text)
    if patch.creates:
        return _created(patch, text)
    if text is None:
        raise refuse.file_missing()
    settled, result = as_stated(text, patch.hunks)
    if settled == len(patch.hunks):
        return _applied(patch, result, (0,) * len(patch.hunks))
    file = FileLines(text)
    search = Search(file.keys, patch.hunks)
    places = locate(search, patch.hunks, settled)
    if isinstance(places, Misfit):
        raise refuse.misfit(search, patch.hunks, places)
    result = edited(file, patch.hunks, places)
    if result == text:
        raise refuse.already_applied(len(patch.hunks))
    pairs = zip(patch.hunks, places, strict=True)
    offsets = [0 if hunk.old_at is None else place - hunk.old_at for hunk, place in pairs]
    return _applied(patch, result, tuple(offsets))


def as_stated(text: str, hunks: Sequence[Hunk]) -> tuple[int, str]:
    """How many hunks stand where they say, line endings included, and the text if all do.

    A shortcut that needs no lines of the file; it stops at what must be looked at more closely.
    """
    parts: list[str] = []
    at = lines = 0
    for index, hunk in enumerate(hunks):
        if hunk.ends_file or not (hunk.lead and hunk.tail):
            return index, text
        old = "\n".join([*hunk.old, ""])
        found = text.find(old, at)
        lines += text.count("\n", at, max(found, at))
        if found < 0 or lines != hunk.old_at or (found and text[found - 1] != "\n"):
            return index, text
        parts += text[at:found], "\n".join([*hunk.new, ""])
        at = found + len(old)
        lines += len(hunk.old)
    return len(hunks), "".join([*parts, text[at:]])


def _applied(patch: Patch, text: str | None, offsets: tuple[int, ...]) -> Applied:
    added = sum(hunk.signs.count("+") for hunk in patch.hunks)
    removed = sum(hunk.signs.count("-") for hunk in patch.hunks)
    warnings = (*patch.warnings, *_drift_warnings(offsets))
    return Applied(text, len(patch.hunks), added, removed, offsets, warnings)


def _drift_warnings(offsets: Sequence[int]) -> list[str]:
    """One sentence for each run of hunks that moved equally far."""
    warnings = []
    first = 0
    for last, offset in enumerate(offsets):
        if last + 1 < len(offsets) and offsets[last + 1] == offset:
            continue
        if offset:
            distance = f"{abs(offset)} line{'s' * (abs(offset) > 1)}"
            side = "below" if offset > 0 else "above"
            one = first == last
            which = f"hunk {first + 1}" if one else f"hunks {first + 1} to {last + 1}"
            says = "it says" if one else "they say"
            warnings.append(f"{which} applied {distance} {side} where {says}")
        first = last + 1
    return warnings


def _deleted(patch: Patch, text: str | None) -> Applied:
    if text is None:
        raise refuse.file_gone()
    keys = FileLines(text).keys
    shown = tuple([key for hunk in patch.hunks for key in hunk.old_keys])
    if keys != shown:
        raise refuse.not_the_whole(keys, shown)
    return _applied(patch, None, (0,) * len(patch.hunks))


def _created(patch: Patch, text: str | None) -> Applied:
    content = "".join(
        [joined(hunk.new, terminated=not hunk.new_unterminated) for hunk in patch.hunks]
    )
    if text:
        keys = tuple([key for hunk in patch.hunks for key in hunk.new_keys])
        lines = FileLines(text).keys
        raise refuse.already_applied(1) if keys == lines else refuse.file_exists(len(lines))
    if text == content:
        raise refuse.already_applied(1)
    return _applied(patch, content, (0,) * len(patch.hunks))
