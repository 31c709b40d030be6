"""What one call does to files: noted before it happens, so that it can be taken back.

The old content of a file gets a second name in the session's `tool/undo` directory before it is
replaced or removed: no byte is copied, and it is there even if the process dies before the outcome
is recorded. A line in the file `begun` then says which file it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from whence.execute import names
from whence.execute.ports import Writer

if TYPE_CHECKING:
    from hashlib import _Hash

Signature: TypeAlias = tuple[int, int, int]
Hashers: TypeAlias = "dict[str, tuple[Signature, _Hash]]"
"""By path: how far a file was hashed that only grows."""
SMALL = 1 << 18
"""Bytes up to which old and new content are compared line by line."""
_CHUNK = 1 << 20
BEGUN = "begun"
"""The file in that directory that says which edits were begun."""
_REMEMBERED = 256
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


class State(NamedTuple):
    """A file, a link or a directory at one moment."""

    kind: Literal["file", "link", "directory"]
    size: int
    mode: int
    signature: Signature
    sha256: str = ""
    """Of the content; of a link, of the path that it holds. Empty: not known yet."""
    target: str = ""
    """Where a link points."""
    names: int = 1
    """Under how many names a file was found: hard links."""


@dataclass(slots=True)
class Edit:
    """One path that a call changed; several changes of it count as one."""

    path: str
    """Relative to the workspace; absolute outside."""
    name: str
    """What the names of its files in the undo directory begin with."""
    before: State | None
    """None: there was nothing."""
    kept: bool = False
    """Whether the old content is there under that name."""
    after: State | None = None
    done: bool = False
    """Whether it has happened."""
    content: bytes | None = None
    """The new content, where it is small."""
    added: bytes | None = None
    """What was appended, where nothing else happened."""


class Edits:
    """The edits of one call. Without a directory, nothing is kept and nothing is noted.

    Args:
        directory: where old contents are kept.
        call_id: what their names begin with.
        hashers: shared by the calls of a session, so that appending does not read a file again.
    """

    __slots__ = ("_call_id", "_hashers", "_stem", "directory", "made", "opened")

    def __init__(
        self, directory: str = "", call_id: str = "", hashers: Hashers | None = None
    ) -> None:
        self.directory = directory
        self._call_id = call_id
        self._stem = ""
        self.made: dict[str, Edit] = {}
        self.opened: dict[str, Signature] = {}
        """The files that were read, as they were."""
        self._hashers: Hashers = {} if hashers is None else hashers

    @property
    def stem(self) -> str:
        """A name that no other call has: ids come from models, and some come twice."""
        if not self._stem:
            plain = _UNSAFE.sub("_", self._call_id)[:100]
            self._stem = f"{plain}-{secrets.token_hex(4)}"
        return self._stem

    def begin(self, path: str, directory: int, name: str, *, keep: bool = True) -> None:
        """Say that a path is about to change, and keep what is there; no name: nothing is."""
        if not self.directory or path in self.made:
            return
        before = state(directory, name) if name else None
        edit = self.made[path] = Edit(path, f"{self.stem}.{len(self.made) + 1}", before)
        self._note(edit)
        if keep and before is not None and before.kind == "file":
            names.keep(directory, name, f"{self.directory}/{edit.name}")
            edit.kept = True

    def wrote(self, path: str, directory: int, name: str, content: bytes | Hashing) -> None:
        """Say that a path has new content."""
        if not self.directory:
            return
        new = Hashing(content) if isinstance(content, bytes) else content
        found = state(directory, name)
        edit = self.made[path]
        edit.after = found and found._replace(sha256=new.hexdigest(), size=new.size)
        edit.done, edit.content, edit.added = True, new.content, None

    def appended(self, path: str, directory: int, name: str, data: bytes) -> None:
        """Say that data was added at the end."""
        if not self.directory:
            return
        edit, found = self.made[path], state(directory, name)
        if edit.done or found is None:  # changed before in this call, or gone already
            edit.done, edit.after, edit.content = True, found, None
            edit.added = edit.added + data if edit.added is not None else None
            return
        size = edit.before.size if edit.before else 0
        hasher = self._hasher(path, edit.before, directory, name)
        if edit.before is not None:
            edit.before = edit.before._replace(sha256=hasher.hexdigest())
        hasher.update(data)
        if found.size == size + len(data):
            self._remember(path, found.signature, hasher)
        edit.after = found._replace(sha256=hasher.hexdigest(), size=size + len(data))
        edit.done, edit.added = True, data

    def removed(self, path: str) -> None:
        """Say that nothing is there any more."""
        if self.directory:
            edit = self.made[path]
            edit.after, edit.done, edit.content, edit.added = None, True, None, None

    def appeared(self, path: str, directory: int, name: str) -> None:
        """Say that a path is there now: a link, a directory or a file that was moved."""
        if self.directory:
            edit = self.made[path]
            edit.after, edit.done = state(directory, name), True
            edit.content = edit.added = None

    def made_directory(self, path: str, directory: int, name: str) -> None:
        """Say that there is a new directory; it needs no note beforehand, being empty."""
        if self.directory:
            after = state(directory, name)
            label = f"{self.stem}.{len(self.made) + 1}"
            self.made[path] = Edit(path, label, None, after=after, done=True)

    def is_own(self, path: str) -> bool:
        """Whether this call made what is there."""
        edit = self.made.get(path)
        return edit is not None and edit.before is None

    def moved(self, old: str, new: str) -> None:
        """Give what this call made another path, and all that is below it."""
        replaced = self.made.pop(new)
        for path in [path for path in self.made if path == old or path.startswith(f"{old}/")]:
            edit = self.made.pop(path)
            edit.path = new + path[len(old) :]
            self.made[edit.path] = edit
        if replaced.before is not None:
            whole = self.made[new]
            replaced.after, replaced.content, replaced.done = whole.after, whole.content, True
            self.made[new] = replaced

    def _hasher(self, path: str, before: State | None, directory: int, name: str) -> _Hash:
        """The hash of the content up to now."""
        known = self._hashers.get(path)
        if before is not None and known is not None and known[0] == before.signature:
            return known[1].copy()
        hasher = hashlib.sha256()
        if before is not None and before.size:
            _hash_start(hasher, directory, name, before.size)
        return hasher

    def _remember(self, path: str, signature: Signature, hasher: _Hash) -> None:
        self._hashers.pop(path, None)
        self._hashers[path] = signature, hasher
        if len(self._hashers) > _REMEMBERED:
            del self._hashers[next(iter(self._hashers))]

    def _note(self, edit: Edit) -> None:
        """Say what is begun, in one write behind what other calls began."""
        before = edit.before
        was = before and {"kind": before.kind, "size": before.size, "mode": before.mode}
        noted = {"call": self._call_id, "path": edit.path, "name": edit.name, "before": was}
        line = json.dumps(noted).encode() + b"\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        where = f"{self.directory}/{BEGUN}"
        try:
            descriptor = os.open(where, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            descriptor = os.open(where, flags, 0o600)
        try:
            names.write_whole(descriptor, line)
        finally:
            os.close(descriptor)


class Hashing:
    """Content on its way into a file: its hash, its size, and itself while it is small."""

    __slots__ = ("_hash", "_out", "_parts", "size")

    def __init__(self, content: bytes = b"", out: Writer | None = None) -> None:
        self._hash = hashlib.sha256(content)
        self._out = out
        self._parts: list[bytes] | None = [content]
        self.size = len(content)

    def write(self, data: bytes, /) -> None:
        """Pass bytes on."""
        if self._out is not None:
            self._out.write(data)
        self._hash.update(data)
        self.size += len(data)
        if self._parts is not None:
            self._parts.append(bytes(data))
            if self.size > SMALL:
                self._parts = None

    def hexdigest(self) -> str:
        """The sha256 so far."""
        return self._hash.hexdigest()

    @property
    def content(self) -> bytes | None:
        """All of it, unless it is long."""
        return b"".join(self._parts) if self._parts and self.size <= SMALL else None


def state(directory: int, name: str) -> State | None:
    """What is there now, without its hash."""
    found = names.status(directory, name)
    if found is None:
        return None
    mode, signature = stat.S_IMODE(found.st_mode), names.signature(found)
    if stat.S_ISDIR(found.st_mode):
        return State("directory", 0, mode, signature)
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(name, dir_fd=directory)
        digest = hashlib.sha256(os.fsencode(target)).hexdigest()
        return State("link", len(target), mode, signature, digest, target)
    return State("file", found.st_size, mode, signature, names=found.st_nlink)


def _hash_start(hasher: _Hash, directory: int, name: str, size: int) -> None:
    """Hash the first bytes of a file."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        while size and (chunk := os.read(descriptor, min(size, _CHUNK))):
            hasher.update(chunk)
            size -= len(chunk)
    finally:
        os.close(descriptor)
