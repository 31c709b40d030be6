"""What a call changed, for the journal: hashes, what is needed to take it back, and warnings.

Beside the journal, in `tool/undo`, each edited file leaves its reverse patch where it is text of a
moderate size, what was added where it only grew, and else its whole old content. The first edit of
a file in a session keeps the whole old content too, so that every later version can be found again
whatever becomes of the file. These files hold the bytes as they were, secrets included: they are as
private as the file system can make them, and the gate asks before a tool may read them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from whence.errors import WhenceError
from whence.execute import names
from whence.execute.containment import Root, open_beneath
from whence.execute.edits import SMALL, Edit, Edits, Hashers, Signature, State
from whence.work.edits import unified

_INLINE = 50
"""Changes that stand in the event itself; more are listed in a file beside it."""
_REMEMBERED = 20_000
_SEEN = "seen.json"


class Settled(NamedTuple):
    """What the journal and the caller are told."""

    changes: object
    """For the event: a list, or where the list is; None: nothing changed."""
    warnings: tuple[str, ...]


NOTHING = Settled(None, ())


@dataclass(slots=True)
class Known:
    """Which versions of files the model has been shown or has written, as far as a session knows.

    A file counts as shown when a tool that only reads has opened it, whole or in part.
    """

    directory: str
    """Of the session."""
    hashers: Hashers = field(default_factory=dict)
    _seen: dict[str, Signature] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)
    _news: bool = False
    _loaded: bool = False

    def saw(self, opened: Mapping[str, Signature]) -> None:
        """Remember what was shown."""
        self._seen.update(opened)
        self._news = True

    def warning(self, edit: Edit) -> str | None:
        """What is to be said about an edit of a version that was never shown."""
        before = edit.before
        if before is None or before.kind != "file" or edit.added is not None:
            return None
        seen = self._seen_version(edit.path)
        if seen is None:
            deed = "edited" if edit.after is not None else "removed"
            return f"{edit.path} was {deed} without having been read in this session"
        if seen != before.signature:
            return f"{edit.path} had changed since it was last read in this session"
        return None

    def wrote(self, edit: Edit) -> None:
        """Remember the version that an edit left; one that was only added to is not known by it."""
        before, after = edit.before, edit.after
        only_added = before is not None and edit.added is not None
        known = before is not None and self._seen_version(edit.path) == before.signature
        if after is not None and (known or not only_added):
            self.saw({edit.path: after.signature})

    def is_first(self, path: str) -> bool:
        """Whether no edit of this path was asked about before."""
        first = path not in self._kept
        self._kept.add(path)
        return first

    def _seen_version(self, path: str) -> Signature | None:
        if path not in self._seen:
            self._load()
        return self._seen.get(path)

    def save(self) -> None:
        """Leave what is known to the next process of this session."""
        if not self._news:
            return
        self._load()
        latest = dict(list(self._seen.items())[-_REMEMBERED:])
        fresh = os.path.join(self.directory, f"{_SEEN}.{os.getpid()}")
        with suppress(OSError):  # the cost of not knowing is a warning too many
            with open(fresh, "w", encoding="utf-8", opener=_private) as out:
                json.dump(latest, out)
            os.replace(fresh, os.path.join(self.directory, _SEEN))

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        with suppress(OSError, ValueError, AttributeError, TypeError):
            with open(os.path.join(self.directory, _SEEN), encoding="utf-8") as file:
                earlier = json.load(file)
            self._seen = {path: tuple(seen) for path, seen in earlier.items()} | self._seen


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def settle(edits: Edits, known: Known, root: Root, *, reads_only: bool) -> Settled:
    """Find out what a call changed, and leave beside the journal what taking it back needs."""
    if not edits.made:
        if reads_only:
            known.saw(edits.opened)
        return NOTHING
    changes, warnings = [], []
    for edit in list(edits.made.values()):  # a thread that timed out may still add to them
        warning = known.warning(edit)
        change = _settled(edit, edits, known, root) if edit.done else None
        if edit.done:
            known.wrote(edit)
        if change is None:
            names.unlink_if_there(None, _beside(edits, edit))
            continue
        changes.append(change)
        warnings += [said for said in (warning, _other_names(edit)) if said]
    return Settled(_listed(changes, edits), tuple(warnings))


def _other_names(edit: Edit) -> str | None:
    """What is to be said where a file that was replaced has other names."""
    before, after = edit.before, edit.after
    if before is None or after is None or before.kind != "file" or edit.added is not None:
        return None
    others = before.names - 1
    if others < 1:
        return None
    names = "another name, which keeps" if others == 1 else f"{others} other names, which keep"
    return f"{edit.path} has {names} the old content (hard links)"


def _listed(changes: list[dict[str, Any]], edits: Edits) -> object:
    if len(changes) <= _INLINE:
        return changes or None
    name = f"{edits.stem}.changes.json"
    data = json.dumps(changes).encode()
    try:
        _put(edits, name, data)
    except OSError:
        return changes
    return {"count": len(changes), "list": name, "sha256": hashlib.sha256(data).hexdigest()}


def _settled(edit: Edit, edits: Edits, known: Known, root: Root) -> dict[str, Any] | None:
    old = _old_content(edit, edits)
    after = edit.after
    if after is not None and after.kind == "file" and not after.sha256:
        edit.after = after._replace(sha256=_hash_of(root, edit.path))
    if _is_same(edit.before, edit.after):
        return None
    change = _described(edit)
    if _leave_reverse(edit, old, edits, change):
        if not known.is_first(edit.path):
            names.unlink_if_there(None, _beside(edits, edit))
            edit.kept = False
    else:
        known.is_first(edit.path)
    if edit.kept:
        change["kept"] = edit.name
    return change


def _old_content(edit: Edit, edits: Edits) -> bytes | None:
    """The bytes that were kept, while they are few; their hash in any case."""
    before = edit.before
    if before is None or not edit.kept:
        return None
    with open(_beside(edits, edit), "rb") as file:
        if before.size > SMALL:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            edit.before = before._replace(sha256=digest)
            return None
        data = file.read()
    edit.before = before._replace(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    return data


def _is_same(before: State | None, after: State | None) -> bool:
    if before is None or after is None:
        return before is after
    return before[0] == after[0] and before[2] == after[2] and before.sha256 == after.sha256


def _described(edit: Edit) -> dict[str, Any]:
    before, after = edit.before, edit.after
    action = "changed" if before and after else "created" if after else "removed"
    there = before or after
    change: dict[str, Any] = {"path": edit.path, "action": action}
    if not _is_unicode(edit.path):  # the journal can only spell such a name
        change["path_hex"] = os.fsencode(edit.path).hex()
    if there is not None and there.kind != "file":
        change["kind"] = there.kind
    if there is not None and there.kind == "link":
        change["target"] = there.target
    if there is None or there.kind == "directory":
        return change
    change["before"] = before.sha256 if before else None
    change["after"] = after.sha256 if after else None
    change["size_before"] = before.size if before else None
    change["size_after"] = after.size if after else None
    change["mode"] = f"{there.mode:04o}"
    return {key: value for key, value in change.items() if value is not None}


def _is_unicode(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leave_reverse(edit: Edit, old: bytes | None, edits: Edits, change: dict[str, Any]) -> bool:
    """Write what leads back without the whole old content; False: there is no such thing."""
    if edit.added is not None:
        return _write(edits, change, "added", edit, edit.added)
    before, new = edit.before, edit.content
    if new is None or (before is not None and old is None):
        return False
    patch = reverse_patch(old, new, edit.path)
    return patch is not None and _write(edits, change, "patch", edit, patch)


def reverse_patch(old: bytes | None, new: bytes, path: str) -> bytes | None:
    """A unified diff that turns the new content exactly into the old one; None: it takes more."""
    try:
        after, before = new.decode(), None if old is None else old.decode()
        if "\0" in after or "\0" in (before or ""):
            return None
        patch = unified.make(after, before, path)
        if len(patch) > max(SMALL, len(new)):
            return None
        exact = unified.apply(unified.parse(patch), after).text == before
        return patch.encode() if exact else None
    except (UnicodeError, WhenceError):
        return None


def _hash_of(root: Root, path: str) -> str:
    inside = not path.startswith("/")
    directory, relative = (root.descriptor, path) if inside else (None, path)
    try:
        if directory is not None:
            descriptor = open_beneath(directory, relative, os.O_RDONLY | os.O_NONBLOCK)
        else:
            descriptor = os.open(relative, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return ""  # somebody else was quicker
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _beside(edits: Edits, edit: Edit) -> str:
    return f"{edits.directory}/{edit.name}"


def _write(edits: Edits, change: dict[str, Any], key: str, edit: Edit, data: bytes) -> bool:
    """Write a file of an edit and say so in its change; a full disk has room for neither."""
    name = f"{edit.name}.{key}"
    try:
        _put(edits, name, data)
    except OSError:
        names.unlink_if_there(None, f"{edits.directory}/{name}")
        return False
    change[key] = name
    return True


def _put(edits: Edits, name: str, data: bytes) -> None:
    with open(f"{edits.directory}/{name}", "wb", opener=_private) as out:
        out.write(data)
