"""Finding where a call ends and what its arguments are, in text that may hold any tags itself.

A parameter ends at its closing tag only where the call goes on after it: with another parameter of
the tool that was not given yet, or with the end of the call. Of several possible ends of a call the
first one counts that leaves its tags balanced, unless the text behind it closes the call again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from whence.provider.xml_values import CDATA, CDATA_END

PARAMETER = re.compile(r"<([A-Za-z_][A-Za-z0-9_.-]*)>")
_QUOTED = re.compile(rf"{re.escape(CDATA)}.*?{re.escape(CDATA_END)}", re.DOTALL)
_BLANK = re.compile(r"\s*")
_MAX_STEPS = 20_000
_MAX_ENDS = 64
_LONGEST_TAG = 200


class Ending(NamedTuple):
    """One way to read a call."""

    end: int
    """Behind the closing tag."""
    values: Mapping[str, str]
    """What stands between the tags of each parameter."""
    settled: bool
    """Whether more text could not bring a reading that is to be preferred."""


@dataclass
class Reader:
    """Reads one call that begins at `start`, right behind its opening tag."""

    text: str
    start: int
    tool: str
    parameters: frozenset[str]
    steps: int = field(default=0, init=False)
    exhausted: bool = field(default=False, init=False)
    """Whether a better reading was given up only because the text ended."""

    @property
    def closing(self) -> str:
        """The closing tag of the call."""
        return f"</{self.tool}>"

    def endings(self) -> list[Ending]:
        """The ways to read it, in the order in which they are to be preferred."""
        for known_only in (True, False):
            found: dict[int, Ending] = {}
            self.steps = 0
            for ending in self._read(self.start, {}, known_only=known_only):
                found.setdefault(ending.end, ending)
                if len(found) >= _MAX_ENDS or self.steps > _MAX_STEPS:
                    break
            if found:
                return list(found.values())
        return []

    def _read(self, at: int, given: dict[str, str], *, known_only: bool) -> Iterator[Ending]:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            return
        at = _behind_blank(self.text, at)
        if self.text.startswith(self.closing, at):
            yield Ending(at + len(self.closing), given, not self.exhausted)
            return
        name = self._next_parameter(at, given, known_only=known_only)
        if name is None:
            self.exhausted = self.exhausted or self._ends_within_tag(at)
            return
        begin = at + len(name) + 2
        for end, behind in self._closings(name, begin, given, known_only=known_only):
            value = {**given, name: self.text[begin:end]}
            yield from self._read(behind, value, known_only=known_only)

    def _closings(
        self, name: str, begin: int, given: dict[str, str], *, known_only: bool
    ) -> Iterator[tuple[int, int]]:
        """Where the parameter may end, and where its closing tag does."""
        tag = f"</{name}>"
        quoted = _behind_blank(self.text, begin)
        if self.text.startswith(CDATA, quoted):
            found = re.compile(rf"{re.escape(CDATA_END)}\s*{tag}").search(self.text, quoted)
            if found:
                yield found.end() - len(tag), found.end()
            else:
                self.exhausted = True
            return
        at = self.text.find(tag, begin)
        while at >= 0:
            behind = at + len(tag)
            following = _behind_blank(self.text, behind)
            other = self._next_parameter(following, {**given, name: ""}, known_only=known_only)
            if other is not None or self.text.startswith(self.closing, following):
                yield at, behind
            at = self.text.find(tag, behind)
        self.exhausted = True

    def _next_parameter(self, at: int, given: Mapping[str, str], *, known_only: bool) -> str | None:
        found = PARAMETER.match(self.text, at)
        name = found.group(1) if found else None
        if name is None or name in given or (known_only and name not in self.parameters):
            return None
        return name

    def _ends_within_tag(self, at: int) -> bool:
        rest = self.text[at : at + _LONGEST_TAG]
        return not rest or (rest[0] == "<" and ">" not in rest and len(rest) < _LONGEST_TAG)

    def is_balanced(self, ending: Ending) -> bool:
        """Whether the tool's own tags within the call are pairs, those in quoted text aside."""
        inside = _QUOTED.sub("", self.text[self.start : ending.end - len(self.closing)])
        return inside.count(f"<{self.tool}>") == inside.count(self.closing)


def _behind_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
