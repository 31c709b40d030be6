"""Is there anything left to spend, and is the caller going round in circles?"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec

from whence.shapes.call import Fault
from whence.shapes.policy import Quotas

_MEMORY = 64
_LONGEST = 512


def fingerprint(tool: str, written: bytes) -> bytes:
    """What two calls that ask for the same have in common: the tool and the arguments as JSON.

    Fingerprints are remembered, so long arguments are held by their hash.
    """
    if len(written) > _LONGEST:
        written = sha256(written).digest()
    return b"%b\0%b" % (tool.encode(errors="replace"), written)


@dataclass(slots=True)
class Usage:
    """What a session has spent so far. The loop adds to it; the gate only reads it."""

    calls: int = 0
    calls_this_turn: int = 0
    bytes_written: int = 0
    seconds: float = 0.0
    recent: deque[bytes] = field(default_factory=lambda: deque(maxlen=_MEMORY))
    """Fingerprints of the last calls, newest last: tool and arguments, without the reason."""

    def begin(self, fingerprint: bytes) -> None:
        """Count a call that was let through."""
        self.calls += 1
        self.calls_this_turn += 1
        self.recent.append(fingerprint)

    def remember(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Note a call that was stopped for going round in circles, so that the circle is seen."""
        self.recent.append(fingerprint(tool, msgspec.json.encode(arguments)))

    def end(self, seconds: float, bytes_written: int) -> None:
        """Count what the call cost."""
        self.seconds += seconds
        self.bytes_written += bytes_written

    def next_turn(self) -> None:
        """A new turn has its own count of calls."""
        self.calls_this_turn = 0


def check(usage: Usage, quotas: Quotas, fingerprint: bytes) -> Fault | None:
    """The first quota that is used up."""
    if quotas.calls is not None and usage.calls >= quotas.calls:
        return _used_up("calls", usage.calls, quotas.calls)
    if quotas.calls_per_turn is not None and usage.calls_this_turn >= quotas.calls_per_turn:
        return _used_up("calls_per_turn", usage.calls_this_turn, quotas.calls_per_turn)
    if quotas.bytes_written is not None and usage.bytes_written >= quotas.bytes_written:
        return _used_up("bytes_written", usage.bytes_written, quotas.bytes_written)
    if quotas.seconds is not None and usage.seconds >= quotas.seconds:
        return _used_up("seconds", usage.seconds, quotas.seconds)
    return _circles(usage.recent, quotas.repeats, fingerprint)


def _used_up(name: str, used: float, limit: float) -> Fault:
    by_turn = name == "calls_per_turn"
    resets = "the next turn" if by_turn else "the session"
    return Fault(
        "QUOTA_EXCEEDED",
        f"the quota {name} is used up: {used:g} of {limit:g}",
        "Finish with what you have, or ask for a larger quota.",
        recoverable=by_turn,
        details={"quota": name, "used": used, "limit": limit, "resets": resets},
    )


def _circles(recent: deque[bytes], repeats: int | None, fingerprint: bytes) -> Fault | None:
    if repeats is None or not recent or fingerprint not in recent:
        return None
    if recent[-1] == fingerprint:
        return _same_again(recent, repeats, fingerprint)
    return _back_and_forth(recent, repeats, fingerprint)


def _same_again(recent: deque[bytes], repeats: int, fingerprint: bytes) -> Fault | None:
    run = 0
    for earlier in reversed(recent):
        if earlier != fingerprint:
            break
        run += 1
    if run < repeats:
        return None
    return Fault(
        "QUOTA_EXCEEDED",
        f"this same call was made {run} times in a row",
        "The answer will not change: use the result that you have, or change the arguments.",
        details={"quota": "repeats", "used": run, "limit": repeats},
    )


def _back_and_forth(recent: deque[bytes], repeats: int, fingerprint: bytes) -> Fault | None:
    other = recent[-1]
    expected = (other, fingerprint)
    length = 0
    for earlier in reversed(recent):
        if earlier != expected[length % 2]:
            break
        length += 1
    rounds = length // 2
    if rounds < repeats:
        return None
    return Fault(
        "QUOTA_EXCEEDED",
        f"the same two calls were made by turns {rounds} times",
        "Neither changes what the other sees: stop and say what is missing.",
        details={"quota": "repeats", "used": rounds, "limit": repeats},
    )
