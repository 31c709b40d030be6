"""Applying a V4A patch to files of the workspace: all of it, or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from whence.errors import Conflict, InvalidArgs, NotFound
from whence.execute.ports import Change, Files
from whence.shapes.tool import Effect
from whence.work import files as work
from whence.work import text as texts
from whence.work.edits import v4a
from whence.work.edits.v4a import report
from whence.work.edits.v4a.apply import spans
from whence.work.edits.v4a.lines import FileLines
from whence.work.pause import pause

_MOST_WARNINGS = 50

Deed: TypeAlias = Literal["add", "update", "delete", "move"]


@dataclass(frozen=True, slots=True)
class Changed:
    """What one section of a patch did."""

    path: str
    """Where the file is now, or was before it was deleted; as the patch names it."""
    deed: Deed
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
    """By path; a file with several sections is there several times."""
    warnings: tuple[str, ...]
    bytes_written: int


async def apply_patch(files: Files, text: str) -> Applied:
    """Apply the patch, or change nothing and say why.

    Raises:
        InvalidArgs: The text is no patch, or a file is no text.
        NotFound: A file that it changes is absent.
        Conflict: Lines are not where the patch says, or in several places; or a file is in the way.
    """
    patch = v4a.parse(text)
    plan = _Plan(files)
    done = [await plan.take(section) for section in patch.sections]
    done.sort(key=lambda changed: changed.path)
    changes = list(plan.changes())
    if changes:
        files.change(changes)
    return Applied(
        report.whole_text((_title(changed), changed.snippet) for changed in done),
        tuple(done),
        _limited([*patch.warnings, *plan.warnings]),
        sum(len(change.content or b"") for change in changes),
    )


def touches(text: str) -> list[tuple[Effect, str]]:
    """The paths that a patch names, for the gate; none for a text that is no patch."""
    try:
        sections = v4a.parse(text).sections
    except InvalidArgs:
        return []
    named = (
        path
        for section in sections
        for path in (section.path, section.move_to if isinstance(section, v4a.Update) else None)
        if path is not None
    )
    return [(Effect.WRITE, path) for path in dict.fromkeys(named)]


@dataclass(slots=True)
class _Draft:
    """A file as it was found and as the patch leaves it so far."""

    path: str
    seen: bytes
    """The sha256 digest of what was found; empty: there was no file."""
    content: bytes | None
    like: str | None = None


class _Plan:
    """The files of a patch, in memory. A later section sees what earlier ones did."""

    def __init__(self, files: Files) -> None:
        self.warnings: list[str] = []
        self._files = files
        self._drafts: dict[str, _Draft] = {}

    async def take(self, section: v4a.Section) -> Changed:
        """Do what a section says."""
        await pause()
        if isinstance(section, v4a.Add):
            return self._add(section)
        if isinstance(section, v4a.Delete):
            return await self._delete(section)
        return await self._update(section)

    def changes(self) -> Iterator[Change]:
        """What must happen to the files."""
        for draft in self._drafts.values():
            if draft.content is None:
                if draft.seen:
                    yield Change(draft.path, None, expect=draft.seen)
            elif _digest(draft.content) != draft.seen:
                yield Change(draft.path, draft.content, like=draft.like, expect=draft.seen)

    def _add(self, section: v4a.Add) -> Changed:
        draft = self._free(
            section.path,
            f"Add file already exists: {section.path}",
            "Use `*** Update File:` to change it, or delete it first in the same patch.",
        )
        draft.content = section.content.encode()
        summary = report.added(FileLines(section.content).keys)
        return _changed(section.path, "add", summary)

    async def _delete(self, section: v4a.Delete) -> Changed:
        path, key = section.path, self._files.real(section.path)
        work.refuse_link(self._files, path, "the patch deletes it")
        if key in self._drafts:
            (await self._present(path, "Delete")).content = None
        else:
            self._drafts[key] = _Draft(path, await self._fingerprint(path), None)
        return _changed(section.path, "delete", report.deleted())

    async def _update(self, section: v4a.Update) -> Changed:
        path, target = section.path, section.move_to
        draft = await self._present(path, "Update")
        moves = target is not None and self._files.real(target) != self._files.real(path)
        summary = report.Summary("Move of file successful.")
        if section.hunks:
            summary = self._edit(draft, section, moved=moves)
        if target is None or not moves:
            return _changed(path, "update", summary)
        work.refuse_link(self._files, path, "the patch moves it")
        new = self._free(
            target, f"Move target already exists: {target}", "Choose a name that is free."
        )
        new.content, draft.content = draft.content, None
        new.like = draft.path if draft.seen else draft.like
        return _changed(target, "move", summary, moved_from=path)

    def _edit(self, draft: _Draft, section: v4a.Update, *, moved: bool) -> report.Summary:
        mark, before = texts.split_bom(texts.decode(draft.content or b"", section.path))
        edited = v4a.apply(section, before)
        draft.content = (mark + edited.text).encode()
        self.warnings += [f"{section.path}: {warning}" for warning in edited.warnings]
        if edited.text == before:
            self.warnings.append(f"{section.path}: the hunks leave the file as it was")
        return report.updated(
            section.path,
            FileLines(before).keys,
            FileLines(edited.text).keys,
            spans(section.hunks, edited.spots),
            moved=moved,
        )

    async def _present(self, path: str, deed: str) -> _Draft:
        """The draft of a file that must be there."""
        draft = self._drafts.get(self._files.real(path))
        if draft is None:
            try:
                content = await work.read_whole(self._files, path)
            except NotFound as error:
                raise _missing(deed, path, error) from None
            draft = _Draft(path, _digest(content), content)
            self._drafts[self._files.real(path)] = draft
        if draft.content is None:
            raise NotFound(
                f"{deed} file missing: {path}",
                "An earlier section of the patch deletes or moves it; use its new name.",
            )
        return draft

    async def _fingerprint(self, path: str) -> bytes:
        """The digest of a file of any size."""
        try:
            work.open_file(self._files, path).close()
        except NotFound as error:
            raise _missing("Delete", path, error) from None
        return bytes.fromhex(await work.fingerprint(self._files, path) or "")

    def _free(self, path: str, problem: str, suggestion: str) -> _Draft:
        """The draft of a file that must not be there."""
        key = self._files.real(path)
        draft = self._drafts.get(key)
        if draft is None:
            if self._files.info(path, follow=False) is not None:
                raise Conflict(problem, suggestion, details={"reason": "exists", "path": path})
            draft = self._drafts[key] = _Draft(path, b"", None)
        elif draft.content is not None:
            raise Conflict(problem, suggestion, details={"reason": "exists", "path": path})
        return draft


def _missing(deed: str, path: str, error: NotFound) -> NotFound:
    return NotFound(f"{deed} file missing: {path}", error.suggestion, details=error.details)


def _limited(warnings: Sequence[str]) -> tuple[str, ...]:
    more = len(warnings) - _MOST_WARNINGS
    return (*warnings[:_MOST_WARNINGS], *([f"and {more} more warnings"] if more > 0 else []))


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _changed(
    path: str, deed: Deed, summary: report.Summary, *, moved_from: str | None = None
) -> Changed:
    counts = (summary.added, summary.removed, summary.hunks)
    return Changed(path, deed, summary.snippet, *counts, moved_from)


def _title(changed: Changed) -> str:
    return f"{changed.moved_from} → {changed.path}" if changed.moved_from else changed.path
