"""What is in a directory and below it, as far as it is worth showing.

Left out, where a directory is listed that is not left out itself: what `.gitignore` files exclude,
what tools put there (`node_modules`, `dist`, …), and what lies in hidden directories. The answer is
limited; the directories nearest to the top are looked into first.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from whence.errors import InvalidArgs, NotFound, PermissionDenied
from whence.execute.ports import Files, Info, Kind
from whence.work.lexical.gitignore import (
    Level,
    is_excluded,
    level_of,
    levels_above,
    lies_excluded,
)
from whence.work.pause import pause

MOST = 200
SKIPPED = frozenset(
    "node_modules __pycache__ env venv dist out bundle vendor tmp temp deps pkg Pods .git".split()
)
SKIPPED_BELOW = ("target/dependency", "build/dependencies")
Covers: TypeAlias = Callable[[str, bool], bool]
"""Whether a path of the workspace is closed; and whether the path is a directory."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a directory."""

    path: str
    """Relative to the directory that is listed; with a slash at its end if it is a directory."""
    locked: bool = False
    """Whether it is shown, and closed."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries by name, compared part by part."""

    entries: tuple[Entry, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class _Directory:
    path: str
    """As the files port takes it."""
    inside: str
    """Relative to the directory that is listed; empty for that one."""
    level: Level | None


async def list_tree(files: Files, path: str, covers: Covers, *, recursive: bool) -> Listing:
    """What is in a directory; with `recursive`, also below it."""
    walk = _Walk(files, path, covers)
    waiting = deque([walk.top])
    entries: list[Entry] = []
    while waiting and len(entries) <= MOST:
        for entry, below in walk.entries(waiting.popleft()):
            entries.append(entry)
            if recursive and below is not None:
                waiting.append(below)
        await pause()
    kept = sorted(entries[:MOST], key=lambda entry: _by_parts(entry.path))
    return Listing(tuple(kept), len(entries) > MOST)


class _Walk:
    def __init__(self, files: Files, path: str, covers: Covers) -> None:
        self._files, self._covers = files, covers
        shown = files.shown(path)
        self._base = "" if shown == "." else f"{shown}/"
        self._root = os.fsencode(files.real(path))
        level = levels_above(self._root)
        self._whole = _is_skipped(shown) or lies_excluded(self._root, level)
        """Who names a directory that is left out gets all of it."""
        self.top = _Directory(path.rstrip("/") or "/", "", None if self._whole else level)

    def entries(self, directory: _Directory) -> Iterator[tuple[Entry, _Directory | None]]:
        """What is shown of a directory, and which of it may be looked into."""
        found = self._found(directory)
        level = None if self._whole else self._level(directory, found)
        for info in found:
            is_directory = info.kind is Kind.DIRECTORY
            inside = f"{directory.inside}{info.name}"
            if not self._whole and self._is_left_out(inside, info, level):
                continue
            locked = self._covers(self._base + inside, is_directory)
            entry = Entry(f"{inside}/" if is_directory else inside, locked)
            enters = is_directory and not locked and (self._whole or info.name[0] != ".")
            below = _Directory(f"{directory.path}/{info.name}", f"{inside}/", level)
            yield entry, below if enters else None

    def _found(self, directory: _Directory) -> list[Info]:
        """The entries by name; at the top, where all directories matter, those first."""
        found: list[Info] = []
        if not directory.inside:
            found = list(self._files.entries(directory.path))
            return sorted(found, key=lambda i: (i.kind is not Kind.DIRECTORY, _natural(i.name)))
        with suppress(PermissionDenied, NotFound, InvalidArgs):
            found = list(self._files.entries(directory.path))
        return sorted(found, key=lambda info: _natural(info.name))

    def _level(self, directory: _Directory, found: list[Info]) -> Level | None:
        names = {os.fsencode(info.name) for info in found}
        return level_of(self._real(directory.inside), names, directory.level)

    def _is_left_out(self, inside: str, info: Info, level: Level | None) -> bool:
        is_directory = info.kind is Kind.DIRECTORY
        if is_directory and (info.name in SKIPPED or inside.endswith(SKIPPED_BELOW)):
            return True
        if is_directory and info.name[0] == "." and "/" in inside:
            return True
        return is_excluded(self._real(inside), is_directory, level)

    def _real(self, inside: str) -> bytes:
        return os.path.join(self._root, os.fsencode(inside.rstrip("/"))).rstrip(b"/")


def _is_skipped(shown: str) -> bool:
    parts = [part for part in shown.split("/") if part not in ("", ".")]
    return any(part in SKIPPED or part[0] == "." for part in parts) or shown.endswith(SKIPPED_BELOW)


def _by_parts(path: str) -> list[tuple[tuple[int, int, str], ...]]:
    return [_natural(part) for part in path.rstrip("/").split("/")]


def _natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key by which `a9` comes before `a10`."""
    parts = re.findall("[0-9]+|[^0-9]+", name)
    return tuple((0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts)
