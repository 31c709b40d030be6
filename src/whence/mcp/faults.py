"""What goes wrong between a server and us, as the errors of this program."""

from __future__ import annotations

from whence.errors import (
    ExecutionFailed,
    InvalidArgs,
    NotFound,
    TimedOut,
    Unavailable,
    WhenceError,
)
from whence.shapes.glyph import visible

CLOSED = -32000
"""The connection ended before the answer came."""
UNREACHABLE = -32099
"""Ours: the request did not reach the server; the transport knows why."""
UNREADABLE = -32098
"""Ours: the answer came, and is not one."""
_TIMEOUT = -32001
_NO_METHOD, _BAD_PARAMS = -32601, -32602
_LONGEST = 500


def shown(text: str) -> str:
    """Words of a server as a person and a model may see them: short, and nothing is obeyed."""
    seen = visible(" ".join(text.split()))
    return seen if len(seen) <= _LONGEST else f"{seen[: _LONGEST - 1]}…"


def ended(label: str, during: str, words: str) -> Unavailable:
    """The server died, or the connection to it."""
    said = f": {words}" if words else ""
    return Unavailable(
        f"the MCP server {label} ended {during}{said}",
        "It is connected to anew with the next call; see first whether the work was done.",
    )


def unready(label: str, words: str) -> Unavailable:
    """The server ended while it was greeted."""
    said = f": {words}" if words else ""
    return Unavailable(
        f"the MCP server {label} ended before it was ready{said}",
        "Run its command by itself to see what is missing.",
    )


def refused(label: str, code: int, message: str) -> WhenceError:
    """The server answered with an error of the protocol."""
    said = f"the MCP server {label} answers with error {code}: {shown(message)}"
    if code == _BAD_PARAMS:
        return InvalidArgs(said, "Correct the arguments as it says.")
    if code == _NO_METHOD:
        return NotFound(said, "It cannot do this; use another tool.")
    if code == _TIMEOUT:
        return TimedOut(said, "Ask for less at once, or give the server a longer timeout.")
    return ExecutionFailed(said, "Try other arguments or another tool.")


def unwelcome(label: str, code: int, message: str) -> ExecutionFailed:
    """The server answered the greeting with an error."""
    return ExecutionFailed(
        f"the MCP server {label} answers the greeting with error {code}: {shown(message)}",
        "Check the address or the command: there may be no MCP server behind it.",
    )


def senseless(label: str, what: str, error: Exception) -> ExecutionFailed:
    """The server answered with what is not the protocol."""
    first = str(error).strip().replace("\n", " ")
    return ExecutionFailed(
        f"what the MCP server {label} answers to {what} is not MCP: {shown(first)}",
        "The server is broken, or of another version: tell those who made it.",
    )


def overdue(label: str, what: str, seconds: float, words: str) -> TimedOut:
    """The server did not answer while it was connected to, or asked for a list."""
    said = f": {words}" if words else ""
    return TimedOut(
        f"the MCP server {label} {what} within {seconds:g} s{said}",
        'See whether it runs by itself; timeout="…" on its <tool> gives it longer.',
    )


def within(error: BaseException) -> BaseException:
    """The error that a group of errors is about; one of ours first."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = [within(each) for each in error.exceptions]
    return next((each for each in inner if isinstance(each, WhenceError)), inner[0])
