"""Several values for one place: the words of a command, or things that are counted up."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from whence.provider.local import plainly
from whence.provider.local.grammar import is_loose, is_vague
from whence.provider.local.pieces import Kind
from whence.provider.local.plainly import Known
from whence.provider.local.slots import Slot

_ARGUMENTS = frozenset("arguments args argv cmd command parameters options flags".split())
_ENDS = frozenset("to on onto in into for with at from".split())


def take_list(slot: Slot, known: Known, own: Collection[str]) -> None:
    """Fill a place for a list; the words of the tool's own name are none of its values."""
    cues = [index for index, piece in enumerate(known.pieces) if plainly.names(slot, piece)]
    if not cues and not slot.required:
        return
    if slot.words & _ARGUMENTS:
        start = cues[0] + 1 if cues else _behind_tool(known, own)
        usable = [index for index in _usable(known) if index >= start]
        indices = [index for index in usable if not _is_kind(index, usable, known)]
        values = [known.pieces[index].text for index in indices]
    else:
        indices = _things(known, cues, own)
        values = _joined(indices, known)
    if indices:
        known.take(slot, values, [*cues, *indices])


def _usable(known: Known) -> list[int]:
    return [index for index in known.free(Kind) if not is_loose(known.pieces[index])]


def _is_kind(index: int, usable: Collection[int], known: Known) -> bool:
    """Whether a word only says what follows: `the target release`."""
    return index > 0 and known.pieces[index - 1].text.lower() == "the" and index + 1 in usable


def _behind_tool(known: Known, own: Collection[str]) -> int:
    """Where the words behind the tool's own name begin, as in `run git log`."""
    said = [index for index, piece in enumerate(known.pieces) if piece.text.lower() in own]
    return said[-1] + 1 if said else 1


def _things(known: Known, cues: Sequence[int], own: Collection[str]) -> list[int]:
    """What is counted up behind the name of the place, or else behind the verb."""
    named = cues[0] if cues and cues[0] + 1 < len(known.pieces) else None
    start = plainly.opening(known) if named is None else named
    found: list[int] = []
    for index in range(start + 1, len(known.pieces)):
        piece = known.pieces[index]
        word = piece.text.lower()
        if found and word in _ENDS:
            break
        if index not in known.used and not is_vague(piece) and word not in own:
            found.append(index)
    return found


def _joined(indices: Sequence[int], known: Known) -> list[str]:
    """Neighbours are one thing, as in `red wine`; a comma or an "and" parts two."""
    spans: list[tuple[int, int]] = []
    for index in indices:
        piece = known.pieces[index]
        between = known.request[spans[-1][1] : piece.start] if spans else ","
        if between in (" ", " of ") and piece.kind is not Kind.QUOTED:
            spans[-1] = spans[-1][0], piece.end
        else:
            spans.append((piece.start, piece.end))
    return [known.request[start:end] for start, end in spans]
