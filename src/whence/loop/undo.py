"""Taking a call's edits back: a call of its own, through the gate, that can be taken back too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from whence.errors import Conflict, NotFound, Unavailable
from whence.execute.ports import Change as FileChange
from whence.execute.ports import Files, Kind, Ports
from whence.journal.changes import Recorded, recorded_calls
from whence.loop.history import Change, contents, digest
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Tool

NAME = "log.undo"


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back."""

    call: str
    restored: list[str]
    """Files that have their old content again."""
    removed: list[str]
    """Files and directories that had been new."""


def plan(directory: str, call_id: str) -> Recorded:
    """The call that is to be taken back.

    Raises:
        NotFound: There is no such call, or it changed no file.
    """
    found = None
    for recorded in recorded_calls(directory, call_id):
        found = recorded if recorded.changes or found is None else found
    session = os.path.basename(directory)
    if found is None:
        raise NotFound(
            f"there is no call {call_id!r} in session {session}",
            "`whence log show` lists the calls; another session is chosen with --session ID.",
        )
    if not found.changes:
        raise NotFound(
            f"{call_id} ({found.tool}) changed no file", "There is nothing to take back."
        )
    return found


def undo_tool(directory: str, recorded: Recorded) -> Tool:
    """A tool that takes back exactly this call."""
    touched = [(Effect.WRITE, str(change["path"])) for change in recorded.changes]

    async def undo(arguments: JSONObject, ports: object, /) -> Undone:
        if not isinstance(ports, Ports):
            raise TypeError("a handler is given ports")
        force = arguments.get("force") is True
        return _Undo(directory, recorded, ports.files, force=force).carry_out()

    return Tool(
        name=NAME,
        description="Take the edits of a call back",
        input_schema={
            "type": "object",
            "properties": {"call": {"type": "string"}, "force": {"type": "boolean"}},
            "required": ["call"],
            "additionalProperties": False,
        },
        handler=undo,
        category="log",
        effects=frozenset({Effect.WRITE}),
        touches=lambda _: touched,
        source="builtin",
    )


class _Undo:
    """One undoing: everything is found out first, then all files change as one."""

    def __init__(self, directory: str, recorded: Recorded, files: Files, *, force: bool) -> None:
        self._directory = directory
        self._recorded = recorded
        self._files = files
        self._force = force

    def carry_out(self) -> Undone:
        """Restore what was there; nothing at all where one file cannot be restored.

        Raises:
            Conflict: A file has changed since.
            Unavailable: The old content is not kept any more.
        """
        ordered = list(reversed(self._recorded.changes))
        whole = [change for change in ordered if change.get("kind") != "directory"]
        links = [c for c in whole if c.get("kind") == "link" and c["action"] == "removed"]
        steps = [step for change in whole if change not in links for step in self._step(change)]
        self._files.change(steps)
        for link in links:
            self._files.make_link(link["path"], link["target"])
        directories = [change for change in ordered if change.get("kind") == "directory"]
        emptied = [change["path"] for change in directories if self._directory_back(change)]
        restored = [step.path for step in steps if step.content is not None]
        removed = [step.path for step in steps if step.content is None]
        again = [link["path"] for link in links]
        return Undone(self._recorded.call_id, restored + again, removed + emptied)

    def _step(self, change: Change) -> Iterator[FileChange]:
        path, before = str(change["path"]), change.get("before")
        present = self._present(path)
        as_left = digest(present) if present is not None else None
        self._require_as_left(change, as_left)
        if as_left == before != change.get("after"):  # somebody was here first
            return
        expect = b"" if as_left is None else bytes.fromhex(as_left)
        if before is None:
            yield FileChange(path, None, expect=expect)
            return
        content = self._old(change, before)
        yield FileChange(path, content, expect=expect, mode=int(change["mode"], 8))

    def _require_as_left(self, change: Change, as_left: str | None) -> None:
        if self._force or as_left == change.get("before"):
            return
        path, call = change["path"], self._recorded.call_id
        if change["action"] == "begun":
            raise Conflict(
                f"{call} was interrupted: whether {path!r} is its work or somebody else's is not "
                "known; nothing was undone",
                "Compare the file with what is kept; --force puts the old content back.",
            )
        if as_left != change.get("after"):
            said = "is gone" if as_left is None else "has changed"
            later = self._later(str(path))
            first = f"Take back {', '.join(later)} first" if later else "Somebody else changed it"
            raise Conflict(
                f"{path!r} {said} since {call}; nothing was undone",
                f"{first}; --force puts the old content back all the same, and can be undone.",
                details={"path": path, "expected": change.get("after"), "later": later},
            )

    def _later(self, path: str) -> list[str]:
        """The calls that changed a path afterwards, the newest first."""
        later: list[str] = []
        for call in recorded_calls(self._directory):
            if call.call_id == self._recorded.call_id:
                later = []
            elif any(change["path"] == path for change in call.changes):
                later.insert(0, call.call_id)
        return later

    def _old(self, change: Change, before: str) -> bytes:
        path = str(change["path"])
        found = contents(self._directory, [change], self._present(path)).get(before)
        if found is None:
            found = self._elsewhere.get(before)
        if found is None:
            calls = recorded_calls(self._directory)
            known = [c for call in calls for c in call.changes if c["path"] == path]
            found = contents(self._directory, known, self._present(path)).get(before)
        if found is None:
            raise Unavailable(
                f"the old content of {change['path']!r} is not kept any more; nothing was undone",
                "Restore it from another source.",
            )
        return found

    @cached_property
    def _elsewhere(self) -> dict[str, bytes]:
        """What is in the files of this call now: one that was moved is found where it went."""
        files = (change for change in self._recorded.changes if change.get("kind") is None)
        present = (self._present(str(change["path"])) for change in files)
        return {digest(content): content for content in present if content is not None}

    def _present(self, path: str) -> bytes | None:
        found = self._files.info(path, follow=False)
        if found is None:
            return None
        if found.kind is Kind.LINK:
            return os.fsencode(self._files.read_link(path))
        with self._files.open(path) as file:
            return file.read()

    def _directory_back(self, change: Change) -> bool:
        """Whether a directory that had been new is gone again; one that is in use stays."""
        path = str(change["path"])
        if change["action"] == "removed":
            self._files.make_directories(path)
            return False
        found = self._files.info(path, follow=False)
        if found is None or found.kind is not Kind.DIRECTORY or any(self._files.entries(path)):
            return False
        self._files.remove(path)
        return True
