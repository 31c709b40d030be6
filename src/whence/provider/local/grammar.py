"""Grammars that let a model say nothing but what is already there (GBNF)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from whence.provider.local.pieces import Piece

_LOOSE = frozenset(
    """to of in on at for with from by as and or that then is are was were be a an the my your our
    me this into about please called named""".split()
)
"""No value ends with one of these, and few begin with one."""
_PRONOUNS = frozenset("it them that those these".split())
_OPENERS = frozenset("a an the my your our this".split())
_ASKING = frozenset(
    """what which who where when why how does do did you can could would there here it all any
    some""".split()
)
_COMMON = _ASKING | frozenset(
    """say says tell show print read open list file files folder directory contents content inside
    line lines look give written text document""".split()
)
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def one_of(values: Iterable[str], end: str) -> str:
    """Exactly one of these, and then the end."""
    listed = " | ".join(_literal(value) for value in values)
    return f"root ::= ({listed}) {_literal(end)}"


def spans(
    request: str, pieces: Sequence[Piece], allowed: Collection[int], starts: Collection[int]
) -> str | None:
    """Neighbouring pieces of the request, as they are written there, and a closing quote.

    None: there is no span that could be a value.
    """
    rules: list[str] = []
    possible: set[int] = set()
    for index in sorted(allowed, reverse=True):
        rule = _rule(request, pieces, index, possible)
        if rule is not None:
            rules.append(rule)
            possible.add(index)
    begins = sorted(possible.intersection(starts))
    if not begins:
        return None
    first = " | ".join(f"w{index}" for index in begins)
    end = '"'
    return "\n".join([f"root ::= ({first}) {_literal(end)}", *rules])


def _rule(request: str, pieces: Sequence[Piece], index: int, possible: set[int]) -> str | None:
    """What may follow a piece: the next one, the end, or either."""
    word = _literal(pieces[index].text)
    may_end = pieces[index].text.lower() not in _LOOSE
    if index + 1 not in possible:
        return f"w{index} ::= {word}" if may_end else None
    between = request[pieces[index].end : pieces[index + 1].start]
    rest = f"({_literal(between)} w{index + 1}){'?' if may_end else ''}"
    return f"w{index} ::= {word} {rest}"


def may_begin(piece: Piece) -> bool:
    """Whether a value may begin with this piece."""
    word = piece.text.lower()
    return word not in _LOOSE or word in _OPENERS


def is_loose(piece: Piece) -> bool:
    """Whether a piece only joins others."""
    return piece.text.lower() in _LOOSE


def is_vague(piece: Piece) -> bool:
    """Whether a piece alone tells nothing: it joins others, or stands for something said before."""
    return is_loose(piece) or piece.text.lower() in _PRONOUNS


def is_telling(word: str) -> bool:
    """Whether a word tells one thing from another: it neither joins nor asks."""
    return len(word) > 1 and word not in _LOOSE | _ASKING


def is_common(piece: Piece) -> bool:
    """Whether a word belongs to how things are asked rather than to what is asked."""
    return is_loose(piece) or piece.text.lower() in _COMMON


def _literal(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
