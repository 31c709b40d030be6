"""whence: agents as text files, whose every tool call says why.

The public names below are loaded when they are first used; importing the package does nothing else.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whence.declare.function import tool as tool
    from whence.errors import WhenceError as WhenceError
    from whence.loop.agent import Agent as Agent
    from whence.loop.news import CallEnded as CallEnded
    from whence.loop.news import CallStarted as CallStarted
    from whence.loop.news import Compacted as Compacted
    from whence.loop.news import Finished as Finished
    from whence.loop.news import News as News
    from whence.loop.news import Notice as Notice
    from whence.loop.news import Output as Output
    from whence.loop.news import Result as Result
    from whence.loop.news import TextPiece as TextPiece
    from whence.loop.news import Thought as Thought
    from whence.loop.news import TurnEnded as TurnEnded
    from whence.loop.session import Session as Session
    from whence.provider.model import Waiting as Waiting
    from whence.shapes.approval import Answer as Answer
    from whence.shapes.approval import Approver as Approver
    from whence.shapes.approval import Question as Question
    from whence.shapes.call import Call as Call
    from whence.shapes.call import Fault as Fault
    from whence.shapes.call import Outcome as Outcome
    from whence.shapes.call import Reply as Reply
    from whence.shapes.policy import Limits as Limits
    from whence.shapes.policy import Policy as Policy
    from whence.shapes.policy import Quotas as Quotas
    from whence.shapes.policy import Rule as Rule
    from whence.shapes.policy import Verdict as Verdict
    from whence.shapes.policy import WhyPolicy as WhyPolicy
    from whence.shapes.tool import Effect as Effect
    from whence.shapes.tool import Sandbox as Sandbox
    from whence.shapes.tool import Tool as Tool

_HOMES = {
    "Agent": "whence.loop.agent",
    "Answer": "whence.shapes.approval",
    "Approver": "whence.shapes.approval",
    "Call": "whence.shapes.call",
    "CallEnded": "whence.loop.news",
    "CallStarted": "whence.loop.news",
    "Compacted": "whence.loop.news",
    "Effect": "whence.shapes.tool",
    "Fault": "whence.shapes.call",
    "Finished": "whence.loop.news",
    "Limits": "whence.shapes.policy",
    "News": "whence.loop.news",
    "Notice": "whence.loop.news",
    "Outcome": "whence.shapes.call",
    "Output": "whence.loop.news",
    "Policy": "whence.shapes.policy",
    "Question": "whence.shapes.approval",
    "Quotas": "whence.shapes.policy",
    "Reply": "whence.shapes.call",
    "Result": "whence.loop.news",
    "Rule": "whence.shapes.policy",
    "Sandbox": "whence.shapes.tool",
    "Session": "whence.loop.session",
    "TextPiece": "whence.loop.news",
    "Thought": "whence.loop.news",
    "Tool": "whence.shapes.tool",
    "TurnEnded": "whence.loop.news",
    "Verdict": "whence.shapes.policy",
    "Waiting": "whence.provider.model",
    "WhenceError": "whence.errors",
    "WhyPolicy": "whence.shapes.policy",
    "tool": "whence.declare.function",
}

__all__ = [*sorted(_HOMES), "__version__"]  # noqa: PLE0604 - names of _HOMES are strings


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
