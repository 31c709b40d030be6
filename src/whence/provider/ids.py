"""Ids of calls: one each, also where a provider sends none or one twice; and fitting names."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def fresh_id() -> str:
    """An id that no other call has."""
    return f"call_{secrets.token_hex(12)}"


class CallIds:
    """The ids of one conversation; outcomes are paired by id, so each call needs its own."""

    def __init__(self, taken: Iterable[str] = (), fresh: Callable[[], str] = fresh_id) -> None:
        self._taken = set(taken)
        self._fresh = fresh

    def reserve(self, taken: Iterable[str]) -> None:
        """Keep the ids of calls that were made before from being given to another call."""
        self._taken.update(taken)

    def claim(self, wanted: str | None) -> str:
        """The wanted id, or a new one where it is missing or belongs to another call."""
        call_id = wanted or self._fresh()
        while call_id in self._taken:
            call_id = self._fresh()
        self._taken.add(call_id)
        return call_id


def fitting_id(call_id: str, pattern: re.Pattern[str], length: int) -> str:
    """The id, or where a provider would refuse it, one of that length that stands for it.

    The same id always gives the same one, so that a call and its outcome still find each other.
    """
    if pattern.fullmatch(call_id):
        return call_id
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest())
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)


def fitting_name(name: str) -> str:
    """The name of a tool that was called, or where providers would refuse it, one close to it.

    Histories hold names that no provider was given: from scripts, from files written by hand, from
    models that made them up.
    """
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "unnamed"
