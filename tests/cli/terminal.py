"""A terminal for tests: a program runs in it, and somebody types when something is to be read."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

Act = bytes | Callable[[subprocess.Popen[bytes]], object]


@dataclass(frozen=True)
class Shown:
    """What came of it."""

    code: int
    raw: str
    """Everything that was written, with what steers the terminal."""

    @property
    def lines(self) -> list[str]:
        """What stands on the screen in the end, without colours and with lines drawn over gone."""
        return [
            line.rpartition("\r\x1b[K")[2] for line in self.raw.replace("\r\n", "\n").split("\n")
        ]


def in_terminal(
    command: list[str],
    folder: Path,
    acts: Iterable[tuple[str, Act]] = (),
    *,
    columns: int = 80,
    env: Mapping[str, str] | None = None,
) -> Shown:
    """Run a command in a terminal; each act follows when its words have appeared since the last."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *command], cwd=folder, env=env,
        stdin=slave, stdout=slave, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    waiting, written, seen = list(acts), b"", 0
    deadline = time.monotonic() + 60
    try:
        while (piece := _read(master, deadline)) is not None:
            written += piece
            while waiting and waiting[0][0].encode() in written[seen:]:
                seen = len(written)
                _act(waiting.pop(0)[1], process, master)
        code = process.wait(timeout=30)
    finally:
        process.kill()
        os.close(master)
    assert not waiting, f"{waiting[0][0]!r} never came: {written!r}"
    return Shown(code, written.decode("utf-8", "replace"))


def _act(act: Act, process: subprocess.Popen[bytes], master: int) -> None:
    if isinstance(act, bytes):
        os.write(master, act)
    else:
        act(process)


def _read(master: int, deadline: float) -> bytes | None:
    ready, _, _ = select.select([master], [], [], max(deadline - time.monotonic(), 0))
    assert ready, "nothing more came"
    try:
        return os.read(master, 65_536) or None
    except OSError:  # the other end is closed
        return None
