"""What a request says plainly about the arguments of a tool: no network has to be asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from whence.provider.local import verbs
from whence.provider.local.grammar import is_loose, may_begin
from whence.provider.local.pieces import Kind, Piece, number_of, pieces_of
from whence.provider.local.slots import Slot, Want

SHAPES: dict[Want, tuple[Kind, ...]] = {
    Want.URL: (Kind.URL, Kind.HOST),
    Want.EMAIL: (Kind.EMAIL,),
    Want.GLOB: (Kind.GLOB,),
    Want.TIME: (Kind.TIME,),
    Want.PATH: (Kind.PATH, Kind.DOTTED),
}
"""Which pieces fit a place, where the shape tells."""

FOLDER_OR_FILE = frozenset("folder directory dir file".split())
"""What may stand beside a path and say what it is."""

_MANNERS = r"""please|pls|plz|hey|hi|hello|so|ok|now|first|then|just|also
    |can\ you|could\ you|would\ you|will\ you
    |i\ want(?:\ you)?\ to|i(?:'d|\ would)\ like(?:\ you)?\ to|i\ need(?:\ you)?\ to|let's"""
_POLITE = re.compile(rf"(?:(?:{_MANNERS})[\s,]+)+", re.IGNORECASE | re.VERBOSE)
_ASKING = re.compile(
    rf"""(?:(?:{_MANNERS}|how\ (?:do|can)\ (?:you|i|we)|what\ (?:is|are|does|do|were|was)|what'?s
    |who\ is|where\ is)[\s,]+)+""",
    re.IGNORECASE | re.VERBOSE,
)
_MOST_PIECES = 200
"""Beyond this nothing of a request is used: grammars grow with it."""
_ENDING = 3
"""Letters that the form of a word may add."""
_PREPOSITIONS = {
    "from": frozenset("origin source start sender".split()),
    "to": frozenset("destination target recipient receiver".split()),
    "on": frozenset("date day".split()),
    "at": frozenset("time hour".split()),
    "by": frozenset("artist author".split()),
}
"""What stands before a value may tell whose it is."""
_NEGATIVE = re.compile(
    r"\b(?:off|not|no|never|without|disable|disabled|deactivate|false|don't|stop)\b",
    re.IGNORECASE,
)
_POSITIVE = re.compile(r"\b(?:on|yes|true|enable|enabled|activate|every\w*|all)\b", re.IGNORECASE)
_STARTS = frozenset("start offset begin from".split())
_UNDOES = ("un", "dis", "de", "in")
"""`unlock` says no to `locked`."""


@dataclass(slots=True)
class Known:
    """A request, and what of it has been put where."""

    request: str
    pieces: tuple[Piece, ...]
    used: set[int] = field(default_factory=set)
    values: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @classmethod
    def of(cls, request: str) -> Known:
        """A request of which nothing is used yet."""
        return cls(request, pieces_of(request)[:_MOST_PIECES])

    def free(self, kinds: Iterable[Kind]) -> list[int]:
        """Which pieces of these kinds are not used."""
        wanted = frozenset(kinds)
        return [
            index
            for index, piece in enumerate(self.pieces)
            if index not in self.used and piece.kind in wanted
        ]

    def take(self, slot: Slot, value: Any, indices: Iterable[int] = ()) -> None:
        """Put a value in its place; the name of the place beside it belongs to it."""
        taken = set(indices)
        self.values[slot.at] = value
        for index in tuple(taken):
            taken.update(
                near
                for near in (index - 1, index + 1)
                if 0 <= near < len(self.pieces) and belongs(slot, self.pieces[near])
            )
        self.used |= taken


def belongs(slot: Slot, piece: Piece) -> bool:
    """Whether a word beside a value says what the value is."""
    return names(slot, piece) or (slot.want is Want.PATH and piece.text.lower() in FOLDER_OR_FILE)


def names(slot: Slot, piece: Piece) -> bool:
    """Whether a word is the name of the place, in one form or another."""
    word = piece.text.lower()
    if piece.kind is not Kind.WORD:
        return False
    if word in _PREPOSITIONS:
        return word in slot.words or not slot.words.isdisjoint(_PREPOSITIONS[word])
    return any(same_word(word, name) for name in slot.words)


def same_word(one: str, other: str) -> bool:
    """Whether two words share their beginning: `label`, `labels`, `labelled`."""
    short, long = sorted((one, other), key=len)
    stem = short[:-1] if len(short) > 4 else short
    near = len(short) > 3 and len(long) - len(short) <= _ENDING
    return one == other or (near and long.startswith(stem))


def said_choices(slot: Slot, known: Known) -> list[tuple[Any, list[int]]]:
    """The choices that the request names, with the pieces that name them."""
    found = []
    for choice in slot.choices:
        text = str(choice).replace("_", " ")
        match = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", known.request, re.IGNORECASE)
        if match:
            hit = [
                index
                for index, piece in enumerate(known.pieces)
                if piece.start < match.end() and match.start() < piece.end
            ]
            if not known.used.intersection(hit) and _bare(hit, known):
                found.append((choice, hit))
    return found


def _bare(indices: list[int], known: Known) -> bool:
    """Words inside quotes are somebody's text, and choose nothing."""
    return not any(
        known.pieces[index].kind is Kind.QUOTED and " " in known.pieces[index].text
        for index in indices
    )


def said_numbers(slot: Slot, known: Known) -> list[tuple[int | float, int]]:
    """The unused numbers that the place takes, as digits or else as words."""
    found = []
    for kinds in ((Kind.NUMBER,), (Kind.WORD,)):
        for index in known.free(kinds):
            number = number_of(known.pieces[index])
            if number is not None and fits_number(slot, number) and not _counts(slot, index, known):
                found.append((number, index))
        if found:
            break
    return found


def _counts(slot: Slot, index: int, known: Known) -> bool:
    """Whether a number says how many, and the place asks where: `the first 5 lines`."""
    before = known.pieces[index - 1].text.lower() if index else ""
    return before in ("first", "last", "top") and bool(slot.words & _STARTS)


def fits_number(slot: Slot, number: float) -> bool:
    """Whether type and bounds let the number in."""
    low, high = slot.schema.get("minimum"), slot.schema.get("maximum")
    if slot.schema.get("type") == "integer" and not isinstance(number, int):
        return False
    return (low is None or number >= low) and (high is None or number <= high)


def said_truth(slot: Slot, known: Known) -> bool | None:
    """Yes or no, where the place is needed or named; None: nothing is said about it."""
    if any(_undoes(slot, piece) for piece in known.pieces):
        return False
    named = any(names(slot, piece) and not _is_order(slot, piece) for piece in known.pieces)
    if not (slot.required or named):
        return None
    said = named or _POSITIVE.search(known.request) is not None
    return said and _NEGATIVE.search(known.request) is None


def _is_order(slot: Slot, piece: Piece) -> bool:
    """Whether a word only says what to do: `replace` does not mean `replace_all`."""
    return len(slot.words) > 1 and verbs.is_verb(piece.text.lower())


def _undoes(slot: Slot, piece: Piece) -> bool:
    word = piece.text.lower()
    bare = (word.removeprefix(before) for before in _UNDOES if word.startswith(before))
    return any(same_word(rest, name) for rest in bare for name in slot.words)


def text_places(
    slot: Slot, known: Known, later: Sequence[Slot] = ()
) -> tuple[list[int], list[int]]:
    """The pieces that a text may be made of, and those that it may begin with.

    The names of places that are filled later end a text.
    """
    free = [
        index
        for index in known.free(kind for kind in Kind if kind is not Kind.QUOTED)
        if not any(names(other, known.pieces[index]) for other in later)
    ]
    at = colon(known)
    if at is not None:
        # A colon parts who is spoken to from what is said.
        last = not later
        side = [index for index in free if (index > at) is last]
        return (side, side[:1] if last else side) if side else (free, free)
    behind = behind_name(slot, known)
    if behind:
        return free, behind
    free = [index for index in free if not names(slot, known.pieces[index])]
    starts = [index for index in free if index > _verb(known) and may_begin(known.pieces[index])]
    return free, starts or free


def behind_name(slot: Slot, known: Known) -> list[int]:
    """The piece behind the name of the place, where the request says that name in one place."""
    cues = [index for index, piece in enumerate(known.pieces) if index and names(slot, piece)]
    if not cues or cues[-1] - cues[0] > 2 or known.pieces[cues[-1]].ends:
        return []
    after = range(cues[-1] + 1, min(cues[-1] + 3, len(known.pieces)))
    behind = [index for index in after if may_begin(known.pieces[index])][:1]
    return [index for index in behind if index in known.free(Kind)]


def kind_of_thing(value: Sequence[Piece], own: frozenset[str]) -> int:
    """How many words at the head of a value only say what it is: `the feature` in toggle_feature.

    An article alone stays: it may be part of a name.
    """
    lead = 1 if is_loose(value[0]) else 0
    while lead < len(value) - 1 and value[lead].text.lower() in own:
        lead += 1
    if not lead or value[lead - 1].text.lower() not in own:
        return 0
    return next((i for i in range(lead, len(value)) if may_begin(value[i])), lead)


def beside_name(slot: Slot, known: Known, indices: Iterable[int]) -> list[int]:
    """Those of the pieces that have the name of the place beside them: `6 sides`, `width 800`."""
    return [
        index
        for index in indices
        if any(
            0 <= near < len(known.pieces) and names(slot, known.pieces[near])
            for near in (index - 1, index + 1)
        )
    ]


def colon(known: Known) -> int | None:
    """The piece behind which what is said begins, if a colon tells."""
    for index in range(len(known.pieces) - 1):
        if known.request[known.pieces[index].end :].startswith(":"):
            return index
    return None


def opening(known: Known) -> int:
    """Which piece a request really begins with, behind what politeness puts before it."""
    return _behind(_POLITE, known)


def words(known: Known) -> list[str]:
    """The words of a request from its verb on."""
    rest = known.pieces[opening(known) :]
    return [piece.text.lower() for piece in rest if piece.kind is Kind.WORD]


def _verb(known: Known) -> int:
    """Which piece is the verb, or the first one where there is none."""
    return _behind(_ASKING, known)


def _behind(pattern: re.Pattern[str], known: Known) -> int:
    match = pattern.match(known.request)
    end = match.end() if match else 0
    return next((i for i, piece in enumerate(known.pieces) if piece.start >= end), 0)
