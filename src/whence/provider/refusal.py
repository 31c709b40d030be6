"""What a provider's failure means for the one who asked: one error, with what to do."""

from __future__ import annotations

from dataclasses import dataclass

from whence.errors import (
    InvalidArgs,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    Unavailable,
    WhenceError,
)
from whence.provider.exchange import Failure
from whence.provider.network import Broken
from whence.provider.retry import Setback, is_passing

_STATUS_OF = (
    (("rate_limit", "resource_exhausted", "too_many_requests"), 429),
    (("overloaded",), 529),
    (("authentication", "unauthenticated", "invalid_api_key"), 401),
    (("permission",), 403),
    (("billing", "insufficient"), 402),
    (("not_found",), 404),
    (("too_large",), 413),
    (("invalid", "context_length", "unsupported"), 400),
    (("timeout",), 408),
)
_NO_MODEL = ("model_not_found", "invalid_model")
_NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance")
_TOO_LONG = ("context_length_exceeded", "string_above_max_length", "request_too_large")
_TOO_LONG_WORDS = (
    "prompt is too long",
    "input is too long",
    "context length",
    "context window",
    "context size",
    "context limit",
    "too many tokens",
    "maximum prompt length",
    "maximum number of tokens",
)

_LASTING = ("barred", "untrusted", "unreadable")
_HINTS = {
    407: "Write user and password into the proxy's address.",
    413: "Shorten the conversation or send smaller files.",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked for what: enough to name it in an error, and without any key."""

    provider: str
    model: str
    url: str
    key_name: str
    """The variable that holds the key, or would."""
    has_key: bool


def status_of(failure: Failure) -> int:
    """The HTTP status of a failure, or the one that its own words stand for."""
    if failure.status is not None and failure.status >= 300:
        return failure.status
    code = failure.code or ""
    if code.isdecimal() and 300 <= int(code) < 600:
        return int(code)
    said = f"{failure.type} {code}".lower()
    return next((status for words, status in _STATUS_OF if any(w in said for w in words)), 500)


def refused(
    asked: Asked, failure: Failure, advice: str = "", pause_s: float | None = None
) -> Setback:
    """A failure that the provider told of, with its advice on when to ask again."""
    status = status_of(failure)
    error = _error(asked, failure, status)
    if pause_s:
        error.suggestion = f"{error.suggestion} It asks to wait {pause_s:g} s."
        error.details = {**error.details, "retry_after_s": pause_s}
    passing = is_passing(status, advice) and failure.code not in _NO_MONEY
    return Setback(error, passing, pause_s)


def lost(asked: Asked, broken: Broken) -> Setback:
    """A connection that gave no answer."""
    where = f"{asked.provider} at {asked.url}"
    message, hint = {
        "unreachable": (
            f"cannot reach {where}: {broken.reason}",
            "Check the network, the proxy and the base URL; a server of your own must be running.",
        ),
        "barred": (
            f"cannot reach {where}: {broken.reason}",
            "Write user and password into the proxy's address, or name the host in no_proxy.",
        ),
        "untrusted": (
            f"{where} is not who it claims to be: {broken.reason}",
            "Check the base URL; a company's own certificate goes into SSL_CERT_FILE.",
        ),
        "silent": (f"no answer from {where}: {broken.reason}", "Try again later."),
        "broken": (
            f"{where} broke off before it answered: {broken.reason}",
            "Try again; if it happens again, look for a proxy that cuts connections.",
        ),
        "unreadable": (
            f"{where} packs its answers in a way that cannot be read here: {broken.reason}",
            "It was asked not to; let it, or the proxy before it, send them as they are.",
        ),
    }[broken.kind]
    return Setback(Unavailable(message, hint), broken.kind not in _LASTING)


def nothing_said(asked: Asked) -> Setback:
    """An answer that ended before it began."""
    message = f"{asked.provider} at {asked.url} ended its answer without saying anything"
    hint = "Try again; if it happens again, check the base URL and the model's name."
    return Setback(Unavailable(message, hint), passing=True)


def no_model_here(asked: Asked, failure: Failure) -> Setback:
    """A page in the place of an answer."""
    message = f"no model answered at {asked.url}, but a page: {failure.message}"
    hint = "Check the base URL; a proxy or a login page may have answered instead."
    return Setback(Unavailable(message, hint), passing=False)


def _error(asked: Asked, failure: Failure, status: int) -> WhenceError:
    said = f"{asked.provider} ({status}): {failure}"
    details = {
        "status": status,
        "type": failure.type,
        "code": failure.code,
        "param": failure.param,
        "said": failure.message,
    }
    kind, message, hint = _meaning(asked, failure, status, said)
    if _is_too_long(failure, status):
        details["too_long"] = True
        hint = "Shorten the conversation: leave out old results, or compact it."
    return kind(message, hint, details={k: v for k, v in details.items() if v is not None})


def _meaning(
    asked: Asked, failure: Failure, status: int, said: str
) -> tuple[type[WhenceError], str, str]:
    if failure.code in _NO_MODEL or (status == 404 and "model" in failure.message.lower()):
        hint = f"Check the name {asked.model!r}, and that your key may use it."
        return NotFound, f"{asked.provider} has no model {asked.model!r}: {failure}", hint
    if failure.code in _NO_MONEY or status == 402:
        return QuotaExceeded, said, f"Add credit to your account at {asked.provider}."
    if status in (401, 403):
        return PermissionDenied, _about_key(asked, said), _key_hint(asked, status)
    if status == 404:
        return NotFound, f"nothing at {asked.url}: {failure}", "Check the base URL."
    if status == 429:
        return QuotaExceeded, said, "Ask less often, or raise the limit of your account."
    kind = Unavailable if status < 400 or is_passing(status) else InvalidArgs
    return kind, said, _HINTS.get(status) or _hint(status)


def _hint(status: int) -> str:
    if status < 400:
        return "Set the base URL to the address where the server really is."
    if is_passing(status):
        return "The provider has a problem; try again later."
    return "Correct what the provider names, then try again."


def _about_key(asked: Asked, said: str) -> str:
    return said if asked.has_key else f"{said}; no key was sent"


def _key_hint(asked: Asked, status: int) -> str:
    if not asked.has_key:
        return f"Set {asked.key_name} to your key."
    if status == 401:
        return f"Check the key in {asked.key_name}: it may be mistyped, expired or withdrawn."
    return f"The key in {asked.key_name} may not do this: check its rights, model and region."


def _is_too_long(failure: Failure, status: int) -> bool:
    if status not in (400, 413, 422):
        return False
    said = failure.message.lower()
    named = failure.code in _TOO_LONG or failure.type in _TOO_LONG
    return named or any(words in said for words in _TOO_LONG_WORDS)
