"""Added lines of a hunk that is indented otherwise than the file."""

from __future__ import annotations

from collections.abc import Sequence


class Reindent:
    """From the indentation of a hunk to that of the file, as far as its old lines tell it."""

    def __init__(self, written: Sequence[str], found: Sequence[str]) -> None:
        pairs = {
            (_lead(line), _lead(there))
            for line, there in zip(written, found, strict=True)
            if line.strip() and there.strip()
        }
        self.is_same = all(lead == there for lead, there in pairs)
        self._exact = dict(pairs)
        self.is_known = len(self._exact) == len(pairs)
        """Whether lines that are indented alike in the hunk are indented alike in the file."""
        self._more, self._less = _common_shift(pairs)

    def __call__(self, line: str) -> str:
        """The line as the file would have it; as it is where nothing can be told."""
        lead = _lead(line)
        text = line[len(lead) :]
        if self.is_same or not self.is_known or not text:
            return line
        if lead in self._exact:
            return self._exact[lead] + text
        if self._more is not None:
            return self._more + line
        if self._less is not None and lead.startswith(self._less):
            return lead.removeprefix(self._less) + text
        return line


def _lead(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _common_shift(pairs: set[tuple[str, str]]) -> tuple[str | None, str | None]:
    """What every line has more in the file, or else less; None: nothing that all share."""
    more = {there.removesuffix(lead) if there.endswith(lead) else None for lead, there in pairs}
    less = {lead.removesuffix(there) if lead.endswith(there) else None for lead, there in pairs}
    return (
        more.pop() if len(more) == 1 else None,
        less.pop() if len(less) == 1 else None,
    )
