"""What attributes say, as values: None where they say nothing, or nothing that can be used.

Each of these reports what it cannot use, with what would do; none of them raises.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from whence.chatmd.suggest import closest, quoted
from whence.declare.names import CANONICAL, HOW_TO_NAME
from whence.declare.report import Report
from whence.shapes.document import Element, truth
from whence.shapes.tool import Effect

_UNITS = {"ms": 1, "": 1000, "s": 1000, "m": 60_000, "h": 3_600_000}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|m|h|)", re.ASCII)
_LONGEST_MS = 24 * 3_600_000
_WHOLE = re.compile(r"\d{1,15}", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_HOST = re.compile(
    r"(?:\*|(?:\*\.)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?"
)
_NETWORK = re.compile(r"[0-9A-Fa-f:.]+/\d{1,3}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Choice = TypeVar("Choice", bound=StrEnum)
Value = TypeVar("Value")


def text(element: Element, name: str) -> str | None:
    """The value without white space around it; None where the attribute is absent."""
    value = element.get(name)
    return None if value is None else value.strip()


def filled(element: Element, name: str, report: Report) -> str | None:
    """A value that is not empty."""

    def read(value: str) -> str | None:
        return value if value and "\0" not in value else None

    return _read(element, name, report, read, "Give it a value, or drop it.")


def whole_number(element: Element, name: str, report: Report) -> int | None:
    """A whole number above zero."""

    def read(value: str) -> int | None:
        return int(value) if _WHOLE.fullmatch(value) and int(value) > 0 else None

    return _read(element, name, report, read, f'Write a whole number above 0: {name}="1000".')


def number_between(
    element: Element, name: str, report: Report, *, least: float, most: float
) -> float | None:
    """A number within bounds."""

    def read(value: str) -> float | None:
        number = float(value) if _NUMBER.fullmatch(value) else math.nan
        return number if least <= number <= most else None

    hint = f'Write a number from {least:g} to {most:g}: {name}="{(least + most) / 4:g}".'
    return _read(element, name, report, read, hint)


def duration_ms(element: Element, name: str, report: Report) -> int | None:
    """A time, in milliseconds; a number alone counts seconds."""

    def read(value: str) -> int | None:
        found = _DURATION.fullmatch(value)
        ms = round(float(found[1]) * _UNITS[found[2]]) if found else 0
        return ms if 0 < ms <= _LONGEST_MS else None

    hint = "Write seconds, or a number with ms, s, m or h, up to 24h: 90, 500ms, 2m."
    return _read(element, name, report, read, hint)


def choice(element: Element, name: str, kind: type[Choice], report: Report) -> Choice | None:
    """One word of a closed set."""
    words = list(kind)
    word = text(element, name)
    near = closest(word, words) if word and word not in words else None
    meant = f"Did you mean {near}? " if near else ""

    def read(value: str) -> Choice | None:
        return kind(value) if value in words else None

    return _read(element, name, report, read, f"{meant}Choose one of: {', '.join(words)}.")


def items(value: str) -> tuple[str, ...]:
    """The parts of a list with commas, each once."""
    parts = (part.strip() for part in value.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def hosts(element: Element, report: Report, *, networks: bool = False) -> tuple[str, ...] | None:
    """The hosts that `network` lists: none for a no, `*` for a yes.

    With `networks`, it may also list some by their addresses, as in `10.0.0.0/8`.
    """

    def read(value: str) -> tuple[str, ...] | None:
        said = truth(value)
        if said is not None:
            return ("*",) if said else ()
        listed = items(value)
        known = (_HOST.fullmatch(each) or (networks and _is_network(each)) for each in listed)
        return listed if listed and all(known) else None

    hint = 'Write network alone for any host, or list hosts: network="api.example.org,*.pypi.org".'
    return _read(element, "network", report, read, hint)


def _is_network(value: str) -> bool:
    from ipaddress import ip_network

    try:
        return bool(_NETWORK.fullmatch(value) and ip_network(value))
    except ValueError:
        return False


def variable(element: Element, name: str, report: Report) -> str | None:
    """The name of a variable of the environment."""
    value = text(element, name)
    if value is None or _VARIABLE.fullmatch(value):
        return value
    # What stands there may be the secret itself, and must not be repeated.
    report.bad(element, name, f"{name} does not hold the name of a variable.", _VARIABLE_HINT)
    return None


def variables(element: Element, name: str, report: Report) -> tuple[str, ...]:
    """Names of variables of the environment."""
    names = items(text(element, name) or "")
    wrong = [each.partition("=")[0] for each in names if not _VARIABLE.fullmatch(each)]
    if wrong or (name in element.attributes and not names):
        what = f"{quoted(wrong[0])}, which is no name alone" if wrong else "nothing"
        report.bad(element, name, f"{name} lists {what}.", _VARIABLE_HINT)
        return ()
    return names


_VARIABLE_HINT = "Write names of environment variables, such as API_TOKEN; never their values."


def effects(element: Element, report: Report) -> frozenset[Effect] | None:
    """What a tool is declared to do; `none` is nothing at all."""

    def read(value: str) -> frozenset[Effect] | None:
        words = items(value)
        if words == ("none",):
            return frozenset()
        return frozenset(map(Effect, words)) if words and set(words) <= set(Effect) else None

    hint = f"List some of: {', '.join(Effect)}; or write none."
    return _read(element, "effects", report, read, hint)


def include(element: Element, report: Report) -> tuple[str, ...] | None:
    """The names that are wanted: `name`, else `include`, else `includes`; None: no choice made."""
    given = [name for name in ("name", "include", "includes") if name in element.attributes]
    for ignored in given[1:]:
        message = f"{ignored} does not count beside {given[0]}."
        hint = f"Remove {ignored}, or {given[0]}."
        report.warning("ignored-include", element, message, hint, at=ignored)
    if not given:
        return None
    if given[0] == "name":
        name = filled(element, "name", report)
        return () if name is None else (name,)

    def read(value: str) -> tuple[str, ...] | None:
        return items(value) or None

    hint = f"List names with commas, or drop {given[0]} for all tools."
    return _read(element, given[0], report, read, hint) or ()


def tool_name(element: Element, report: Report) -> str | None:
    """The name of a tool that is declared here."""
    if "name" not in element.attributes:
        hint = 'Say what the model is to call it: name="…".'
        report.error("missing-name", element, "This tool has no name.", hint)
        return None

    def read(value: str) -> str | None:
        return value if CANONICAL.fullmatch(value) else None

    return _read(element, "name", report, read, HOW_TO_NAME)


def _read(
    element: Element, name: str, report: Report, read: Callable[[str], Value | None], hint: str
) -> Value | None:
    value = text(element, name)
    if value is None:
        return None
    known = read(value)
    if known is None:
        report.bad(element, name, f"{name} is {quoted(value)}.", hint)
    return known
