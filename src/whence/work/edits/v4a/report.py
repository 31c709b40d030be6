"""What a patch did, as text for a model: each file with its changed lines and their scopes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from whence.work.edits.unified.make import changes
from whence.work.edits.v4a.scopes import Scopes
from whence.work.edits.words import cut

_SMALL_FILE = 20
"""A new file of so many lines is shown."""
_CONTEXT = 1
_RULE = "-" * 70
_SHOWN_CHARS = 500
_HEADED = (".md", ".markdown", ".mdx")
"""In these files, `#` begins a heading."""

Span: TypeAlias = tuple[int, int, int, int]
"""Old lines from and to, new lines from and to."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of one file."""

    snippet: str
    added: int = 0
    removed: int = 0
    hunks: int = 0


def whole_text(files: Iterable[tuple[str, str]]) -> str:
    """The text for a whole patch, from paths and snippets."""
    blocks = [f"┏━[ {path} ]{_RULE}\n{snippet}\n" for path, snippet in files]
    return "\n".join(["✅ Patch applied successfully!\n", *blocks])


def added(lines: Sequence[str]) -> Summary:
    """A new file."""
    text = ["Addition of file successful."]
    if len(lines) <= _SMALL_FILE:
        text += [_line(None, at, f"+{line}") for at, line in enumerate(lines)]
    return Summary("\n".join(text), added=len(lines))


def deleted() -> Summary:
    """A file that is gone."""
    return Summary("Deletion of file successful.")


def updated(
    path: str, old: Sequence[str], new: Sequence[str], spans: Iterable[Span], *, moved: bool
) -> Summary:
    """A file whose lines changed, within these spans at the most."""
    exact = [change for span in spans for change in _narrowed(old, new, span)]
    groups = _grouped(exact)
    plus = sum(to - start for _, _, start, to in exact)
    minus = sum(to - start for start, to, _, _ in exact)
    title = f"{'Move' if moved else 'Update'} of file successful."
    if not groups:
        return Summary(title)
    counts = f"{_count(plus, 'insertion')}, {_count(minus, 'deletion')}"
    text = [f"{title} {counts}, {_count(len(groups), 'hunk')}."]
    scopes = Scopes(new, headings=path.lower().endswith(_HEADED))
    for number, group in enumerate(groups):
        if number:
            gap = (group[0][0] - _CONTEXT) - (groups[number - 1][-1][1] + _CONTEXT)
            text.append(_line(None, None, f"... {_count(gap, 'unchanged line')} ..."))
        text.append(f"[hunk {number + 1}/{len(groups)}]")
        text += _scopes(scopes, group)
        text += _hunk(old, new, group)
    return Summary("\n".join(text), plus, minus, len(groups))


def _narrowed(old: Sequence[str], new: Sequence[str], span: Span) -> list[Span]:
    """The lines that really differ within a span."""
    first, end, new_first, new_end = span
    return [
        (first + a, first + b, new_first + c, new_first + d)
        for a, b, c, d in changes(old[first:end], new[new_first:new_end])
    ]


def _grouped(spans: Sequence[Span]) -> list[list[Span]]:
    """Changes whose context lines touch belong together."""
    groups = [list(spans[:1])] if spans else []
    for before, span in pairwise(spans):
        if span[0] - before[1] > 2 * _CONTEXT:
            groups.append([])
        groups[-1].append(span)
    return groups


def _scopes(scopes: Scopes, group: Sequence[Span]) -> list[str]:
    _, _, first, end = group[0]
    found = scopes.enclosing(first, max(end, first + 1))
    return [
        f"@ scope[{number}]: {cut(scope.text, _SHOWN_CHARS)}"
        for number, scope in enumerate(found, 1)
    ]


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[Span]) -> list[str]:
    text: list[str] = []
    at = max(group[0][0] - _CONTEXT, 0)
    for first, end, new_first, new_end in group:
        shift = new_first - first
        text += [_line(n, n + shift, f" {old[n]}") for n in range(at, first)]
        text += [_line(n, None, f"-{old[n]}") for n in range(first, end)]
        if first < end and new_first < new_end:
            text.append(_line(None, None, "~ replaced by ~"))
        text += [_line(None, n, f"+{new[n]}") for n in range(new_first, new_end)]
        at = end
    _, last, _, new_last = group[-1]
    below = range(last, min(last + _CONTEXT, len(old)))
    return text + [_line(n, n + new_last - last, f" {old[n]}") for n in below]


def _line(old: int | None, new: int | None, text: str) -> str:
    return f"o:{_number(old)} n:{_number(new)} | {cut(text, _SHOWN_CHARS)}"


def _number(at: int | None) -> str:
    return "   -" if at is None else f"{at + 1:4d}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
