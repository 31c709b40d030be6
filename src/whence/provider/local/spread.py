"""`read a.txt and b.txt` is two requests, where the tool takes one file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from whence.declare.toolbox import Mounted
from whence.provider.local.grammar import is_common
from whence.provider.local.pieces import Kind, Piece, pieces_of
from whence.provider.local.slots import Want, slots_of

_JOINT = re.compile(r"\s*(?:,|&|,?\s+and|,?\s+as\ well\ as)\s+", re.IGNORECASE)
_SHAPED = (Kind.PATH, Kind.DOTTED)
_NO_NAMES = frozenset("folders directories everything subfolders".split())


def spread(request: str, mounted: Mounted) -> list[str]:
    """One request for each of the paths that it joins, so that each has as many as the tool takes.

    The request itself, where it says no more paths than that.
    """
    slots = slots_of(mounted)
    places = sum(slot.want is Want.PATH for slot in slots)
    if not places or any(slot.want is Want.LIST for slot in slots):
        return [request]
    pieces = pieces_of(request)
    paths = [piece for piece in pieces if piece.kind in _SHAPED]
    if not paths and all(slot.want is not Want.TEXT for slot in slots):
        paths = _bare_names(pieces)
    joined = _joined(request, paths)
    if not joined or len(paths) - len(joined) + 1 != places:
        return [request]
    start, end = joined[0].start, joined[-1].end
    return [request[:start] + piece.text + request[end:] for piece in joined]


def _bare_names(pieces: Sequence[Piece]) -> list[Piece]:
    """The words behind the verb that could be names of folders."""
    return [
        piece
        for piece in pieces[1:]
        if piece.kind is Kind.WORD and not is_common(piece) and piece.text.lower() not in _NO_NAMES
    ]


def _joined(request: str, pieces: Sequence[Piece]) -> list[Piece]:
    """The first run of pieces with nothing but commas and "and" between them."""
    run: list[Piece] = []
    for one, other in pairwise(pieces):
        if _JOINT.fullmatch(request[one.end : other.start]):
            run = run or [one]
            run.append(other)
        elif run:
            break
    return run
