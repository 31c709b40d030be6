"""A workspace whose calls change files in every way the port knows."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whence.catalogs.moollm import TOOLS
from whence.execute.ports import Change, Ports
from whence.journal.changes import recorded_calls
from whence.loop.session import Session
from whence.loop.undo import NAME, plan, undo_tool
from whence.shapes.call import Outcome
from whence.shapes.policy import Policy, Quotas
from whence.shapes.tool import Effect, Tool

Tree = dict[str, tuple[bytes | str | None, int]]
POLICY = Policy(quotas=Quotas(repeats=None, calls_per_turn=None))


async def _change(arguments: Any, ports: object) -> None:
    assert isinstance(ports, Ports)
    files = ports.files
    steps = arguments["steps"]
    files.change(
        [
            Change(path, None if content is None else bytes.fromhex(content))
            for verb, path, content in steps
            if verb == "set"
        ]
    )
    for verb, path, content in steps:
        if verb == "append":
            files.make_directories(os.path.dirname(path) or ".")
            files.append(path, bytes.fromhex(content))
        elif verb == "rename":
            files.rename(path, content)
        elif verb == "remove":
            files.remove(path)
        elif verb == "replace":
            with files.replacing(path) as out:
                out.write(bytes.fromhex(content))
        elif verb == "link":
            files.make_link(path, content)
        elif verb == "fail":
            raise ValueError(path)


def _touched(arguments: Any) -> Iterable[tuple[Effect, str]]:
    return [(Effect.WRITE, path) for _, path, _ in arguments["steps"]]


EDIT = Tool(
    name="test.edit",
    description="Change files in any way",
    input_schema={
        "type": "object",
        "properties": {"steps": {"type": "array"}},
        "required": ["steps"],
    },
    handler=_change,
    effects=frozenset({Effect.WRITE}),
    touches=_touched,
    source="builtin",
)
ALL = (*TOOLS, EDIT)


def opened(root: Path, *more: Tool, session: str = "s") -> Session:
    return Session(root, (*ALL, *more), policy=POLICY, session=session, durable=False)


def directory(root: Path, session: str = "s") -> str:
    return os.path.join(root, ".agent/sessions", session)


async def edit(session: Session, *steps: tuple[str, str, bytes | str | None]) -> Outcome:
    plain = [[v, p, c.hex() if isinstance(c, bytes) else c] for v, p, c in steps]
    return await session.call("test.edit", "Try what the port can do", steps=plain)


async def undo(root: Path, call_id: str, *, force: bool = False) -> Outcome:
    recorded = plan(directory(root), call_id)
    with opened(root, undo_tool(directory(root), recorded)) as session:
        return await session.call(NAME, "Have it as it was", call=call_id, force=force)


def changes_of(root: Path, call_id: str) -> list[dict[str, Any]]:
    (recorded,) = recorded_calls(directory(root), call_id)
    return [dict(change) for change in recorded.changes]


def tree(root: Path) -> Tree:
    """Everything but the program's own state: content and mode."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root).as_posix()
        if relative == ".agent" or relative.startswith(".agent/"):
            continue
        if path.is_symlink():
            found[relative] = (os.readlink(path), 0)
        elif path.is_dir():
            found[relative] = (None, 0)
        else:
            found[relative] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found
