"""New lines of an edit that is indented otherwise than the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations


class Reindent:
    """From the indentation of an edit to that of the file, as far as the lines in both tell it."""

    def __init__(self, written: Sequence[str], found: Sequence[str]) -> None:
        pairs = {
            (lead_of(line), lead_of(there))
            for line, there in zip(written, found, strict=True)
            if line.strip() and there.strip()
        }
        self.is_same = all(lead == there for lead, there in pairs)
        self._exact = dict(pairs)
        self._is_known = len(self._exact) == len(pairs)
        """Whether lines that are indented alike in the edit are indented alike in the file."""
        self._more, self._less = _common_shift(pairs)
        self._step = _step(self._exact)

    def __call__(self, line: str) -> str | None:
        """The line as the file would have it; None where nothing can be told."""
        lead = lead_of(line)
        text = line[len(lead) :]
        if self.is_same or not text:
            return line
        if not self._is_known:
            return None
        if self._more is not None:
            return self._more + line
        if self._less is not None and lead.startswith(self._less):
            return lead.removeprefix(self._less) + text
        above = max((one for one in self._exact if lead.startswith(one)), key=len, default=None)
        return None if above is None else self._exact[above] + self._deeper(above, lead) + text

    def _deeper(self, above: str, lead: str) -> str:
        """What a line has more than the known one above it, in the steps of the file."""
        more = lead[len(above) :]
        step, there = self._step
        times, rest = divmod(len(more), len(step))
        return there * times if not rest and more == step * times else more


def lead_of(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def _common_shift(pairs: set[tuple[str, str]]) -> tuple[str | None, str | None]:
    """What every line has more in the file, or else less; None: nothing that all share."""
    more = {there.removesuffix(lead) if there.endswith(lead) else None for lead, there in pairs}
    less = {lead.removesuffix(there) if lead.endswith(there) else None for lead, there in pairs}
    return (
        more.pop() if len(more) == 1 else None,
        less.pop() if len(less) == 1 else None,
    )


def _step(known: Mapping[str, str]) -> tuple[str, str]:
    """One level more in the edit, and what it is in the file."""
    steps = [
        (deep[len(flat) :], known[deep][len(known[flat]) :])
        for flat, deep in permutations(known, 2)
        if deep.startswith(flat) and known[deep].startswith(known[flat])
    ]
    return min(steps, key=lambda step: len(step[0]), default=("\t", "\t"))
