"""The lock on a session's directory: whoever has it sees the log between two appends."""

from __future__ import annotations

import time
from contextlib import suppress
from fcntl import LOCK_NB, flock
from typing import Protocol

from whence.errors import Unavailable

_PATIENCE_S = 30.0
_LONGEST_NAP_S = 0.001


class Holder(Protocol):
    """Somebody of this process who keeps a lock longer than needed."""

    def let_go(self, *, patient: bool = True) -> None:
        """Release it; without patience, only if that is possible at once."""


lasting: set[Holder] = set()
"""Those who keep their lock until their event loop gets control back."""


def take_lock(directory: int, kind: int, path: str, so: str) -> None:
    """Lock a session's directory, waiting for those who have it, but not for ever.

    Args:
        directory: Its descriptor.
        kind: LOCK_SH or LOCK_EX.
        path: Its name, for the error.
        so: What follows from not getting it.

    Raises:
        Unavailable: Another program does not let go.
    """
    try:
        return flock(directory, kind | LOCK_NB)
    except BlockingIOError:
        nap, until = 0.0001, time.monotonic() + _PATIENCE_S
    while True:
        for other in tuple(lasting):  # their loop may be waiting for this very call
            other.let_go(patient=False)
        with suppress(BlockingIOError):
            return flock(directory, kind | LOCK_NB)
        if time.monotonic() > until:
            raise Unavailable(
                f"another program has kept the journal {path} locked for {_PATIENCE_S:.0f} s; {so}",
                "End the program that writes it, or use another session.",
            )
        time.sleep(nap)
        nap = min(2 * nap, _LONGEST_NAP_S)
