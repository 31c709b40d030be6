"""The versions of a file that a session knew, found again from what its edits left."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

from whence.errors import WhenceError
from whence.journal.artifacts import UNDO
from whence.work.edits import unified

Change = Mapping[str, Any]
"""One entry of `changes` in the journal."""


def contents(directory: str, changes: Iterable[Change], present: bytes | None) -> dict[str, bytes]:
    """Every version that can be found, by its sha256: of one file, its changes in order.

    Args:
        directory: the session's.
        changes: all changes of that file.
        present: what is on disk, where something is.
    """
    listed = list(changes)
    found = {} if present is None else {digest(present): present}
    for change in listed:
        kept = _read(directory, change.get("kept"))
        if kept is not None:
            found[digest(kept)] = kept
    found_before = -1
    while len(found) != found_before:  # each version may lead to one before and one after it
        found_before = len(found)
        for change in (*listed, *reversed(listed)):
            _go_back(directory, change, found)
            _go_on(directory, change, found)
    return found


def digest(data: bytes) -> str:
    """The sha256 of a content, as the journal has it."""
    return hashlib.sha256(data).hexdigest()


def _go_back(directory: str, change: Change, found: dict[str, bytes]) -> None:
    """From the version after a change to the one before it."""
    after, before = change.get("after"), change.get("before")
    if after not in found or before is None or before in found:
        return
    new = found[after]
    if "added" in change:
        _add(found, before, new[: change.get("size_before", 0)])
    else:
        _add(found, before, _patched(directory, change, new, backwards=False))


def _go_on(directory: str, change: Change, found: dict[str, bytes]) -> None:
    """From the version before a change to the one after it."""
    after, before = change.get("after"), change.get("before")
    if after is None or after in found or (before is not None and before not in found):
        return
    old = None if before is None else found[before]
    if "added" in change:
        added = _read(directory, change["added"])
        _add(found, after, None if added is None else (old or b"") + added)
    else:
        _add(found, after, _patched(directory, change, old, backwards=True))


def _add(found: dict[str, bytes], sha256: str, content: bytes | None) -> None:
    """Believe nothing but the hash."""
    if content is not None and digest(content) == sha256:
        found[sha256] = content


def _patched(
    directory: str, change: Change, content: bytes | None, *, backwards: bool
) -> bytes | None:
    """What a reverse patch makes of a content; backwards, what the edit itself made of it."""
    raw = _read(directory, change.get("patch"))
    if raw is None:
        return None
    try:
        patch = unified.parse(raw.decode())
        text = None if content is None else content.decode()
        result = unified.apply(_undone(patch) if backwards else patch, text).text
    except (WhenceError, UnicodeError):
        return b"" if backwards and change.get("size_after") == 0 else None
    return None if result is None else result.encode()


def _undone(patch: unified.Patch) -> unified.Patch:
    hunks = tuple(hunk.undone() for hunk in patch.hunks)
    return unified.Patch(patch.new_path, patch.old_path, hunks, patch.deletes, patch.creates)


def _read(directory: str, name: object) -> bytes | None:
    """A file that an edit left; None where there is none, or it is gone."""
    if not isinstance(name, str):
        return None
    try:
        with open(os.path.join(directory, UNDO, os.path.basename(name)), "rb") as file:
            return file.read()
    except OSError:
        return None
