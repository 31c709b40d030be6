"""Journals and events that the tests of this room share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from whence.journal.write import Journal
from whence.shapes.call import Comment
from whence.shapes.event import Event

WHY = "Check if recursive descent handles nested expressions"


def open_journal(root: Path, session: str = "sess-001", **options: Any) -> Journal:
    return Journal.open(root, session, **{"durable": False, **options})


def call(
    tool: str = "fs.read",
    why: str = WHY,
    path: str = "src/parser.ts",
    comments: tuple[Comment, ...] = (),
    **more: Any,
) -> Event:
    args = {"path": path, "why": why, **more}
    fields = {"tool": tool, "call_id": None, "args": args, "paths": [path]}
    return Event("tool_call", fields, f"Tool Call: {tool}", why, comments)


def result(call_id: str, tool: str = "fs.read", value: Any = "fine", **more: Any) -> Event:
    fields = {"call_id": call_id, "tool": tool, "success": True, "duration_ms": 1.5}
    return Event("tool_result", {**fields, "result": value, **more}, f"Tool Result: {tool}")


def fault(call_id: str, tool: str = "fs.read", code: str = "NOT_FOUND") -> Event:
    error = {
        "code": code,
        "message": "File not found: src/parser.ts",
        "recoverable": True,
        "suggestion": "Check if the file was renamed or moved.",
        "details": {"closest": ["src/parse.ts"]},
    }
    fields = {"call_id": call_id, "tool": tool, "error": error, "duration_ms": 0.2}
    return Event("tool_error", fields, f"Tool Error: {tool}")


def note(text: str) -> Event:
    return Event("user_message", {"length": len(text), "text": text}, "User Message")


def pairs(journal: Journal, count: int, **options: Any) -> list[str]:
    """Record calls with their results; their ids."""
    ids = []
    for _ in range(count):
        ids.append(journal.append_call(call(**options)))
        journal.append(result(ids[-1]))
    return ids


def logs(journal: Journal) -> list[Path]:
    """The files of the chain, in order."""
    found = Path(journal.directory).glob("session-log*.md")
    return sorted(found, key=lambda path: (path.name != "session-log.md", path.name))


def text(journal: Journal) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in logs(journal))


def fresh_copy(source: Path, target: Path) -> Path:
    """The same files again, so that one of them can be damaged."""
    target.mkdir(exist_ok=True)
    for path in source.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes())
            os.chmod(target / path.name, 0o600)
    return target
