"""A request, cut into the pieces that arguments can be made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a piece of a request looks like."""

    QUOTED = "quoted"
    URL = "url"
    EMAIL = "email"
    GLOB = "glob"
    PATH = "path"
    DOTTED = "dotted"
    """The name of a file, or a version: `a.b`."""
    HOST = "host"
    NUMBER = "number"
    TIME = "time"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters of a request that belong together."""

    kind: Kind
    text: str
    """Without quotes, and without the signs that end a sentence."""
    start: int
    end: int
    """The place of the text in the request."""
    ends: bool = False
    """Whether a sign follows that ends what was being said."""


_SHAPES = re.compile(
    r"""
      "(?P<double>[^"]+)" | “(?P<curly>[^”]+)” | «(?P<angled>[^»]+)» | `(?P<ticks>[^`]+)`
    | (?<!\w)'(?P<single>[^']*(?:\w'\w[^']*)*)'(?!\w) | (?<!\w)‘(?P<raised>[^’]+)’(?!\w)
    | (?P<url>[a-z][a-z0-9+.-]*://[^\s<>"]+)
    | (?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    | (?P<time>\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m\b)?|(?<![\w.])\d{1,2}\s?[ap]m\b
        |\d{4}-\d{2}-\d{2}(?![\w-]))
    | (?<=\d)[-–](?=\d+\b)
    | (?P<glob>[\w./-]*\*[\w./*-]*)
    | (?P<path>(?:[\w.@+-]*/)+[\w@+-]+\x20[\w@+-]+\.[a-z]\w*(?![\w/])
        |(?:~|\.{1,2})?/[\w./@+-]*|[\w.@+-]+/[\w./@+-]*)
    | (?P<dotted>\.?[\w-]+(?:\.[\w-]+)+|\.\w[\w-]*
        |(?<!\w)(?-i:README|LICEN[CS]E|CHANGELOG|NOTICE|AUTHORS|COPYING|Makefile|Rakefile
        |(?:Docker|Gem|Proc|Jenkins|Vagrant)file)(?![\w-]))
    | (?P<number>(?<![\w.])[-+]?\#?(?:\d{1,3}(?:,\d{3})+|\d+)(?!\w))
    | (?P<word>[^\s"“”«»`]+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_QUOTES = ("double", "curly", "angled", "ticks", "single", "raised")
_ADDRESS = re.compile(
    r"\d{1,3}(?:\.\d{1,3}){3}|[\w.-]+\.(?:local|lan|internal|com|org|net|io|dev|edu|gov)",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"[-+]?\d+(?:\.\d+)?")
_VERSION = re.compile(r"\d+(?:\.\d+){2}")
_ENDINGS = ".,;:!?)…"
_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}


def pieces_of(request: str) -> tuple[Piece, ...]:
    """The pieces, in order."""
    found: list[Piece] = []
    for match in _SHAPES.finditer(request):
        piece = _piece(match)
        if piece is not None:
            found.append(piece)
    return tuple(found)


def _piece(match: re.Match[str]) -> Piece | None:
    group = match.lastgroup
    if group is None:
        return None
    text, (start, end) = match[group], match.span(group)
    if group in _QUOTES:
        return Piece(Kind.QUOTED, text, start, end, ends=True) if text.strip() else None
    kind = Kind(group)
    bare = _without_ending(text)
    if kind is Kind.PATH and text.rstrip(",;:!?)") in (".", "..", "./", "../"):
        bare = text.rstrip(",;:!?)")
    if kind is Kind.WORD:
        bare = bare.lstrip("(")
        start = start + text.index(bare) if bare else start
    if not bare:
        return None
    if kind is Kind.DOTTED:
        kind = _kind_of_dotted(bare)
    follows = match.string[end : end + 1]
    ends = not text.endswith(bare) or follows in tuple(_ENDINGS)
    return Piece(kind, bare, start, start + len(bare), ends)


def _without_ending(text: str) -> str:
    """Without the signs that end a sentence; a bracket that was opened inside is closed there."""
    bare = text.rstrip(_ENDINGS)
    rest = text[len(bare) :]
    closed = len(rest) - len(rest.lstrip(")"))
    opened = max(bare.count("(") - bare.count(")"), 0)
    return text[: len(bare) + min(closed, opened)]


def _kind_of_dotted(text: str) -> Kind:
    if _DECIMAL.fullmatch(text):
        return Kind.NUMBER
    if _VERSION.fullmatch(text):
        return Kind.WORD
    is_host = not text.startswith(".") and _ADDRESS.fullmatch(text)
    return Kind.HOST if is_host else Kind.DOTTED


def number_of(piece: Piece) -> int | float | None:
    """The number that a piece says, in digits or as a small word."""
    if piece.kind is Kind.NUMBER:
        digits = piece.text.replace("#", "").replace(",", "")
        return float(digits) if "." in digits else int(digits)
    if piece.kind is Kind.WORD:
        return _NUMBER_WORDS.get(piece.text.lower())
    return None
