"""Applying a V4A patch to files of the workspace: all of it, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from whence.execute.ports import Files
from whence.shapes.tool import Effect

Kind: TypeAlias = Literal["add", "update", "delete", "move"]


@dataclass(frozen=True, slots=True)
class Changed:
    """What a patch did to one file."""

    path: str
    """Where the file is now, or was before it was deleted; as the patch names it."""
    kind: Kind
    snippet: str
    """What changed, with line numbers and scopes."""
    added: int
    removed: int
    hunks: int
    moved_from: str | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What a patch did."""

    text: str
    """For the model: every file with its changed lines."""
    files: tuple[Changed, ...]
    """By path."""
    warnings: tuple[str, ...]
    bytes_written: int


async def apply_patch(files: Files, text: str) -> Applied:
    """Apply the patch, or change nothing and say why.

    Raises:
        InvalidArgs: The text is no patch, or a file is no text.
        NotFound: A file that it changes is absent.
        Conflict: Lines are not where the patch says, or in several places, or a file is in the way.
    """
    raise NotImplementedError(text, files)


def touches(text: str) -> list[tuple[Effect, str]]:
    """The paths that a patch names, for the gate; nothing for a text that is no patch."""
    raise NotImplementedError(text)
