"""What a sandbox covers and locks is what was found, and not what took its place.

Bubblewrap is told paths. Another program in the same workspace could put a link in the place of one
just before it is mounted, and would find there whatever the link leads to, from anywhere on the
machine; or it could move a secret away from under its cover. So all is looked at again when it is
mounted and nothing has run yet.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from whence.errors import Conflict, Unavailable
from whence.execute.sandbox import start
from whence.execute.sandbox.hidden import Veil, Veiled

_PAUSE_S = 0.0003
_LOOKS = 5
"""One may miss what is moved meanwhile from where it comes next to where it has just been."""
_GONE = (errno.ENOENT, errno.ESRCH, errno.EINVAL)
"""What the kernel says of a process that has ended, reaped or not."""


class Layout:
    """What was found in the directories of one sandbox.

    Args:
        alone: whether no other program runs meanwhile, so that covers are where they should be.
    """

    def __init__(self, *, alone: bool = True) -> None:
        self._alone = alone
        self._veils: list[Veil] = []
        self._locked: dict[str, tuple[int, int] | None] = {}

    def look(self, veil: Veil) -> Veiled:
        """What is there now; it is remembered."""
        seen = veil.look()
        self._veils.append(veil)
        self._locked |= {path: _identity(path) for path in seen.locked}
        return seen

    def check(self, pid: int) -> None:
        """Compare with what the first process of a sandbox sees, which waits for us.

        Raises:
            Conflict: Something has changed.
            Unavailable: The sandbox does not get ready.
        """
        if (self._alone and not self._locked) or not _is_ready(pid):
            return
        root = f"/proc/{pid}/root"
        for path, found in self._locked.items():
            if found is None or _identity(root + path) != found:
                raise _changed(path)
        if not self._alone:
            for veil in self._veils:
                self._check_inside(root, veil.seen_from(root))

    def _check_inside(self, root: str, veil: Veil) -> None:
        """Nothing that is to be hidden can be seen from inside; a cover looks like nothing else."""
        for _ in range(_LOOKS):
            seen = veil.look()
            closed = (path for path in (*seen.files, *seen.directories) if not _is_cover(path))
            unlocked = (path for path in seen.locked if path[len(root) :] not in self._locked)
            for path in (*closed, *unlocked):
                raise _changed(path[len(root) :])


def _is_cover(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or not stat.S_IMODE(mode)


def _changed(path: str) -> Conflict:
    return Conflict(
        f"{path!r} was changed while a sandbox was made for it",
        "Call again when nothing else changes the workspace.",
    )


def _identity(path: str) -> tuple[int, int] | None:
    """What is there, unless it is nothing or a link: neither was found to be locked."""
    try:
        there = os.lstat(path)
    except OSError:
        return None
    return None if stat.S_ISLNK(there.st_mode) else (there.st_dev, there.st_ino)


def _is_ready(pid: int) -> bool:
    """Wait until all is mounted, when the new root is the root; False if it has ended instead."""
    until = time.monotonic() + start.PATIENCE_S
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/mountinfo", "rb") as mounts:
                if b" /newroot / " in mounts.read():
                    return True
        except OSError as error:
            if error.errno in _GONE:
                return False
            raise
        time.sleep(_PAUSE_S)
    raise Unavailable("bubblewrap does not answer", "Try again when the machine is idle.")
