"""Calls of tools in tests: what comes of one that must succeed, or must not."""

from __future__ import annotations

from typing import Any

from whence.loop.session import Session
from whence.shapes.call import Fault, Outcome

WHY = "Prove that the tool keeps its promise"


async def called(session: Session, tool: str, **arguments: Any) -> Outcome:
    """Whatever comes of it."""
    return await session.call(tool, WHY, **arguments)


async def result(session: Session, tool: str, **arguments: Any) -> Any:
    """What the tool gives back."""
    outcome = await called(session, tool, **arguments)
    assert outcome.fault is None, outcome.fault
    return outcome.result


async def fault(session: Session, tool: str, **arguments: Any) -> Fault:
    """Why it does not, which comes with a suggestion."""
    outcome = await called(session, tool, **arguments)
    assert outcome.fault is not None, outcome.result
    assert outcome.fault.suggestion
    return outcome.fault
