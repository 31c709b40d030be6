"""Applying a unified diff to a file of the workspace, whole or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass

from whence.errors import Conflict
from whence.execute.ports import Files
from whence.work import files as work
from whence.work import text
from whence.work.edits import unified


@dataclass(frozen=True, slots=True)
class Patched:
    """What a diff did."""

    hunks_applied: int
    added: int
    removed: int
    bytes_written: int
    warnings: tuple[str, ...]


async def patch(files: Files, path: str, diff: str) -> Patched:
    """Apply the diff, or change nothing and say why."""
    parsed = unified.parse(diff)
    present = files.info(path) is not None
    if not present and not parsed.creates:
        with work.open_file(files, path):
            raise AssertionError("a missing file was opened")
    before = text.decode(await work.read_whole(files, path), path) if present else None
    mark, body = text.split_bom(before) if before is not None else ("", None)
    applied = unified.apply(parsed, body)
    counts = (applied.hunks_applied, applied.added, applied.removed)
    warnings = (*applied.warnings, *_named_otherwise(parsed, path))
    if applied.text is None:
        files.remove(path)
        return Patched(*counts, 0, warnings)
    if before is None and os.path.dirname(path):
        files.make_directories(os.path.dirname(path))
    data = (mark + applied.text).encode()
    if present and await work.read_whole(files, path) != (before or "").encode():
        raise Conflict(f"{path!r} changed while it was patched", "Read it again, then patch.")
    with files.replacing(path) as out:
        out.write(data)
    return Patched(*counts, len(data), warnings)


def _named_otherwise(patch: unified.Patch, path: str) -> tuple[str, ...]:
    names = {name for name in (patch.old_path, patch.new_path) if name}
    last = os.path.basename(path)
    if not names or any(os.path.basename(name) == last for name in names):
        return ()
    return (f"the diff names {', '.join(sorted(names))}; it was applied to {path}",)
