"""The agent files that a server publishes: found, named, and looked at again and again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from whence.errors import Conflict, NotFound, WhenceError
from whence.loop.agent_file import AgentFile, load_runnable

SUFFIX = ".chatmd"
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_Stamp: TypeAlias = tuple[str, int, int, int]


class PublishedFiles:
    """Agent files by the names of their tools.

    Args:
        sources: files, and directories whose `*.chatmd` files are taken.
        workspace: what the files are loaded for.
        say: hears of files that cannot be used.

    Raises:
        NotFound: A source does not exist.
        ParseError: A file that was named has errors.
        Conflict: Two files have one name.
    """

    def __init__(self, sources: Iterable[str], workspace: str, say: Callable[[str], None]) -> None:
        self._sources = tuple(sources)
        self._workspace = workspace
        self._say = say
        self._stamps: list[_Stamp] = []
        self.agents: dict[str, AgentFile] = {}
        """Those that can be run."""
        for source in self._sources:
            if not os.path.exists(source):
                raise NotFound(f"no such file or directory: {source!r}", "Check the path.")
            if not os.path.isdir(source):
                load_runnable(source, workspace)
        self.refresh()
        self._check_names()

    def refresh(self) -> bool:
        """Load what has changed since; whether anything has."""
        stamps = list(map(_stamp, self._paths()))
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        self.agents = {_name(path): file for path, file in self._loaded()}
        return True

    def _paths(self) -> Iterator[str]:
        for source in self._sources:
            if os.path.isdir(source):
                names = sorted(name for name in os.listdir(source) if name.endswith(SUFFIX))
                yield from (os.path.join(source, name) for name in names)
            elif os.path.exists(source):
                yield source

    def _loaded(self) -> Iterator[tuple[str, AgentFile]]:
        for path in self._paths():
            try:
                yield path, load_runnable(path, self._workspace)
            except WhenceError as error:
                self._say(f"not published: {error.message}")

    def _check_names(self) -> None:
        taken: dict[str, str] = {}
        for path in self._paths():
            other = taken.setdefault(_name(path), path)
            if other != path:
                raise Conflict(
                    f"{other} and {path} would both be the tool {_name(path)!r}",
                    "Rename one of them, or publish only one.",
                )


def _name(path: str) -> str:
    """The tool of a file: its name without the ending, in letters that every client takes."""
    stem = os.path.basename(path).removesuffix(SUFFIX)
    return _UNFIT.sub("_", stem).strip("_") or "agent"


def _stamp(path: str) -> _Stamp:
    found = os.stat(path)
    return path, found.st_ino, found.st_size, found.st_mtime_ns
