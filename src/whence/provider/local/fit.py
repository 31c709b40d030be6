"""Whether the pieces of a request are what a tool takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from whence.provider.local import commands, paths, plainly
from whence.provider.local.grammar import is_common
from whence.provider.local.pairs import take_pairs
from whence.provider.local.pieces import Kind
from whence.provider.local.plainly import Known
from whence.provider.local.slots import Slot, Want

_NO_NUMBER = 2
_NO_WAY = 3
_TELLING = tuple(kind for kind in Kind if kind not in (Kind.WORD, Kind.NUMBER, Kind.TIME))


class Fit(NamedTuple):
    """How well a request and a tool go together."""

    missing: int
    """Things that the tool needs and the request does not have."""
    unused: int
    """Things that the request has and the tool has no place for."""
    said: int
    """Choices of the tool that the request names."""


def fit(slots: Sequence[Slot], known: Known) -> Fit:
    """How well they go together; what is found is marked as used."""
    take_pairs(slots, known)
    missing = said = 0
    for slot in sorted(slots, key=lambda slot: (_ORDER.get(slot.want, 1), not slot.required)):
        found = slot.at in known.values or _take(slot, known)
        said += found and slot.want is Want.CHOICE
        if not found and slot.required:
            missing += _PENALTIES.get(slot.want, 1)
    left = len(known.free((*_TELLING, Kind.NUMBER, Kind.TIME)))
    takes_text = any(slot.want in (Want.TEXT, Want.LIST) for slot in slots)
    untold = plainly.colon(known) is not None and not takes_text
    return Fit(missing, left + untold, said)


_ORDER = {Want.CHOICE: 0, Want.TEXT: 2, Want.LIST: 2}
"""Texts take anything, so they come last."""
_PENALTIES = {Want.NUMBER: _NO_NUMBER, Want.OTHER: _NO_WAY}


def _take(slot: Slot, known: Known) -> bool:
    """Use up what the place would be filled with; whether there is something."""
    match slot.want:
        case Want.CHOICE:
            choices = plainly.said_choices(slot, known)
            return bool(choices) and _taken(slot, known, choices[0][1])
        case Want.NUMBER:
            numbers = plainly.said_numbers(slot, known)
            return bool(numbers) and _taken(slot, known, [numbers[0][1]])
        case Want.TRUTH:
            return True
        case Want.TEXT | Want.LIST:
            return _take_command(slot, known) or _take_text(slot, known)
        case Want.OTHER:
            return False
        case _:
            return _take_shape(slot, known)


def _take_command(slot: Slot, known: Known) -> bool:
    said = commands.said_command(known, elsewhere=True) if commands.takes_command(slot) else None
    return said is not None and _taken(slot, known, said.pieces)


def _take_text(slot: Slot, known: Known) -> bool:
    """Something telling, or a word that is more than how the request is put."""
    telling = known.free(_TELLING)
    if telling:
        return _taken(slot, known, telling[:1])
    first = plainly.opening(known)
    return any(
        index > first and not is_common(known.pieces[index]) for index in known.free((Kind.WORD,))
    )


def _take_shape(slot: Slot, known: Known) -> bool:
    if slot.want is Want.PATH and paths.is_other_thing(slot, known):
        return False
    is_path = slot.want is Want.PATH
    indices = paths.shaped_paths(slot, known) if is_path else known.free(plainly.SHAPES[slot.want])
    if slot.want is Want.GLOB and not indices and slot.required:
        indices = known.free((Kind.DOTTED,))
    if is_path and not indices:
        indices = paths.bare_paths(slot, known)
        if not indices:
            return paths.says_here(known) or paths.is_here_by_default(slot)
    return bool(indices) and _taken(slot, known, indices[:1])


def _taken(slot: Slot, known: Known, indices: Sequence[int]) -> bool:
    known.take(slot, None, indices)
    return True
