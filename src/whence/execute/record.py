"""The record of a change under way, and how each of its steps is taken and taken back."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from typing import Literal, TypeAlias

from whence.errors import Conflict
from whence.execute import names
from whence.execute.containment import Root, open_beneath

CHANGES = os.path.join(".agent", "changes")
"""Where the records are, below the workspace."""
NEW, ACTIVE, DONE = ".new", ".active", ".done"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY

Kind: TypeAlias = Literal["create", "replace", "remove"]


@dataclass(frozen=True, slots=True)
class Step:
    """What a record says of one file."""

    directory: str
    """Relative to the workspace; empty for itself."""
    name: str
    kind: Kind
    after: str
    """The sha256 of its new content; empty where there is none."""

    @property
    def path(self) -> str:
        """Relative to the workspace."""
        return os.path.join(self.directory, self.name)


@dataclass(frozen=True, slots=True)
class Target:
    """One file of a change, as it was found and as it is to be."""

    directory: str
    name: str
    content: bytes | None
    mode: int | None
    """None: what the umask leaves."""
    found: os.stat_result | None
    """What stood there when the change was checked."""

    @property
    def path(self) -> str:
        """Relative to the workspace."""
        return os.path.join(self.directory, self.name)

    def step(self) -> Step:
        """What a record must say of it."""
        if self.content is None:
            return Step(self.directory, self.name, "remove", "")
        kind: Kind = "create" if self.found is None else "replace"
        return Step(self.directory, self.name, kind, hashlib.sha256(self.content).hexdigest())


class Record:
    """A change under way: its file in `.agent/changes`, locked, and what it says."""

    def __init__(self, root: Root, stem: str, steps: list[Step], made: list[str]) -> None:
        self.steps = steps
        self._root = root
        self._stem = stem
        self._made = made
        self._state = NEW
        self._directory = self._file = -1

    @classmethod
    def begin(cls, root: Root, steps: list[Step], made: list[str]) -> Record:
        """A durable record; from here on a crash is followed by taking back."""
        record = cls(root, secrets.token_hex(6), steps, made)
        record._directory = _records(root)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            record._file = os.open(record._stem + NEW, flags, 0o600, dir_fd=record._directory)
            flock(record._file, LOCK_EX)
            names.write_whole(record._file, record._text())
            os.fsync(record._file)
            record._become(ACTIVE)
            os.fsync(record._directory)
        except BaseException:
            record.forget()
            raise
        return record

    @classmethod
    def taken_over(cls, root: Root, directory: int, stem: str, state: str) -> Record | None:
        """The record of a process that is gone; None where it lives, or the record is not ours."""
        try:
            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(stem + state, flags, dir_fd=directory)
        except OSError:
            return None
        try:
            flock(file, LOCK_EX | LOCK_NB)
            steps, made = _read(file, root)
            # Its owner may have renamed it between the two: then it is none of ours.
            if names.inode(directory, stem + state) != os.fstat(file).st_ino:
                os.close(file)
                return None
        except (OSError, ValueError, TypeError, KeyError):
            os.close(file)
            return None
        record = cls(root, stem, steps, made)
        record._state, record._file, record._directory = state, file, os.dup(directory)
        return record

    def make_directories(self) -> None:
        """Make the parents that new files need."""
        for path in self._made:
            above, _, name = path.rpartition("/")
            with about(path), self._opened(above) as parent, suppress(FileExistsError):
                os.mkdir(name, dir_fd=parent)

    def stage(self, index: int, target: Target) -> None:
        """Write the new content beside its target, then give the old one a second name."""
        if target.content is None:
            return
        staged, kept = self._names(index)
        with self._opened(target.directory) as directory:
            names.write_beside(directory, staged, target.content, target.mode, target.found)
            if target.found is not None:
                names.second_name(directory, target.name, directory, kept)

    def exchange(self, index: int, target: Target) -> None:
        """Put the new content in place of the old one, if that is still what was found."""
        staged, kept = self._names(index)
        with self._opened(target.directory) as directory:
            if not names.is_same(directory, target.name, target.found):
                raise changed_meanwhile(target.path)
            if target.content is None:
                os.rename(target.name, kept, src_dir_fd=directory, dst_dir_fd=directory)
            elif target.found is None:
                names.move_to_free_name(directory, staged, target.name)
            else:
                os.replace(staged, target.name, src_dir_fd=directory, dst_dir_fd=directory)

    def sync_directories(self) -> None:
        """Make all names durable; those of a directory that is gone need nothing."""
        above = {os.path.dirname(path) for path in self._made}
        for path in {step.directory for step in self.steps} | above:
            with suppress(FileNotFoundError, NotADirectoryError), self._opened(path) as directory:
                os.fsync(directory)

    def commit(self) -> None:
        """From here on the change has happened."""
        self._become(DONE)
        with suppress(OSError):  # too late to take anything back: the name has changed
            os.fsync(self._directory)

    def take_back(self) -> list[str]:
        """Restore every file and forget the record; what could not be restored, in words."""
        notes = [note for index in reversed(range(len(self.steps))) for note in self._undo(index)]
        for path in reversed(self._made):
            above, _, name = path.rpartition("/")
            with suppress(FileNotFoundError, NotADirectoryError), self._opened(above) as parent:
                names.remove_if_empty(parent, name)
        self.sync_directories()
        self.forget()
        return notes

    def clear(self) -> None:
        """Remove the second names of old contents, then the record; what fails waits for later."""
        try:
            for index, step in enumerate(self.steps):
                gone = suppress(FileNotFoundError, NotADirectoryError)
                with gone, self._opened(step.directory) as directory:
                    for name in self._names(index):
                        names.unlink_if_there(directory, name)
            self.forget()
        except OSError:  # the change has happened all the same; the next start cleans up
            self.let_go()

    def forget(self) -> None:
        """Remove the record and let go."""
        try:
            if self._file >= 0:
                names.unlink_if_there(self._directory, self._stem + self._state)
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Leave the record to whoever starts next."""
        held = (self._file, self._directory)
        self._file = self._directory = -1
        for descriptor in held:
            if descriptor >= 0:
                os.close(descriptor)

    def _undo(self, index: int) -> list[str]:
        step = self.steps[index]
        try:
            with self._opened(step.directory) as directory:
                restored = _UNDO[step.kind](directory, step, *self._names(index))
                if restored:
                    return []
                aside = f"{step.name}.whence-old-{self._stem}"
                kept = self._names(index)[1]
                os.rename(kept, aside, src_dir_fd=directory, dst_dir_fd=directory)
        except (FileNotFoundError, NotADirectoryError):
            return []  # its directory was not made yet, or somebody removed it since
        old = os.path.join(step.directory, aside)
        return [f"{step.path} was changed by somebody since and stays; its old content is {old}"]

    def _names(self, index: int) -> tuple[str, str]:
        return f".whence-{self._stem}-{index}.tmp", f".whence-{self._stem}-{index}.old"

    def _become(self, state: str) -> None:
        old, new = self._stem + self._state, self._stem + state
        os.rename(old, new, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self._state = state

    def _text(self) -> bytes:
        workspace = os.fstat(self._root.descriptor).st_ino
        steps = [asdict(step) for step in self.steps]
        return json.dumps({"workspace": workspace, "steps": steps, "made": self._made}).encode()

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        descriptor = open_beneath(self._root.descriptor, path, _DIRECTORY)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _undo_new(directory: int, step: Step, staged: str, kept: str) -> bool:
    del kept
    present, waiting = names.inode(directory, step.name), names.inode(directory, staged)
    used_up = waiting is None and present is not None
    if (present is not None and present == waiting) or (
        used_up and names.digest_of(directory, step.name) == step.after
    ):
        os.unlink(step.name, dir_fd=directory)
    names.unlink_if_there(directory, staged)
    return True


def _undo_replaced(directory: int, step: Step, staged: str, kept: str) -> bool:
    if names.inode(directory, staged) is not None:  # the exchange, which uses it up, never came
        names.unlink_if_there(directory, kept)
        os.unlink(staged, dir_fd=directory)
        return True
    if names.inode(directory, kept) is None:
        return True
    there = names.inode(directory, step.name) is not None
    present = names.digest_of(directory, step.name) if there else step.after
    if there and present == names.digest_of(directory, kept):
        os.unlink(kept, dir_fd=directory)
    elif present == step.after:
        os.replace(kept, step.name, src_dir_fd=directory, dst_dir_fd=directory)
    else:
        return False
    return True


def _undo_removed(directory: int, step: Step, staged: str, kept: str) -> bool:
    del staged
    present, old = names.inode(directory, step.name), names.inode(directory, kept)
    if old is None:
        return True
    if present is None:
        names.move_to_free_name(directory, kept, step.name)
    elif present == old:
        os.unlink(kept, dir_fd=directory)
    return present in (None, old)


_UNDO = {"create": _undo_new, "replace": _undo_replaced, "remove": _undo_removed}
"""Each can be repeated after a crash in its middle; False: somebody else's file is in the way."""


def changed_meanwhile(path: str) -> Conflict:
    """The error for a file that somebody else touched at the same time."""
    return Conflict(
        f"{path!r} changed while it was edited; nothing was written", "Read it again, then edit."
    )


def _records(root: Root) -> int:
    with suppress(FileExistsError):
        os.mkdir(".agent", dir_fd=root.descriptor)
    with suppress(FileExistsError):
        os.mkdir(CHANGES, 0o700, dir_fd=root.descriptor)
    return open_beneath(root.descriptor, CHANGES, _DIRECTORY)


def _read(file: int, root: Root) -> tuple[list[Step], list[str]]:
    """What a record says, if it was written here: a record from elsewhere could delete files."""
    found = os.fstat(file)
    with os.fdopen(os.dup(file), "rb") as whole:
        value = json.loads(whole.read())
    steps, made = [Step(**step) for step in value["steps"]], list(value["made"])
    own = found.st_uid == os.geteuid() and not found.st_mode & 0o077
    here = value["workspace"] == os.fstat(root.descriptor).st_ino
    inside = all(map(_is_ordinary, [step.path for step in steps] + made))
    if not (own and here and inside and all("/" not in step.name for step in steps)):
        raise ValueError("the record was not written here")
    return steps, made


def _is_ordinary(path: str) -> bool:
    parts = path.split("/")
    return parts[0] != ".agent" and not {"", ".", ".."} & set(parts)


@contextmanager
def about(path: str) -> Iterator[None]:
    """Tell which file an error of the system is about."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
