"""Line numbers that a model copied from what it was shown, `12 | text`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

_NUMBERED = re.compile(r"\s*([0-9]{1,9})\s*\|(?: (.*)|)", re.DOTALL)
_BARRED = re.compile(r"\s*()\|(?: (.*)|)", re.DOTALL)
Lines: TypeAlias = tuple[str, ...]


def is_numbered(lines: Sequence[str]) -> bool:
    """Whether every line begins with a number and a bar."""
    return _all(_NUMBERED, lines)


def first_number(lines: Sequence[str]) -> int | None:
    """The number of the first line, where it has one."""
    match = _NUMBERED.fullmatch(lines[0]) if lines else None
    return int(match[1]) if match else None


def without_numbers(search: Lines, replacement: Lines) -> tuple[Lines, Lines] | None:
    """Both texts without numbers; None where the first one has none before every line.

    Bars without numbers count only where all lines have them: tables look like that, too.
    """
    if is_numbered(search):
        return _bare(_NUMBERED, search), _bare(_NUMBERED, replacement)
    if _all(_BARRED, search) and _all(_BARRED, replacement):
        return _bare(_BARRED, search), _bare(_BARRED, replacement)
    return None


def _all(form: re.Pattern[str], lines: Sequence[str]) -> bool:
    return bool(lines) and all(form.fullmatch(line) for line in lines)


def _bare(form: re.Pattern[str], lines: Lines) -> Lines:
    matches = [(line, form.fullmatch(line)) for line in lines]
    return tuple(line if match is None else match[2] or "" for line, match in matches)
