"""The agent files that a server publishes: found, named, and looked at again and again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from whence.errors import Conflict, NotFound, WhenceError
from whence.shapes.dataclass import dataclass
from whence.shapes.policy import Rule, Verdict

if TYPE_CHECKING:
    from whence.loop.agent_file import AgentFile

SUFFIX = ".chatmd"
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_SPECIAL = re.compile(r"([\\*?\[])")
_Stamp: TypeAlias = tuple[int, ...] | None
"""How a file looks from outside; None: it is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A file, and when it was looked at."""

    agent: AgentFile | None
    """None: it cannot be used."""
    stamps: dict[str, _Stamp]
    """Its own, and those of the files that it imports."""

    @property
    def is_current(self) -> bool:
        return all(_stamp(path) == stamp for path, stamp in self.stamps.items())


class PublishedFiles:
    """Agent files by the names of their tools.

    Args:
        sources: files, and directories whose `*.chatmd` files are taken.
        workspace: what the files are loaded for.
        say: hears of files that cannot be used.
        taken: names of other tools.

    Raises:
        NotFound: A source does not exist.
        ParseError: A file that was named has errors.
        Conflict: Two files have one name, or one has the name of another tool.
    """

    def __init__(
        self,
        sources: Iterable[str],
        workspace: str,
        say: Callable[[str], None],
        taken: Collection[str] = (),
    ) -> None:
        self._sources = tuple(sources)
        self._workspace = workspace
        self._say = say
        self._taken = taken
        self._is_fixed = False
        self._looks: dict[str, _Look] = {}
        self.agents: dict[str, AgentFile] = {}
        """Those that can be run."""
        for source in self._sources:
            if not os.path.exists(source):
                raise NotFound(f"no such file or directory: {source!r}", "Check the path.")
            if not os.path.isdir(source):
                self._looks[source] = _look(source, workspace)
        self._owners: dict[str, str] = {}
        for path in self._paths():
            problem = self._clash(path)
            if problem:
                raise Conflict(problem, "Rename one of them, or publish only one.")
        self._load()

    @property
    def has_sources(self) -> bool:
        """Whether there are any, or could be."""
        return bool(self._sources)

    @property
    def is_within_reach(self) -> bool:
        """Whether programs that may write the workspace could write what is published."""
        here = f"{os.path.realpath(self._workspace)}/"
        return any(f"{os.path.realpath(each)}/".startswith(here) for each in self._sources)

    def fix(self) -> None:
        """From now on look at nothing again, and pin what is behind the tools of the files."""
        from whence.loop.locked import compare, keep

        self._is_fixed = True
        for agent in self.agents.values():
            keep(compare(agent, self._workspace, os.environ), self._workspace, update=False)

    def refresh(self) -> bool:
        """Load what has changed since; whether anything has."""
        if self._is_fixed:
            return False
        before = self._looks
        self._load()
        return list(before.items()) != list(self._looks.items())

    def protection(self, writing: Iterable[str]) -> tuple[Rule, ...]:
        """Rules that keep these tools from writing what is published, and what that runs.

        Whoever could write an agent file could run any program with it.
        """
        patterns = sorted(filter(None, map(self._pattern, self._kept())))
        return tuple(
            Rule(Verdict.DENY, tool, pattern, "whence serve", ceiling=True)
            for tool in writing
            for pattern in patterns
        )

    def _kept(self) -> set[str]:
        """Every path that makes up what is published, or would, and what its agents run."""
        from whence.loop.behind import behind

        folders = {f"{os.path.realpath(each)}/" for each in self._sources if os.path.isdir(each)}
        found = {path for look in self._looks.values() for path in look.stamps}
        for agent in self.agents.values():
            found |= behind(agent, self._workspace, os.environ)
        return folders | set(map(os.path.realpath, found))

    def _pattern(self, path: str) -> str | None:
        """What a rule calls a path; None: it is beyond the workspace anyway."""
        below = os.path.relpath(path, os.path.realpath(self._workspace))
        if below.split("/")[0] == "..":
            return None
        name = "" if below == "." else "/" + _SPECIAL.sub(r"\\\1", below)
        return f"{name}/*{SUFFIX}" if path.endswith("/") else name

    def _load(self) -> None:
        before = self._looks
        self._looks = {path: self._current(path) for path in self._paths()}
        self._owners = {name: path for name, path in self._owners.items() if path in self._looks}
        clashes = {path: self._clash(path) for path in self._looks}
        for path in clashes.keys() - before.keys():
            if clashes[path]:
                self._say(f"not published: {clashes[path]}")
        found = {name: self._looks[path].agent for name, path in self._owners.items()}
        self.agents = {name: agent for name, agent in found.items() if agent is not None}

    def _clash(self, path: str) -> str | None:
        """Why a file cannot have its name; None: it has it now."""
        name = _name(path)
        if name in self._taken:
            return f"{path} would be the tool {name!r}, and there is one already"
        owner = self._owners.setdefault(name, path)
        return None if owner == path else f"{owner} and {path} would both be the tool {name!r}"

    def _current(self, path: str) -> _Look:
        known = self._looks.get(path)
        if known is not None and known.is_current:
            return known
        stamp = _stamp(path)
        try:
            return _look(path, self._workspace)
        except WhenceError as error:
            self._say(f"not published: {error.message}")
            return _Look(None, {path: stamp})

    def _paths(self) -> Iterator[str]:
        for source in self._sources:
            if os.path.isdir(source):
                yield from (os.path.join(source, name) for name in _agent_files(source))
            elif os.path.exists(source):
                yield source


def _look(path: str, workspace: str) -> _Look:
    from whence.loop.agent_file import load_runnable

    stamp = _stamp(path)  # what changes while it is read is read again
    agent = load_runnable(path, workspace)
    return _Look(agent, {**{each: _stamp(each) for each in agent.expanded.sources}, path: stamp})


def _agent_files(directory: str) -> list[str]:
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(SUFFIX) and not name.startswith("."))


def _name(path: str) -> str:
    """The tool of a file: its name without the ending, in letters that every client takes."""
    return _UNFIT.sub("_", os.path.splitext(os.path.basename(path))[0])


def _stamp(path: str) -> _Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
