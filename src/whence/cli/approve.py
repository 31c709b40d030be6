"""Asking the person at the terminal."""

from __future__ import annotations

import asyncio
import sys
import termios
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

from whence.loop.question import shown
from whence.shapes.approval import Answer, Approver, Question

_SCOPES: dict[str, Literal["once", "session", "always"]] = {
    "y": "once", "yes": "once", "s": "session", "session": "session", "a": "always",
    "always": "always",
}  # fmt: skip


def terminal_approver(
    aside: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Approver | None:
    """A question on the terminal, one at a time; None where nobody sits at one.

    Args:
        aside: keeps others from writing there while somebody is asked.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    alone = asyncio.Lock()
    settled: set[str] = set()

    async def ask(question: Question) -> Answer:
        async with alone:
            if question.rule in settled:  # while this question waited for another one
                return Answer(approved=True)
            with aside():
                # What was typed before the question was there cannot be an answer to it.
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
                print("\n".join(["", *shown(question)]), file=sys.stderr)
                print(_choices(question), end="", file=sys.stderr, flush=True)
                answer = answered(question, await _typed())
            if answer.approved and answer.scope != "once" and question.rule:
                settled.add(question.rule)
            return answer

    return ask


async def _typed() -> str:
    """The line that a person types; waiting for it can be given up, unlike in a thread."""
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        if not line.done():
            line.set_result(sys.stdin.readline())

    loop.add_reader(terminal, read)
    try:
        return await line
    except asyncio.CancelledError:
        print(file=sys.stderr)
        raise
    finally:
        loop.remove_reader(terminal)


def _choices(question: Question) -> str:
    if question.difference:
        return "Trust it? [y]es for this run, [a]lways, [N]o: "
    if question.rule is None:
        return "Allow? [y]es once, [N]o: "
    return "Allow? [y]es once, for the [s]ession, [a]lways by this rule, [N]o: "


def answered(question: Question, line: str) -> Answer:
    """What a typed line means; whatever it is not sure of is a no."""
    scope = _SCOPES.get(line.strip().lower())
    if scope is None:
        return Answer(approved=False)
    return Answer(approved=True, scope=scope if question.rule or question.difference else "once")
