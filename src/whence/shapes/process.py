"""What running a program looks like to those who may not start one themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from enum import StrEnum
from typing import Protocol

from whence.shapes.dataclass import dataclass
from whence.shapes.json import JSONValue


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


class ProcessStreamer(Protocol):
    """Runs our own helpers, such as ripgrep, and gives out their lines as they come."""

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


class Level(StrEnum):
    """How far a promise of isolation holds on this machine."""

    ENFORCED = "enforced"
    """The kernel keeps it."""
    PARTIAL = "partial"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Isolation:
    """How far a program was kept apart."""

    filesystem: Level = Level.NONE
    network: Level = Level.NONE
    processes: Level = Level.NONE

    @property
    def full(self) -> bool:
        """Whether all of it is enforced."""
        return {self.filesystem, self.network, self.processes} == {Level.ENFORCED}

    def as_json(self) -> dict[str, JSONValue]:
        """As outcomes and the journal carry it."""
        return {"filesystem": str(self.filesystem), "network": str(self.network),
                "processes": str(self.processes)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Resources:
    """What one program and its children may use up."""

    cpu_s: int = 60
    memory_bytes: int = 2_000_000_000
    file_bytes: int = 1_000_000_000
    processes: int = 256
    descriptors: int = 1024
    disk_bytes: int = 10_000_000_000
    """How much less free the disk below a writable directory may become meanwhile."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a program may touch."""

    writable: tuple[str, ...] = ()
    """Absolute directories, usually the workspace; the rest is read-only or hidden.

    In there, too, `.git` cannot be written, and `.agent`, sockets and files of secrets stay closed.
    """
    readable: tuple[str, ...] = ()
    """Further directories, beside the system's own programs and the working directory."""
    hidden: tuple[str, ...] = ()
    """Patterns of what stays closed below those directories, besides the usual secrets."""
    shown: tuple[str, ...] = ()
    """Patterns of what is not closed there although it looks like a secret."""
    hosts: tuple[str, ...] = ()
    """What it may reach: `example.org`, `*.example.org`, `*`, each with a port or without."""
    networks: tuple[str, ...] = ()
    """Addresses that are not public and may be reached all the same, such as `127.0.0.0/8`."""
    resources: Resources = Resources()
    bare: bool = False
    """Whether it has no devices, no temporary files, no settings and no view of processes."""
    required: bool = False
    """Whether it is refused where isolation is not full."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program to be run to its end, without a shell."""

    argv: tuple[str, ...]
    cwd: str
    confinement: Confinement
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the usual few; nothing else of the environment reaches it."""
    stdin: bytes = b""
    timeout_s: float = 60.0
    merged: bool = False
    """Whether standard error goes where standard output goes: exactly in order, no longer apart."""
    reports: bool = False
    """Whether standard output is for the caller, so that only standard error is shown meanwhile."""
    keep_bytes: int = 64_000_000
    """How much output is kept; what comes after that is counted and thrown away."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of a program."""

    exit_code: int
    """Negative for a signal."""
    stdout: bytes
    stderr: bytes
    output: bytes
    """Both, in the order in which they came; exactly so where the program was `merged`."""
    isolation: Isolation
    duration_s: float
    timed_out: bool = False
    dropped: int = 0
    """Bytes of output that were not kept."""
    exceeded: str = ""
    """The limit at which it was ended, besides its time: `disk`."""
    refused: tuple[str, ...] = ()
    """Hosts with their ports that it asked the proxy for in vain."""


OnOutput = Callable[[bytes], None]
"""Shown what a program writes, while it runs."""
OnStart = Callable[[Isolation], None]
"""Told how far a program is kept apart, once it has been started."""


class ProcessRunner(ProcessStreamer, Protocol):
    """Runs programs; those of a call in the sandbox that their tool declares."""

    async def run(
        self,
        program: Program,
        *,
        on_output: OnOutput | None = None,
        on_start: OnStart | None = None,
    ) -> Finished:
        """Run a program to its end in its sandbox; at its time limit the whole group is ended.

        Raises:
            Unavailable: It cannot be started here.
            NotFound: There is no such working directory.
            InvalidArgs: `argv` is not a list of strings that a program can be given.
            PermissionDenied: It needs full isolation, and this machine cannot give it.
            ExecutionFailed: It was killed and does not go.
        """
        ...

    def isolation(self) -> Isolation:
        """What this machine enforces, found out by trying, once."""
        ...

    def python(self) -> tuple[str, tuple[str, ...]]:
        """A Python that can be run inside, and the directories that must be readable for it."""
        ...
