"""The progress line: what is waited for, drawn over again and again at the bottom of a terminal."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from whence.cli.text import fitted, harmless

_EVERY_S = 1.0


class Status:
    """One line on a terminal; nothing where there is none.

    It shows for how long it has been there, once that is longer than a moment.
    """

    def __init__(self, out: IO[str], *, live: bool) -> None:
        self._out = out
        self._live = live
        self._text = ""
        self._since = 0.0
        self._drawn = False
        self._timer: asyncio.TimerHandle | None = None

    def show(self, text: str) -> None:
        """Say what is waited for now."""
        if not self._live or text == self._text:
            return
        self._text, self._since = text, time.monotonic()
        self._draw()

    def tick(self) -> None:
        """Let the time be seen of what was shown before there was an event loop."""
        if self._drawn:
            self._draw()

    def clear(self) -> None:
        """Make room for something that stays."""
        if self._drawn:
            self._out.write("\r\x1b[K")
            self._out.flush()
        self._drawn, self._text = False, ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Draw nothing for a while."""
        self.clear()
        live, self._live = self._live, False
        try:
            yield
        finally:
            self._live = live

    def _draw(self) -> None:
        seconds = time.monotonic() - self._since
        passed = f"  {seconds:.0f} s" if seconds >= _EVERY_S else ""
        text = fitted(harmless(self._text), columns(self._out) - 1 - len(passed))
        self._out.write(f"\r\x1b[K{text}{passed}")
        self._out.flush()
        self._drawn = True
        self._again()

    def _again(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._timer = loop.call_later(_EVERY_S, self._draw)


def columns(out: IO[str]) -> int:
    """How wide a terminal is."""
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
