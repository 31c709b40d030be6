"""Payloads on disk: what a transcript names instead of holding it, in `.chatmd` beside it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from whence.chatmd.opened import read, sync_folder, write_all
from whence.chatmd.render import PAYLOADS, Payload
from whence.chatmd.suggest import shown
from whence.errors import InvalidArgs, NotFound, PermissionDenied

FOLDER = ".chatmd"
_MANY = 16
_NAME = re.compile(r"(?:\./)?\.chatmd/([A-Za-z0-9_-][A-Za-z0-9_.-]*)\Z")


def is_payload(src: str) -> bool:
    """Whether a path of a transcript leads to one of its payloads."""
    return _NAME.match(src) is not None


def load(path: Path, src: str) -> bytes:
    """A payload of a transcript, by the path that the transcript names it with."""
    name = _NAME.match(src)
    if name is None:
        raise PermissionDenied(
            f"{shown(src)} is not a payload of {path.name}.",
            f"Payloads are regular files in {PAYLOADS}.",
        )
    folder = Folder(path.parent)
    try:
        return folder.load(name[1])
    except FileNotFoundError as error:
        raise NotFound(
            f"The payload {shown(src)} of {path.name} is missing.",
            f"Bring it back from a copy of {PAYLOADS}, or remove the element that names it.",
        ) from error
    finally:
        folder.close()


class Folder:
    """The folder of payloads, kept open; never what a link of that name points to."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._folder = -1

    def store(self, payloads: Iterable[Payload], *, durable: bool) -> None:
        """Write payloads; nothing is left half written."""
        payloads = tuple(payloads)
        for payload in payloads:
            name = _NAME.match(payload.path)
            if name is None:
                raise InvalidArgs(
                    f"{shown(payload.path)} is no place for a payload.",
                    f"Name a file in {PAYLOADS}.",
                )
            try:
                self._store(name[1], payload.data, durable=durable)
            except FileNotFoundError:  # the folder is not there yet, or not any more
                self.close()
                self._make()
                self._store(name[1], payload.data, durable=durable)
        if durable and payloads:
            os.fsync(self._opened())

    def load(self, name: str) -> bytes:
        """One payload.

        Raises:
            FileNotFoundError: there is none of that name.
            PermissionDenied: what is there is not a regular file.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        folder = self._opened()
        try:
            file = os.open(name, flags, dir_fd=folder)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise PermissionDenied(
                f"The payload {name} cannot be read: {error.strerror}.",
                "It must be a regular file.",
            ) from error
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise PermissionDenied(
                    f"The payload {name} is not a regular file.", "Replace it by one."
                )
            return read(file, 0, status.st_size)
        finally:
            os.close(file)

    def sync(self, paths: Iterable[str]) -> None:
        """Wait until the disk has payloads: each on its own, or where they are many, all at once.

        Those that somebody has removed meanwhile are not missed.
        """
        named = [found[1] for path in paths if (found := _NAME.match(path))]
        if not named:
            return
        try:
            folder = self._opened()
            if len(named) > _MANY and _sync_filesystem(folder):
                return
            for name in named:
                _sync(os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder))
            os.fsync(folder)
        except FileNotFoundError:
            return

    def close(self) -> None:
        """Give the descriptor back."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def _opened(self) -> int:
        if self._folder < 0:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                self._folder = os.open(self._parent / FOLDER, flags)
            except NotADirectoryError as error:
                raise PermissionDenied(
                    f"{self._parent / FOLDER} is not a folder, or a link to one.",
                    "Make it a folder.",
                ) from error
        return self._folder

    def _make(self) -> None:
        try:
            os.mkdir(self._parent / FOLDER, 0o700)
            sync_folder(self._parent)
        except FileExistsError:
            return

    def _store(self, name: str, data: bytes, *, durable: bool) -> None:
        """Write a file whose name says what is in it: one that is there is most often the same."""
        folder = self._opened()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            file = os.open(name, flags, 0o600, dir_fd=folder)
        except FileExistsError:
            if self.load(name) != data:
                part = f".{name}.{os.urandom(6).hex()}"
                self._fill(os.open(part, flags, 0o600, dir_fd=folder), part, data, durable=durable)
                os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            self._fill(file, name, data, durable=durable)

    def _fill(self, file: int, name: str, data: bytes, *, durable: bool) -> None:
        try:
            write_all(file, data)
            if durable:
                os.fsync(file)
        except BaseException:
            os.unlink(name, dir_fd=self._folder)
            raise
        finally:
            os.close(file)


def _sync(file: int) -> None:
    try:
        os.fdatasync(file)
    finally:
        os.close(file)


def _sync_filesystem(file: int) -> bool:
    """Whether there is such a call here, and it worked."""
    import ctypes

    call = getattr(ctypes.CDLL(None), "syncfs", None)
    return call is not None and call(file) == 0
