"""Search results as runs of lines: hits that touch one another are one result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from whence.execute.ports import Ports
from whence.work import lexical
from whence.work.ignored import Ignored
from whence.work.lexical.hits import AROUND

MOST = 300
"""How many hits are shown."""
_SPARE = 20
"""How many times as many hits are looked for, where some of them may have to be left out."""


@dataclass(frozen=True, slots=True)
class Group:
    """Hits of one file that stand together, with a line above and below."""

    path: str
    lines: tuple[tuple[int, str], ...]
    """Numbers, counted from 1, and texts."""


@dataclass(frozen=True, slots=True)
class Groups:
    """What a search found."""

    groups: tuple[Group, ...]
    truncated: bool
    warnings: tuple[str, ...]

    def by_path(self) -> Iterator[tuple[str, list[Group]]]:
        """The groups of each file."""
        for path, groups in groupby(self.groups, key=lambda group: group.path):
            yield path, list(groups)


async def find_groups(ports: Ports, path: str, regex: str, glob: str | None) -> Groups:
    """The results below a path, without those in files that are ignored."""
    ignored = Ignored.of(ports.files)
    certain = ignored.rules is None or bool(ignored.patterns)
    root = ports.files.real(".")
    found = await lexical.search(
        regex,
        root=root,
        scope=ports.files.real(path),
        glob=glob,
        runner=ports.processes,
        rg=lexical.installed(root),
        closed=(*ports.closed, *ignored.patterns),
        cap=MOST if certain else MOST * _SPARE,
    )
    hits = [hit for hit in found.hits if not ignored.covers(hit.path, is_directory=False)]
    groups = _grouped(hits[:MOST])
    return Groups(tuple(groups), found.truncated or len(hits) > MOST, found.warnings)


def _grouped(hits: Sequence[lexical.Hit]) -> list[Group]:
    groups: list[Group] = []
    run: dict[int, str] = {}
    before: lexical.Hit | None = None
    for hit in hits:
        lines = _with_context(hit)
        if before is not None and (hit.path != before.path or min(lines) > max(run) + 1):
            groups.append(Group(before.path, tuple(sorted(run.items()))))
            run = {}
        run |= lines
        before = hit
    if before is not None:
        groups.append(Group(before.path, tuple(sorted(run.items()))))
    return groups


def _with_context(hit: lexical.Hit) -> dict[int, str]:
    """The line of a hit, the one above and the one below, by number."""
    above = min(AROUND, hit.line - 1)
    lines = {hit.line: hit.content}
    if above:
        lines[hit.line - 1] = hit.context[above - 1]
    if len(hit.context) > above:
        lines[hit.line + 1] = hit.context[above]
    return lines
