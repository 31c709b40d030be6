"""What a handler may hold: the world, cut down to what its call was admitted for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import BinaryIO, Protocol

import msgspec

from whence.shapes.dataclass import dataclass
from whence.shapes.process import OnOutput, ProcessRunner
from whence.shapes.web import PUBLIC, HostPolicy, HttpGetter


class Kind(StrEnum):
    """What stands under a name."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    OTHER = "other"
    """A device, a socket or a FIFO."""


@dataclass(frozen=True, slots=True)
class Info:
    """One entry of a directory."""

    name: str
    kind: Kind
    size: int
    modified: float
    """Seconds since 1970, UTC."""


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file when several change as one. A move is a removal and a new file."""

    path: str
    content: bytes | None
    """The new content; None removes the file, or the link where the path is one."""
    like: str | None = None
    """A file whose mode a new file takes."""
    expect: bytes | None = None
    """The sha256 digest of the content that the change was made for; empty: there is no file."""
    mode: int | None = None
    """The mode that the file gets; None: its own, that of `like`, or what the umask leaves."""


class Writer(Protocol):
    """Takes the new content of a file."""

    def write(self, data: bytes, /) -> object:
        """Add bytes."""
        ...


class Files(Protocol):
    """The filesystem, confined. Paths are text as the call gave them, or below such a path.

    Every method raises the protocol's errors: NotFound, InvalidArgs, PermissionDenied, Conflict.
    """

    def real(self, path: str) -> str:
        """The absolute path, for programs that are started on it."""
        ...

    def shown(self, path: str) -> str:
        """The path relative to the workspace."""
        ...

    def info(self, path: str, *, follow: bool = True) -> Info | None:
        """What is there, or None."""
        ...

    def entries(self, path: str) -> Iterator[Info]:
        """The entries of a directory, links not followed."""
        ...

    def open(self, path: str) -> BinaryIO:
        """A regular file, for reading."""
        ...

    def replacing(self, path: str, *, like: str | None = None) -> AbstractContextManager[Writer]:
        """Writes a file whole or not at all; keeps its mode, or takes that of `like`."""
        ...

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file in one write, making it where it is absent."""
        ...

    def change(self, changes: Sequence[Change]) -> None:
        """Write and remove several files: all of them or none, also through a crash.

        Parents of new files are made. Where a file is not what the change expects, nothing is
        written.

        Raises:
            Conflict: A file has changed, is missing, or stands where a new one should be.
        """
        ...

    def make_directories(self, path: str) -> bool:
        """Make a directory and its parents; False if it was there."""
        ...

    def make_link(self, path: str, target: str) -> None:
        """Make a symbolic link that stays inside."""
        ...

    def read_link(self, path: str) -> str:
        """Where a symbolic link points."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Move within the workspace, replacing a file."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file or a whole directory."""
        ...


class Job(Protocol):
    """Something that goes on after the call that began it."""

    def end(self) -> None:
        """Stop it, now or as soon as may be."""
        ...


class Shelf(Protocol):
    """What a session has beyond one call: files beside its journal, and what it left running."""

    jobs: dict[str, Job]
    """By their ids; each is ended with the session."""

    def keep(self, tool: str, name: str, data: bytes) -> str | None:
        """Write a file beside the journal; its path as file tools take it, None on a full disk."""
        ...

    def kept(self, tool: str, name: str) -> bytes | None:
        """What was written under that name, in this process or an earlier one; None: nothing."""
        ...


class Ports(msgspec.Struct, frozen=True, gc=False):
    """The world as one call sees it."""

    files: Files
    processes: ProcessRunner
    http: HttpGetter
    """Asks only the hosts that it is given; the tool says which by its sandbox."""
    closed: tuple[str, ...] = ()
    """Patterns that stay closed to this call below the directories that it was let into."""
    call_id: str = ""
    """The call, for tools that make calls of their own."""
    why: str = ""
    """Its reason."""
    hosts: HostPolicy = PUBLIC
    """Which servers the tool's sandbox lets it ask."""
    timeout_ms: int = 600_000
    """How long the call may take before it is stopped from outside."""
    shelf: Shelf | None = None
    """None: the call belongs to no session."""
    on_output: OnOutput | None = None
    """Shown what a program of the call writes, while it runs; None: nobody looks."""
