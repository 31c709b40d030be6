"""Several files changed as one, whatever happens in between.

A record in `.agent/changes` names every file before the first is touched. New contents are staged
beside their targets, old ones get a second name there; then names are exchanged. As long as the
record is `.active`, the change is taken back: by the process itself when a step fails, and by the
next start after a crash. Renaming the record to `.done` is what makes the change count; what is
left then is litter. The owner of a record holds a lock on it, so that nobody takes back what is
still going on. Only files inside the workspace take part, since a record is believed when found.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from whence.errors import Conflict, ExecutionFailed
from whence.execute import names
from whence.execute.containment import Root, open_beneath
from whence.execute.record import ACTIVE, CHANGES, DONE, NEW, Record, Target, about

_ABANDONED_S = 3600
"""A record that was not finished for so long has no owner any more."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY


def change_all(root: Root, targets: Sequence[Target]) -> list[str]:
    """Bring every file to its new content, or leave all as they were; the directories it made.

    Raises:
        Conflict: A file is no longer what was found.
        ExecutionFailed: A step failed, and so did taking the others back; the next start tries.
        OSError: A step failed; `filename` names the file.
    """
    # A name that differs in case only must be free before its successor can take it.
    ordered = sorted(targets, key=lambda target: target.content is not None)
    missing = _missing_directories(root, ordered)
    with about(CHANGES):
        record = Record.begin(root, [target.step() for target in ordered], missing)
    try:
        _carry_out(record, ordered)
    except BaseException as error:
        _give_up(record, error)
        raise
    record.clear()
    return missing


def _carry_out(record: Record, targets: Sequence[Target]) -> None:
    record.make_directories()
    for index, target in enumerate(targets):
        with about(target.path):
            record.stage(index, target)
    record.sync_directories()
    for index, target in enumerate(targets):
        with about(target.path):
            record.exchange(index, target)
    record.sync_directories()
    record.commit()


def _give_up(record: Record, error: BaseException) -> None:
    try:
        notes = record.take_back()
    except OSError as stuck:
        record.let_go()
        raise ExecutionFailed(
            f"{error}; the other files could not be restored: {stuck}",
            "Make the directory writable; whence restores them when it starts next.",
        ) from error
    if notes:
        raise Conflict("; ".join(notes), "Compare the two files, then edit again.") from error


def recover(root: Root) -> list[str]:
    """Take back the changes that a crash left half done; what a person should know of it."""
    try:
        directory = open_beneath(root.descriptor, CHANGES, _DIRECTORY)
    except OSError:
        return []
    try:
        return [
            note for name in sorted(os.listdir(directory)) for note in _one(root, directory, name)
        ]
    finally:
        os.close(directory)


def _one(root: Root, directory: int, name: str) -> list[str]:
    stem, state = os.path.splitext(name)
    if state == NEW:
        found = names.status(directory, name)
        if found is not None and time.time() - found.st_mtime > _ABANDONED_S:
            names.unlink_if_there(directory, name)
    record = Record.taken_over(root, directory, stem, state) if state in (ACTIVE, DONE) else None
    if record is None:
        return []
    if state == DONE:
        record.clear()
        return []
    paths = ", ".join(step.path for step in record.steps)
    try:
        notes = record.take_back()
    except OSError as error:
        record.let_go()
        return [f"a change that was half done could not be taken back ({error}): {paths}"]
    return [f"a change that was half done was taken back: {paths}", *notes]


def _missing_directories(root: Root, targets: Sequence[Target]) -> list[str]:
    """The directories to be made, parents first."""
    missing: dict[str, None] = {}
    for target in targets:
        parts = (
            target.directory.split("/") if target.directory and target.content is not None else []
        )
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            if path not in missing and not _is_there(root, path):
                missing[path] = None
    return list(missing)


def _is_there(root: Root, path: str) -> bool:
    try:
        with about(path):
            os.close(open_beneath(root.descriptor, path, _DIRECTORY))
    except FileNotFoundError:
        return False
    return True
