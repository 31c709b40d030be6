"""Applying a unified diff to a file of the workspace, whole or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass

from whence.execute.ports import Files
from whence.work import files as work
from whence.work.editing import read_text, store
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
    before, mark, body = None, "", None
    if not parsed.creates or files.info(path) is not None:
        before, mark, body = await read_text(files, path)
    applied = unified.apply(parsed, body)
    if applied.text is None:
        work.refuse_link(files, path, "the diff removes it")
    stored = store(files, path, before, None if applied.text is None else mark + applied.text)
    counts = (applied.hunks_applied, applied.added, applied.removed)
    warnings = (*applied.warnings, *_named_otherwise(parsed, path))
    return Patched(*counts, stored.bytes_written, warnings)


def _named_otherwise(patch: unified.Patch, path: str) -> tuple[str, ...]:
    names = {name for name in (patch.old_path, patch.new_path) if name}
    last = os.path.basename(path)
    if not names or any(os.path.basename(name) == last for name in names):
        return ()
    return (f"the diff names {', '.join(sorted(names))}; it was applied to {path}",)
