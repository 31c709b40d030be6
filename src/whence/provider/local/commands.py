"""The command line that a request wants to be run, as it is written there."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from whence.provider.local.pieces import Kind
from whence.provider.local.plainly import Known
from whence.provider.local.slots import Slot, Want

_NAMES = frozenset("command cmd commandline".split())
_CUE = re.compile(
    r"""\b(?:run|execute|launch|(?:output|result)\ of)\s+
    (?:(?:the\s+)?(?:shell\s+)?(?:command|program)\b:?\s+)?(?!(?:the|a|an|all|my|our)\s)""",
    re.IGNORECASE | re.VERBOSE,
)
_TYPED = re.compile(r"[a-z][\w.-]*(?:\s+[^\s\"'`]+)*?\s+--?[a-zA-Z]")
"""A line with a flag in it is what would be typed into a shell."""
_TAIL = re.compile(
    r"(?:(?<![\s,])[\s,]+(?:please|pls|now|for me))?(?:(?<=\w)[.?!]+)?$", re.IGNORECASE
)
_WHERE = re.compile(
    r"""(?<![\s,])[\s,]+(?:in|inside|within)\s+(?:the\s+)?(?:(?:folder|directory|dir)\s+)?
    [\w./~@+-]+(?:\s+(?:folder|directory|dir))?$""",
    re.IGNORECASE | re.VERBOSE,
)


_PROGRAM = re.compile(r"[\w./+-]+(?:\s[^();{}]*)?")


class Said(NamedTuple):
    """A command line and the pieces that it is made of."""

    line: str
    pieces: list[int]


def takes_command(slot: Slot) -> bool:
    """Whether a place is for a command line, whole or in words."""
    return slot.want in (Want.TEXT, Want.LIST) and not slot.words.isdisjoint(_NAMES)


def said_command(known: Known, *, elsewhere: bool) -> Said | None:
    """What stands behind `run`, or looks typed.

    `elsewhere`: the tool has a place for the directory, too.
    """
    cue = _CUE.search(known.request)
    if cue is None:
        whole = _TYPED.match(known.request) is not None
        return _between(0, len(known.request), known) if whole else None
    end = _TAIL.search(known.request, cue.end())
    where = _WHERE.search(known.request, cue.end(), end.start() if end else len(known.request))
    if elsewhere and where:
        end = where
    return _between(cue.end(), end.start() if end else len(known.request), known)


def _between(start: int, end: int, known: Known) -> Said | None:
    inside = [
        i for i, piece in enumerate(known.pieces) if start <= piece.start and piece.end <= end
    ]
    if not inside:
        return None
    first, last = known.pieces[inside[0]], known.pieces[inside[-1]]
    if first.kind is Kind.QUOTED and first.start > start:
        # The whole command stands in quotes: what follows them is no part of it.
        return Said(first.text, inside[:1])
    return Said(known.request[start : max(end, last.end)].strip(), inside)


def looks_run(said: Said) -> bool:
    """Whether it is a program with arguments rather than code."""
    return _PROGRAM.fullmatch(said.line) is not None


def words_of(line: str) -> list[str]:
    """A command line in words; one with an open quote is cut at its spaces."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()
