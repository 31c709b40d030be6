"""Two values of one kind that a request sets against each other: old and new, from and to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whence.provider.local import plainly
from whence.provider.local.grammar import is_common, is_loose
from whence.provider.local.pieces import Kind
from whence.provider.local.plainly import Known
from whence.provider.local.slots import Slot, Want

_OLD = frozenset("old find search before original".split())
_NEW = frozenset("new replace replacement after".split())
_SOURCE = frozenset("from source".split())
_TARGET = frozenset("to target".split())
_BECOMES = frozenset("to with by into -> => →".split())
_INTO = frozenset("to in into".split())
_AMOUNT = frozenset("many much".split())
_KINDS_OF_TEXT = frozenset(
    "word words text string typo phrase name occurrence occurrences variable function".split()
)
_PATHS = (Kind.PATH, Kind.DOTTED)


def take_pairs(slots: Sequence[Slot], known: Known) -> None:
    """Fill the places that belong together, where the request says which is which."""
    texts = [slot for slot in slots if slot.want is Want.TEXT and slot.required]
    for old, new in _couples(texts, _OLD, _NEW):
        _take_change(old, new, known)
    for source, target in _couples(slots, _SOURCE, _TARGET):
        if source.want is target.want and source.want in (Want.TEXT, Want.CHOICE):
            _take_conversion(source, target, known)


def _couples(
    slots: Sequence[Slot], one: frozenset[str], other: frozenset[str]
) -> Iterator[tuple[Slot, Slot]]:
    first = [slot for slot in slots if slot.words & one]
    second = [slot for slot in slots if slot.words & other]
    if len(first) == len(second) == 1 and first != second:
        yield first[0], second[0]


def _take_change(old: Slot, new: Slot, known: Known) -> None:
    """`change A to B`, `replace A with B`, `A -> B`."""
    for at in range(plainly.opening(known) + 2, len(known.pieces) - 1):
        if known.pieces[at].text.lower() in _BECOMES:
            before, behind = _before(at, known), _behind(at, known)
            if before and behind:
                known.take(old, _text(before, known), before)
                known.take(new, _text(behind, known), behind)
                return


def _before(at: int, known: Known) -> list[int]:
    """What is changed: it may stand before the file that it is in."""
    last = at - 1
    if known.pieces[last].kind in _PATHS and known.pieces[last - 1].text.lower() == "in":
        last -= 2
    first = last
    if known.pieces[last].kind is not Kind.QUOTED:
        while first - 1 > plainly.opening(known) and _goes_on(first - 1, known):
            first -= 1
    return list(range(first, last + 1)) if not is_loose(known.pieces[last]) else []


def _behind(at: int, known: Known) -> list[int]:
    first = last = at + 1
    if known.pieces[first].kind is not Kind.QUOTED:
        while (
            last + 1 < len(known.pieces)
            and not known.pieces[last].ends
            and _goes_on(last + 1, known)
        ):
            last += 1
    return list(range(first, last + 1)) if not is_loose(known.pieces[first]) else []


def _goes_on(index: int, known: Known) -> bool:
    """Whether a piece can be one more word of a text."""
    piece = known.pieces[index]
    word = piece.text.lower()
    if piece.kind is not Kind.WORD or word in _KINDS_OF_TEXT or word.startswith("every"):
        return False
    return not is_common(piece)


def _text(indices: Sequence[int], known: Known) -> str:
    return known.request[known.pieces[indices[0]].start : known.pieces[indices[-1]].end]


def _take_conversion(source: Slot, target: Slot, known: Known) -> None:
    """`5 km in miles`, `how many miles are 5 km`: what stands behind the number is the source."""
    numbers = known.free((Kind.NUMBER,))
    if len(numbers) != 1 or numbers[0] + 1 >= len(known.pieces):
        return
    from_ = numbers[0] + 1
    into = [
        index + 1
        for index, piece in enumerate(known.pieces[:-1])
        if piece.text.lower() in _INTO | _AMOUNT and index + 1 not in (*numbers, from_)
    ]
    found = _value(source, from_, known), _value(target, into[-1], known) if into else None
    if found[0] is not None and found[1] is not None:
        known.take(source, found[0], [from_])
        known.take(target, found[1], [into[-1]])


def _value(slot: Slot, index: int, known: Known) -> object:
    """What a piece says for a place, if it fits there."""
    piece = known.pieces[index]
    if slot.want is Want.CHOICE:
        said = plainly.said_choices(slot, known)
        return next((choice for choice, hit in said if index in hit), None)
    return piece.text if piece.kind is Kind.WORD and not is_common(piece) else None
