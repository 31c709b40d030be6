"""A V4A patch, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Hunk(NamedTuple):
    """One change with its context. Lines stand without sign and without ending."""

    number: int
    """Counted from 1 in its section."""
    line: int
    """Where it begins in the patch, counted from 1."""
    anchors: tuple[str, ...]
    """Lines of the file that it belongs below, outermost first."""
    signs: str
    """One for each line: a space, `-` or `+`."""
    lines: list[str]
    old: list[str]
    """What it expects in the file: context and removed lines."""
    lead: int
    """How many context lines it begins with."""
    tail: int
    """How many context lines follow its last change; none where nothing changes."""
    ends_file: bool
    """It says that the file ends with it."""

    @property
    def new(self) -> list[str]:
        """What it leaves there: context and added lines."""
        return [line for sign, line in zip(self.signs, self.lines, strict=True) if sign != "-"]

    @property
    def changed(self) -> slice:
        """Those of its lines that are not lead or tail."""
        return slice(self.lead, len(self.signs) - self.tail)


@dataclass(frozen=True, slots=True)
class Add:
    """A new file."""

    path: str
    line: int
    """Where its header stands in the patch, counted from 1."""
    content: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A file that goes away."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Update:
    """A file that changes, moves, or both."""

    path: str
    line: int
    move_to: str | None
    hunks: tuple[Hunk, ...]


Section: TypeAlias = Add | Delete | Update


@dataclass(frozen=True, slots=True)
class Patch:
    """What a patch says, in its order."""

    sections: tuple[Section, ...]
    warnings: tuple[str, ...] = ()
    """What was not as it should be and could be understood all the same."""
