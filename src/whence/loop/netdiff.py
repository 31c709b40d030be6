"""What a session comes to: one diff per file, each hunk with the calls it is due to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from whence.execute.containment import Root, open_beneath
from whence.journal.changes import Recorded, recorded_calls
from whence.loop.history import Change, contents, digest
from whence.work.edits import unified
from whence.work.edits.unified.headers import quoted


@dataclass(frozen=True, slots=True)
class Cause:
    """A call, and why it was made."""

    call_id: str
    tool: str
    why: str


@dataclass(frozen=True, slots=True)
class NetHunk:
    """A place that differs, and whose doing it is."""

    text: str
    """As in a unified diff, from its `@@` line on."""
    causes: tuple[Cause, ...]
    """In the order of the calls; empty: somebody's between the calls."""


@dataclass(frozen=True, slots=True)
class NetChange:
    """One file, from before the session's first edit to after its last."""

    path: str
    before: str | None
    after: str | None
    causes: tuple[Cause, ...]
    """Every call that edited it."""
    header: str = ""
    """The lines of a unified diff above the hunks."""
    hunks: tuple[NetHunk, ...] = ()
    note: str = ""
    """Why there are no hunks, where there are none."""
    changed_since: bool = False
    """Whether the file is no longer what the session left."""


def net_changes(directory: str, workspace: str) -> Iterator[NetChange]:
    """The files that a session changed, in the order of their first edit."""
    edits: dict[str, list[tuple[Recorded, Change]]] = {}
    for call in recorded_calls(directory):
        for change in call.changes:
            if change.get("kind") is None:
                edits.setdefault(str(change["path"]), []).append((call, change))
    root = Root(workspace)
    try:
        for path, made in edits.items():
            first, last = made[0][1].get("before"), made[-1][1].get("after")
            if first != last:
                yield _net(directory, path, made, _present(root, path))
    finally:
        root.close()


def _net(
    directory: str, path: str, made: list[tuple[Recorded, Change]], present: bytes | None
) -> NetChange:
    first, last = made[0][1].get("before"), made[-1][1].get("after")
    found = contents(directory, [change for _, change in made], present)
    since = (digest(present) if present is not None else None) != last
    causes = tuple(dict.fromkeys(_cause(call) for call, _ in made))
    try:
        old = None if first is None else found[first].decode()
        new = None if last is None else found[last].decode()
    except KeyError:
        note = "not all of its versions are kept"
        return NetChange(path, first, last, causes, note=note, changed_since=since)
    except UnicodeDecodeError:
        note = "binary"
        return NetChange(path, first, last, causes, note=note, changed_since=since)
    diff = unified.make(old, new, path)
    lineage = _lineage(old, made, found)
    header, hunks = _hunks(diff, lineage)
    if hunks:  # without this line, git would take the piece for a part of one without hunks
        header = _git_header(path, made, old, new) + header
    return NetChange(path, first, last, causes, header, tuple(hunks), changed_since=since)


def _git_header(
    path: str, made: list[tuple[Recorded, Change]], old: str | None, new: str | None
) -> str:
    names = f"{quoted('a/' + path)} {quoted('b/' + path)}".replace("\t", "")
    word = "new" if old is None else "deleted" if new is None else None
    executable = int(str(made[0][1].get("mode", "0")), 8) & 0o111
    mode = "100755" if executable else "100644"
    return f"diff --git {names}\n" + (f"{word} file mode {mode}\n" if word else "")


def _cause(call: Recorded) -> Cause:
    return Cause(call.call_id, call.tool, call.why)


@dataclass(slots=True)
class _Lineage:
    """Where each line of the newest version comes from, and who removed those of the oldest."""

    lines: list[tuple[Cause | None, int | None]]
    """For each line its call, and its number in the oldest version."""
    removed_by: dict[int, Cause | None] = field(default_factory=dict)

    def step(self, old: str | None, new: str | None, cause: Cause | None) -> None:
        """Follow one change."""
        diff = unified.make(old, new, "file")
        if not diff or "@@" not in diff:
            return
        lines, at = [], 0
        for hunk in unified.parse(diff).hunks:
            start = hunk.old_at or 0
            lines += self.lines[at:start]
            at = start
            for sign in hunk.signs:
                if sign == "+":
                    lines.append((cause, None))
                    continue
                if sign == " ":
                    lines.append(self.lines[at])
                else:
                    number = self.lines[at][1]
                    if number is not None:
                        self.removed_by[number] = cause
                at += 1
        self.lines = lines + self.lines[at:]


def _lineage(
    old: str | None, made: Iterable[tuple[Recorded, Change]], found: dict[str, bytes]
) -> _Lineage:
    count = 0 if old is None else len(old.split("\n")) - old.endswith("\n")
    lineage = _Lineage([(None, number) for number in range(count if old else 0)])
    at = old
    for call, change in made:
        steps = ((change.get("before"), None), (change.get("after"), _cause(call)))
        for sha256, cause in steps:
            content = b"" if sha256 is None else found.get(sha256)
            try:
                text = None if sha256 is None else (content or b"").decode()
            except UnicodeDecodeError:
                continue
            if content is not None:
                lineage.step(at, text, cause)
                at = text
    return lineage


def _hunks(diff: str, lineage: _Lineage) -> tuple[str, list[NetHunk]]:
    """The header of a diff and its hunks, each with its calls."""
    if "\n@@ " not in diff:
        return diff, []
    header, *texts = diff.split("\n@@ ")
    found = []
    for text, hunk in zip(texts, unified.parse(diff).hunks, strict=True):
        whole = f"@@ {text}" if text.endswith("\n") else f"@@ {text}\n"
        found.append(NetHunk(whole, tuple(_causes(hunk, lineage))))
    return f"{header}\n", found


def _causes(hunk: unified.Hunk, lineage: _Lineage) -> list[Cause]:
    old, new = hunk.old_at or 0, hunk.new_at or 0
    due: dict[Cause | None, None] = {}
    for sign in hunk.signs:
        if sign == "-":
            due[lineage.removed_by.get(old)] = None
        elif sign == "+" and new < len(lineage.lines):
            due[lineage.lines[new][0]] = None
        old += sign != "+"
        new += sign != "-"
    return [cause for cause in due if cause is not None]


def _present(root: Root, path: str) -> bytes | None:
    try:
        if path.startswith("/"):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        else:
            descriptor = open_beneath(root.descriptor, path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
