"""The confined filesystem, for writing: each file whole or not at all, and every edit noted."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from whence.errors import Conflict, InvalidArgs, NotFound, PermissionDenied
from whence.execute import names
from whence.execute.draft import Draft
from whence.execute.edits import Hashing
from whence.execute.ports import Change, Writer
from whence.execute.reading import ConfinedFiles, os_error, require_regular, translated
from whence.execute.record import Target, changed_meanwhile
from whence.execute.transaction import change_all

__all__ = ["WorkspaceFiles", "os_error"]


class WorkspaceFiles(ConfinedFiles):
    """Implements `Files` for one call: places that the gate located, and what lies below them."""

    @contextmanager
    def replacing(self, path: str, *, like: str | None = None) -> Iterator[Writer]:
        """Writes a file whole or not at all; keeps its mode, or takes that of `like`."""
        with self._parent(path) as (directory, name), translated(path):
            present = names.status(directory, name)
            _require_writable(path, directory, name, present)
            mode = self._mode(present, like)
            with (
                Draft(directory, mode) as draft,
                os.fdopen(draft.descriptor, "wb", closefd=False) as out,
            ):
                content = Hashing(out=out)
                yield content
                out.flush()
                names.dress(draft.descriptor, mode, present)
                os.fdatasync(draft.descriptor)
                label = self._label(path)
                self._edits.begin(label, directory, name)
                draft.replace(name)
            self._edits.wrote(label, directory, name, content)

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file in one write, making it where it is absent."""
        with self._parent(path) as (directory, name), translated(path):
            label = self._label(path)
            self._edits.begin(label, directory, name, keep=False)
            while not (_append_to(path, directory, name, data) or _create(directory, name, data)):
                pass  # somebody made or removed it in between
            self._edits.appended(label, directory, name, data)

    def change(self, changes: Sequence[Change]) -> None:
        """Write and remove several files: all of them or none, also through a crash."""
        alone = len(changes) == 1
        targets = _distinct([self._target(change, alone=alone) for change in changes])
        for change, target in zip(changes, targets, strict=True):
            self._require_expected(change, target)
        try:
            if alone:
                self._change_one(changes[0], targets[0])
            elif targets:
                self._change_all(targets)
        except OSError as error:
            raise os_error(error, str(error.filename or changes[0].path)) from None

    def make_directories(self, path: str) -> bool:
        """Make a directory and its parents; False if it was there."""
        root, relative = self._below(path)
        made = False
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=root.descriptor)
        label = "" if root is self._root else "/"
        try:
            for part in [part for part in relative.split("/") if part not in ("", ".")]:
                label = os.path.join(label, part)
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
                    made = True
                    self._edits.made_directory(label, here, part)
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
                os.close(here)
                here = below
        except NotADirectoryError:
            raise Conflict(f"{path!r}: a file is in the way", "Choose another name.") from None
        except OSError as error:
            raise os_error(error, path) from None
        finally:
            os.close(here)
        return made

    def make_link(self, path: str, target: str) -> None:
        """Make a symbolic link that stays inside."""
        below = os.path.join(os.path.dirname(self.real(path)), target)
        if not self._root.locate(below).inside:
            raise PermissionDenied(
                f"{path!r} would link to {target!r}, outside the workspace", "Leave the link out."
            )
        with self._parent(path, follow=False) as (directory, name), translated(path):
            label = self._label(path, follow=False)
            self._edits.begin(label, directory, name)
            os.symlink(target, name, dir_fd=directory)
            self._edits.appeared(label, directory, name)

    def rename(self, old: str, new: str) -> None:
        """Move within the workspace, replacing a file."""
        with (
            self._parent(old, follow=False) as (source, old_name),
            self._parent(new, follow=False) as (target, new_name),
            translated(new),
        ):
            before, after = self._label(old, follow=False), self._label(new, follow=False)
            own = self._edits.is_own(before)
            tree = [] if own else self._begin_tree(old, source, old_name)
            self._edits.begin(after, target, new_name)
            os.replace(old_name, new_name, src_dir_fd=source, dst_dir_fd=target)
            if own:
                self._edits.moved(before, after)
            for below in tree:
                self._edits.removed(f"{before}{below}")
                if below:
                    with self._parent(f"{new}{below}", follow=False) as (directory, name):
                        self._edits.begin(f"{after}{below}", directory, "")
                        self._edits.appeared(f"{after}{below}", directory, name)
                else:
                    self._edits.appeared(after, target, new_name)

    def remove(self, path: str) -> None:
        """Remove a file or a whole directory."""
        label = self._label(path, follow=False)
        with self._parent(path, follow=False) as (directory, name), translated(path):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            self._edits.begin(label, directory, name)
            if not stat.S_ISDIR(found.st_mode):
                os.unlink(name, dir_fd=directory)
                self._edits.removed(label)
                return
        for entry in list(self.entries(path)):
            self.remove(f"{path}/{entry.name}")
        with self._parent(path, follow=False) as (directory, name), translated(path):
            os.rmdir(name, dir_fd=directory)
            self._edits.removed(label)

    def _begin_tree(self, path: str, directory: int, name: str) -> list[str]:
        """Note a file, or a directory and all below it; their paths behind the given one."""
        self._edits.begin(self._label(path, follow=False), directory, name)
        found = [""]
        if self._edits.directory and stat.S_ISDIR(
            os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        ):
            for entry in list(self.entries(path)):
                below = f"{path}/{entry.name}"
                with self._parent(below, follow=False) as (parent, last):
                    rest = self._begin_tree(below, parent, last)
                found += [f"/{entry.name}{more}" for more in rest]
        return found

    def _target(self, change: Change, *, alone: bool) -> Target:
        """Where a change happens, and what is there now."""
        follow = change.content is not None
        root, directory, name = self._split(change.path, follow=follow)
        if root is not self._root and not alone:
            raise PermissionDenied(
                f"{change.path!r}: a change of several files stays inside the workspace",
                "Change this file in a call of its own.",
            )
        try:
            with self._parent(change.path, follow=follow) as (above, _):
                found = names.status(above, name)
                if follow:
                    _require_writable(change.path, above, name, found)
        except NotFound:
            found = None
        if found is not None and not follow and not stat.S_ISLNK(found.st_mode):
            require_regular(change.path, found)
        mode = change.mode
        if mode is None and found is not None:
            mode = stat.S_IMODE(found.st_mode)
        elif mode is None and change.like is not None:
            mode = self._mode_of(change.like)
        return Target(directory, name, change.content, mode, found)

    def _require_expected(self, change: Change, target: Target) -> None:
        if target.found is None:
            if change.content is None:
                raise os_error(OSError(errno.ENOENT, ""), change.path)
            if change.expect:
                raise Conflict(f"{change.path!r} is gone", "Look where it went, then edit again.")
        elif change.expect == b"":
            raise Conflict(f"{change.path!r} exists", "Choose a name that is free, or edit it.")
        elif change.expect is not None:
            with self._parent(change.path, follow=change.content is not None) as (above, name):
                digest = names.digest_of(above, name)
                same = names.is_same(above, name, target.found)
            if not same or bytes.fromhex(digest) != change.expect:
                raise Conflict(
                    f"{change.path!r} has changed since it was read; nothing was written",
                    "Read it again, then edit.",
                    details={"sha256": digest, "expected": change.expect.hex()},
                )

    def _change_one(self, change: Change, target: Target) -> None:
        """One file needs no record: its name changes hands in one step."""
        if change.content is None:
            self.remove(change.path)
            return
        if target.found is None and target.directory and self._place(change.path).inside:
            self.make_directories(target.directory)
        with self._parent(change.path) as (directory, name):
            label = self._label(change.path)
            with Draft(directory, target.mode) as draft:
                names.fill(draft.descriptor, change.content, target.mode, target.found)
                if not names.is_same(directory, name, target.found):
                    raise changed_meanwhile(change.path)
                self._edits.begin(label, directory, name)
                if target.found is None:
                    draft.take(name)
                else:
                    draft.replace(name)
            self._edits.wrote(label, directory, name, change.content)

    def _change_all(self, targets: list[Target]) -> None:
        for target in targets:
            with suppress(FileNotFoundError), self._opened(target.directory) as directory:
                self._edits.begin(target.path, directory, target.name if target.found else "")
        made = change_all(self._root, targets)
        for path in made:
            above, _, name = path.rpartition("/")
            with self._opened(above) as directory:
                self._edits.made_directory(path, directory, name)
        for target in targets:
            with self._opened(target.directory) as directory:
                if target.content is None:
                    self._edits.removed(target.path)
                else:
                    self._edits.begin(target.path, directory, "")
                    self._edits.wrote(target.path, directory, target.name, target.content)

    def _mode(self, present: os.stat_result | None, like: str | None) -> int | None:
        """The mode to keep; None: a new file, which gets what the umask leaves."""
        if present is None:
            return None if like is None else self._mode_of(like)
        return stat.S_IMODE(present.st_mode)


