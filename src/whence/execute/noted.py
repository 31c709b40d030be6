"""Programs of one call: they run as ever, and it is known how far they were kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from whence.shapes.process import (
    Finished,
    Isolation,
    Level,
    OnOutput,
    OnStart,
    ProcessRunner,
    ProcessStream,
    Program,
)

_WEAKEST_FIRST = (Level.NONE, Level.PARTIAL, Level.ENFORCED)


class Noted:
    """A runner for one call, which can be asked afterwards, however the call ended."""

    def __init__(self, processes: ProcessRunner) -> None:
        self.reached: Isolation | None = None
        """How far its programs were kept apart, the weakest of them; None: it has started none."""
        self._processes = processes

    async def run(
        self,
        program: Program,
        *,
        on_output: OnOutput | None = None,
        on_start: OnStart | None = None,
    ) -> Finished:
        """Run a program to its end in its sandbox."""

        def note(isolation: Isolation) -> None:
            self.reached = isolation if self.reached is None else weaker(self.reached, isolation)
            if on_start is not None:
                on_start(isolation)

        return await self._processes.run(program, on_output=on_output, on_start=note)

    def stream(
        self, argv: Sequence[str], *, cwd: str, timeout_s: float, max_line: int = 65536
    ) -> AbstractAsyncContextManager[ProcessStream]:
        """Run a helper of ours, which is not the call's program."""
        return self._processes.stream(argv, cwd=cwd, timeout_s=timeout_s, max_line=max_line)

    def isolation(self) -> Isolation:
        """What this machine enforces."""
        return self._processes.isolation()

    def python(self) -> tuple[str, tuple[str, ...]]:
        """A Python that can be run inside, and the directories that must be readable for it."""
        return self._processes.python()


def weaker(one: Isolation, other: Isolation) -> Isolation:
    """What holds for two programs together."""
    return Isolation(
        _lower(one.filesystem, other.filesystem),
        _lower(one.network, other.network),
        _lower(one.processes, other.processes),
    )


def _lower(one: Level, other: Level) -> Level:
    return min(one, other, key=_WEAKEST_FIRST.index)
