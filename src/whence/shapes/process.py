"""What running a program looks like to those who may not start one themselves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class ProcessStream(Protocol):
    """A running program: its standard output, line by line, while it runs."""

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        ...

    @property
    def stderr(self) -> bytes:
        """The beginning of what it wrote to standard error so far."""
        ...

    def __aiter__(self) -> ProcessStream:
        """The stream itself."""
        ...

    async def __anext__(self) -> bytes:
        """The next line without its newline, cut at the maximum length.

        Raises:
            TimedOut: The program took longer than it was given; it is ended.
        """
        ...

    async def stop(self) -> None:
        """End the program and everything that it started."""
        ...


class ProcessRunner(Protocol):
    """Runs programs; a sandbox gives a confined one."""

    def stream(
        self, argv: Sequence[str], *, cwd: str, timeout_s: float, max_line: int = 65536
    ) -> AbstractAsyncContextManager[ProcessStream]:
        """Start a program without a shell; leaving the context ends it.

        Raises:
            Unavailable: The program cannot be started here.
            NotFound: There is no such working directory.
            InvalidArgs: `argv` is not a list of strings that a program can be given.
        """
        ...
