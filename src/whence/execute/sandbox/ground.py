"""Where a sandbox is started from: by an ordinary user as he is, by root as nobody.

Root must not reach the inside: its number alone opens /proc/sys and the sandbox's own binary. So
root starts a sandbox as nobody, and the directories that it is given are mounted with their owner
read as nobody (an id-mapped mount), in a mount namespace that only this thread has. Files made
inside belong on disk to the owner of the directory, and no directory above must be open to nobody.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, cast

from whence.execute.sandbox.identity import can_change
from whence.execute.sandbox.kernel import call_kernel, libc
from whence.execute.sandbox.start import wait_for
from whence.execute.sandbox.tools import system_tool

NOBODY = 65534
_STAGE = "/sys"
"""Covered by an empty file system of our own: nothing that is given away can lie below it."""
_NUMBERS = itertools.count()
_NEW_MOUNTS = 0x00020000
_RECURSIVE, _SLAVE = 0x4000, 1 << 19
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_HERE = -100
_CLONE_TREE = 1 | os.O_CLOEXEC
_AT_EMPTY_PATH, _AT_RECURSIVE, _MOVE_EMPTY_PATH, _DETACH = 0x1000, 0x8000, 4, 2
_IDMAP = 0x00100000


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns", ctypes.c_uint64),
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """How one sandbox is started."""

    identity: tuple[int, int] | None = None
    """The user and the group that start it; None: ourselves."""
    sources: Mapping[str, str] | None = None
    """Where the directories are found from there; None: where they are."""
    is_root: bool = False
    """Whether root's number reaches the inside, since nothing else could open the directories."""

    def source(self, path: str) -> str:
        """What to mount for a directory."""
        return path if self.sources is None else self.sources[path]


class Ground:
    """Prepares the start of sandboxes. Everything is called in one and the same thread."""

    def __init__(self, *, may_map: bool = True) -> None:
        self._may_map = may_map

    def prepare(self, directories: Iterable[str]) -> Standing:
        """Make directories reachable for the one who starts the sandbox."""
        paths = tuple(dict.fromkeys(directories))
        if os.geteuid() != 0:
            return Standing()
        try:
            if not can_change():
                return Standing(is_root=True)
            _enter()
        except OSError:
            return Standing(is_root=True)  # a container whose root is none
        owner = os.stat(paths[0]) if paths else None
        if self._may_map:
            try:
                return Standing((NOBODY, NOBODY), self._staged(paths, mapped=True))
            except OSError:
                pass  # an old kernel, or a file system without such mounts
        if owner is None or owner.st_uid:
            someone = (owner.st_uid, owner.st_gid) if owner else (NOBODY, NOBODY)
            return Standing(someone, self._staged(paths, mapped=False))
        return Standing(sources=self._staged(paths, mapped=False), is_root=True)

    def release(self, standing: Standing) -> None:
        """Take away what was made for a sandbox; it has its own copy by now."""
        for staged in (standing.sources or {}).values():
            libc().umount2(os.fsencode(staged), _DETACH)
            os.rmdir(staged)

    def _staged(self, paths: Iterable[str], *, mapped: bool) -> dict[str, str]:
        staged: dict[str, str] = {}
        try:
            for path in paths:
                place = f"{_STAGE}/{next(_NUMBERS)}"
                os.mkdir(place)
                staged[path] = place
                _mount(path, place, mapped=mapped)
        except BaseException:
            self.release(Standing(sources=staged))
            raise
        return staged


@lru_cache(maxsize=1)
def _enter() -> None:
    """Give this thread a mount namespace of its own."""
    call_kernel("unshare", _NEW_MOUNTS)
    call_kernel("mount", b"none", b"/", None, _RECURSIVE | _SLAVE, None)
    # Every mount is copied for every sandbox, and a machine has many below this one.
    libc().umount2(os.fsencode(_STAGE), _DETACH)
    call_kernel("mount", b"tmpfs", os.fsencode(_STAGE), b"tmpfs", 0, b"mode=755")


def _mount(path: str, place: str, *, mapped: bool) -> None:
    opened = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        tree = call_kernel(_OPEN_TREE, opened, b"", _CLONE_TREE | _AT_EMPTY_PATH | _AT_RECURSIVE)
        owner = os.fstat(opened)
    finally:
        os.close(opened)
    try:
        if mapped:
            users = _users(owner.st_uid, owner.st_gid)
            wanted = _Attributes(_IDMAP, 0, 0, users)
            flags, size = _AT_EMPTY_PATH | _AT_RECURSIVE, ctypes.sizeof(wanted)
            call_kernel(_MOUNT_SETATTR, tree, b"", flags, ctypes.byref(wanted), size)
        call_kernel(_MOVE_MOUNT, tree, b"", _HERE, os.fsencode(place), _MOVE_EMPTY_PATH)
    finally:
        os.close(tree)


@lru_cache(maxsize=64)
def _users(uid: int, gid: int) -> int:
    """A user namespace in which the owner is nobody; its descriptor, for as long as we run."""
    with subprocess.Popen(
        [system_tool("unshare"), "--user", system_tool("cat")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    ) as held:
        try:
            _await_echo(cast("IO[bytes]", held.stdin), cast("IO[bytes]", held.stdout))
            for kind, number in (("uid", uid), ("gid", gid)):
                with open(f"/proc/{held.pid}/{kind}_map", "w", encoding="utf-8") as mapping:
                    mapping.write(f"{number} {NOBODY} 1\n")
            return os.open(f"/proc/{held.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            held.kill()


def _await_echo(there: IO[bytes], back: IO[bytes]) -> None:
    """What comes back was written from inside the namespace, so that it is there by then.

    Raises:
        OSError: There is none.
    """
    there.write(b"\n")
    wait_for(back.fileno(), "unshare")
    if not back.read(1):
        raise OSError(errno.EPERM, "user namespaces cannot be made")