def _distinct(targets: list[Target]) -> list[Target]:
    """The targets; a file that goes away under one spelling of its name is free for another."""
    seen: set[str] = set()
    for target in targets:
        if target.path in seen:
            raise InvalidArgs(f"{target.path!r} changes twice", "Put its changes together first.")
        seen.add(target.path)
    for target in targets if len(targets) > 1 else ():
        above = target.directory if target.content is not None else ""
        while above and above not in seen:
            above = os.path.dirname(above)
        if above:
            raise Conflict(
                f"{above!r} is a file here, and {target.path!r} would lie below it",
                "Give one of them another name.",
            )
    leaving = {
        target.found.st_ino: target.path
        for target in targets
        if target.content is None and target.found is not None and target.found.st_nlink == 1
    }
    return [
        replace(target, found=None)
        if target.content is not None
        and target.found is not None
        and leaving.get(target.found.st_ino, target.path) != target.path
        else target
        for target in targets
    ]


def _require_writable(path: str, directory: int, name: str, found: os.stat_result | None) -> None:
    """Refuse what somebody protected: replacing a file by its name would not even notice."""
    if found is None:
        return
    require_regular(path, found)
    if not names.may_write(directory, name):
        raise PermissionDenied(
            f"{path!r} is read-only", "Leave it as it is, or ask the user to make it writable."
        )


def _append_to(path: str, directory: int, name: str, data: bytes) -> bool:
    """Add to a file; False: there is none."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except FileNotFoundError:
        return False
    try:
        before = os.fstat(descriptor)
        require_regular(path, before)
        _append_whole(descriptor, data, before.st_size)
    finally:
        os.close(descriptor)
    return True


def _create(directory: int, name: str, data: bytes) -> bool:
    """Make a file; False: there is one."""
    with Draft(directory, None) as draft:
        names.write_whole(draft.descriptor, data)
        try:
            draft.take(name)
        except FileExistsError:
            return False
    return True


def _append_whole(descriptor: int, data: bytes, size_before: int) -> None:
    """One write; a write cut short by a full disk is taken back."""
    written = os.write(descriptor, data)
    if written < len(data):
        os.ftruncate(descriptor, size_before)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
