"""The exception tree; each leaf is one error code of the protocol.

    WhenceError
    ├── NotFound            NOT_FOUND           no such tool, file or session
    ├── PermissionDenied    PERMISSION_DENIED   a rule, a root or a person said no
    ├── TimedOut            TIMEOUT             the tool took longer than its sandbox allows
    ├── InvalidArgs         INVALID_ARGS        the arguments do not fit the tool or the file
    ├── MissingWhy          MISSING_WHY         no reason was given
    ├── QuotaExceeded       QUOTA_EXCEEDED      a limit of calls, bytes, seconds or repeats
    ├── Conflict            CONFLICT            the world is not as the call assumed
    ├── Interrupted         INTERRUPTED         the process ended between call and outcome
    ├── Unavailable         UNAVAILABLE         a program, server or journal cannot be used here
    ├── ExecutionFailed     EXECUTION_FAILED    the tool tried and could not
    ├── ParseError          PARSE_ERROR         text that is not what it claims to be
    ├── BudgetExceeded      BUDGET_EXCEEDED     turns, tokens or money of the run are used up
    ├── Cancelled           CANCELLED           somebody stopped it
    └── UsageError          USAGE               a wrong command line; never shown to a model

An error becomes a `Fault` value where it meets a model. Anything else that is raised is a bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class WhenceError(Exception):
    """An error that says what happened and what to do next."""

    code: ClassVar[str] = "EXECUTION_FAILED"

    def __init__(
        self,
        message: str,
        suggestion: str,
        *,
        recoverable: bool = True,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.add_note(suggestion)  # a traceback shows it
        self.message = message
        self.suggestion = suggestion
        self.recoverable = recoverable
        self.details = details or {}


class NotFound(WhenceError):
    """No such tool, file or session."""

    code = "NOT_FOUND"


class PermissionDenied(WhenceError):
    """A rule, a root or a person said no."""

    code = "PERMISSION_DENIED"


class TimedOut(WhenceError):
    """The tool took longer than its sandbox allows."""

    code = "TIMEOUT"


class InvalidArgs(WhenceError):
    """The arguments do not fit the tool or the file."""

    code = "INVALID_ARGS"


class MissingWhy(WhenceError):
    """No reason was given."""

    code = "MISSING_WHY"


class QuotaExceeded(WhenceError):
    """A limit of calls, bytes, seconds or repeats was reached."""

    code = "QUOTA_EXCEEDED"


class Conflict(WhenceError):
    """The world is not as the call assumed."""

    code = "CONFLICT"


class Interrupted(WhenceError):
    """The process ended between a call and its outcome."""

    code = "INTERRUPTED"


class Unavailable(WhenceError):
    """A program, server or journal cannot be used here."""

    code = "UNAVAILABLE"


class ExecutionFailed(WhenceError):
    """The tool tried and could not."""

    code = "EXECUTION_FAILED"


class ParseError(WhenceError):
    """Text is not what it claims to be."""

    code = "PARSE_ERROR"


class BudgetExceeded(WhenceError):
    """Turns, tokens or money of the run are used up."""

    code = "BUDGET_EXCEEDED"


class Cancelled(WhenceError):
    """Somebody stopped it."""

    code = "CANCELLED"


class UsageError(WhenceError):
    """A wrong command line; never shown to a model."""

    code = "USAGE"
