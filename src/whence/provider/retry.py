"""How long to wait for an answer, and whether and when to ask again. Nothing here waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from whence.errors import WhenceError

_PASSING = frozenset({408, 409, 425, 429})
_LASTING = frozenset({501, 505, 511})


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for what, in seconds."""

    connect_s: float = 15.0
    silence_s: float = 600.0
    """Between two pieces of an answer; a model that thinks may say nothing for minutes."""
    total_s: float | None = None
    """For a whole answer; None: as long as something comes."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to try."""

    attempts: int = 5
    """In all, the first included."""
    first_s: float = 0.5
    """The first pause; each is twice as long as the one before."""
    longest_s: float = 30.0
    longest_asked_s: float = 120.0
    """A server that asks for a longer pause is not waited for; its error says how long."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    """From 0 to 1; keeps many clients from coming back in step."""

    def pause_s(self, attempt: int, setback: Setback) -> float | None:
        """How long to wait after the attempt of that number, from 1; None: give up."""
        if not setback.passing or attempt >= self.attempts:
            return None
        if setback.asked_s:  # at once is no advice to a crowd that comes back at once
            return setback.asked_s if setback.asked_s <= self.longest_asked_s else None
        full = min(self.longest_s, self.first_s * 2.0 ** (attempt - 1))
        return full * (0.5 + self.chance() / 2)


DEFAULT_TIMEOUTS = Timeouts()
DEFAULT_PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class Setback:
    """A request without an answer."""

    error: WhenceError
    """What the caller learns if it is not made again."""
    passing: bool
    """Whether it may work later as it is."""
    asked_s: float | None = None
    """How long the server wants us to wait."""


def is_passing(status: int, advice: str = "") -> bool:
    """Whether a status is worth another try; `advice` is the header `x-should-retry`."""
    if advice in ("true", "false"):
        return advice == "true"
    return status in _PASSING or (status >= 500 and status not in _LASTING)


def asked_pause(seconds: str, milliseconds: str, now: datetime | None = None) -> float | None:
    """The pause that `retry-after` and `retry-after-ms` ask for; None where there is none."""
    for text, unit in ((milliseconds, 0.001), (seconds, 1.0)):
        if text.replace(".", "", 1).isdecimal() and text.isascii():
            return float(text) * unit
    try:
        until = parsedate_to_datetime(seconds)
    except (TypeError, ValueError, OverflowError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
