"""Lines that begin a scope: classes, functions, headings. By their looks, in any language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["section", "flat", "container", "declaration"]

_MODIFIERS = (
    "export default public private protected static async abstract final virtual inline extern "
    "constexpr pub override sealed internal open"
)
_FLAT = "module namespace package"
"""What they hold need not be indented."""
_CONTAINERS = f"{_FLAT} class interface struct trait impl protocol enum record"
_DECLARATIONS = "let and type exception val def fn func function method sub proc"
_CONTROL = (
    "if elif else for foreach while until unless do switch case when match catch except finally "
    "try with return yield await assert using lock synchronized select throw raise new delete"
)


def _one_of(words: str) -> str:
    return "|".join(words.split())


_LEAD = rf"(?:(?:{_one_of(_MODIFIERS)})(?:\([^)]*\))?\s+)*"
_CONTAINER = re.compile(rf"{_LEAD}(?:{_one_of(_CONTAINERS)})\b(?!\s*[=(.,:;])")
_FLAT_CONTAINER = re.compile(rf"{_LEAD}(?:{_one_of(_FLAT)})\b")
_DECLARATION = re.compile(rf"{_LEAD}(?:let%\w+|(?:{_one_of(_DECLARATIONS)})\b)\s*[*&(\w]")
_HEADING = re.compile(r"#{1,4} ")
_NOT_A_SIGNATURE = re.compile(rf"[^\w$~@<\[]|(?:{_one_of(_CONTROL)})\b")
_SIGNATURE_ENDS = ("{", ":", "=>")
_LONGEST = 400
"""Longer lines are data."""
_REACH = 2000
"""How many lines above a change are looked at."""
_SCOPES = 2


@dataclass(frozen=True, slots=True)
class Scope:
    """A line that begins a scope."""

    kind: Kind
    text: str


def scope_of(line: str, *, headings: bool = False) -> Kind | None:
    """What kind of scope a line begins; None: it begins none."""
    text = line.strip()
    if not text or len(text) > _LONGEST:
        return None
    if headings and _HEADING.match(line):
        return "section"
    if _CONTAINER.match(text):
        return "flat" if _FLAT_CONTAINER.match(text) else "container"
    if _DECLARATION.match(text) or _is_signature(text):
        return "declaration"
    return None


def _is_signature(text: str) -> bool:
    """Whether a line looks like the head of a function, without any keyword."""
    opens = text.find("(")
    if opens < 1 or ")" not in text[opens:] or not text.endswith(_SIGNATURE_ENDS):
        return False
    return _NOT_A_SIGNATURE.match(text) is None


class Scopes:
    """The scopes of a text; where they are asked for from the top down, each line is read once."""

    def __init__(self, lines: Sequence[str], *, headings: bool = False) -> None:
        self._lines = lines
        self._headings = headings
        self._known: dict[int, Kind | None] = {}
        self._above: dict[int, int] = {}
        """Between a line and the one here, no line begins a scope."""

    def enclosing(self, first: int, last: int) -> list[Scope]:
        """The nearest scopes around some lines, at most two, outermost first."""
        found: list[Scope] = []
        around = [indent_of(line) for line in self._lines[first:last] if line.strip()]
        inner, end = min(around, default=_LONGEST), max(first - _REACH, -1)
        at = first
        while len(found) < _SCOPES and (at := self._next_above(at, end)) > end:
            kind, indent = self._kind(at), indent_of(self._lines[at])
            known = {scope.kind for scope in found}
            if kind is not None and (
                indent < inner or (kind in ("flat", "section") and kind not in known)
            ):
                found.append(Scope(kind, self._lines[at].strip()))
                inner = min(indent, inner)
        return found[::-1]

    def _next_above(self, line: int, end: int) -> int:
        """The nearest line above that begins a scope; `end` or less: none does before that."""
        at = self._above.get(line, line - 1)
        while at > end and self._kind(at) is None:
            at = self._above.get(at, at - 1)
        self._above[line] = at
        return at

    def _kind(self, at: int) -> Kind | None:
        if at not in self._known:
            self._known[at] = scope_of(self._lines[at], headings=self._headings)
        return self._known[at]


def indent_of(line: str) -> int:
    """How far a line is indented; a tab counts to the next eighth column."""
    text = line.lstrip(" \t")
    lead = line[: len(line) - len(text)]
    return len(lead.expandtabs(8)) if "\t" in lead else len(lead)
