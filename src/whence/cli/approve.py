"""Asking the person at the terminal."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from whence.cli.text import harmless
from whence.shapes.approval import Answer, Approver, Question


def terminal_approver() -> Approver | None:
    """A question on the terminal; None where nobody sits at one."""
    return _ask if sys.stdin.isatty() and sys.stderr.isatty() else None


async def _ask(question: Question) -> Answer:
    arguments = msgspec.json.encode(question.arguments).decode()
    print(f"\n{harmless(f'{question.tool} {arguments}')}", file=sys.stderr)
    print(f"  why:    {harmless(question.why)}", file=sys.stderr)
    print(f"  asking: {harmless(question.reason)}", file=sys.stderr)
    print("Allow? [y]es once, for the [s]ession, [N]o: ", end="", file=sys.stderr, flush=True)
    said = (await asyncio.to_thread(sys.stdin.readline)).strip().lower()
    return Answer(
        approved=said in ("y", "yes", "s", "session"),
        scope="session" if said in ("s", "session") else "once",
    )
