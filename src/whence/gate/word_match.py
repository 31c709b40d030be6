"""Do the words of a command fit the words of a rule? Word by word, never by the text as a whole.

In a rule `*` is one word, and at the end any further words; `**` is any words; inside a word a star
stays between slashes and two stars do not. A permission's stars leave out words that begin with a
dash, for those are options; a final `-*` takes those, too. A restriction holds where it might fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from posixpath import basename

from whence.shapes.command import Known, Word

REINTERPRETS = frozenset(
    ". alias builtin command enable eval exec fc hash source trap unalias".split()
)
"""Builtins that change what other words mean: a permission must name them."""
_STARS = ("*", "**")
_ANYTHING = "-*"


def words_fit(
    rule: Sequence[Word], words: Sequence[Word], *, loose: bool, program: bool = True
) -> bool:
    """Whether the words fit.

    Args:
        rule: the words of a rule.
        words: those of a command.
        loose: whether it is enough that they might, as for restrictions.
        program: whether the first word is a program's name.
    """
    many = [_is_many(rule, at) for at in range(len(rule))]
    places = _skipping(many, {0})
    for index, word in enumerate(words):
        if not places:
            return False
        if loose and word.known is not Known.EXACT:
            places = set(range(min(places), len(rule) + 1))
            continue
        named = program and index == 0
        places = _skipping(
            many,
            {
                at if many[at] else at + 1
                for at in places
                if at < len(rule) and _takes(rule, at, word, loose=loose, named=named)
            },
        )
    return len(rule) in places


def is_wide(rule: Sequence[Word]) -> bool:
    """Whether the rule has stars that stand for whole words."""
    return any(word.known is Known.PATTERN and word.source in (*_STARS, _ANYTHING) for word in rule)


def _is_many(rule: Sequence[Word], at: int) -> bool:
    word = rule[at]
    if word.known is not Known.PATTERN:
        return False
    last = at == len(rule) - 1
    return word.source == "**" or (last and word.source in ("*", _ANYTHING))


def _skipping(many: Sequence[bool], places: set[int]) -> set[int]:
    """The places, and those behind words that may stand for nothing."""
    found = set(places)
    for place in places:
        at = place
        while at < len(many) and many[at]:
            at += 1
            found.add(at)
    return found


def _takes(rule: Sequence[Word], at: int, word: Word, *, loose: bool, named: bool) -> bool:
    wanted = rule[at]
    if loose:
        return _might_take(wanted, word.text) or (
            named and _might_take(wanted, basename(word.text))
        )
    if named and (word.known is not Known.EXACT or word.text in REINTERPRETS):
        return wanted.known is word.known is Known.EXACT and wanted.text == word.text
    if wanted.known is Known.EXACT:
        return word.known is Known.EXACT and wanted.text == word.text
    if wanted.known is Known.OPEN:
        return word.known is Known.OPEN and wanted.source == word.source
    if wanted.source == _ANYTHING and at == len(rule) - 1:
        return True
    return _star_takes(wanted, word)


def _might_take(wanted: Word, text: str) -> bool:
    if wanted.known is Known.EXACT:
        return wanted.text == text
    return wanted.source in _STARS or wanted.known is Known.OPEN or _shape(wanted.text)(text)


def _star_takes(wanted: Word, word: Word) -> bool:
    """A pattern of a permission: it must not become an option, nor lead out of a directory."""
    if word.known is Known.OPEN:
        return False
    if word.text.startswith("-") and not wanted.text.startswith("-"):
        return False
    if word.known is Known.PATTERN:
        same = wanted.source in _STARS or wanted.source == word.source
        return same and word.text[0] not in "*?[-"
    if wanted.source in _STARS:
        return True
    return ".." not in word.text.split("/") and _shape(wanted.text)(word.text)


@lru_cache(maxsize=4096)
def _shape(text: str) -> Callable[[str], bool]:
    """A function that says whether a word has the shape of a pattern."""
    import re2

    out, at = [], 0
    while at < len(text):
        if text.startswith("**", at):
            piece, taken = ".*", 2
        elif text[at] == "*":
            piece, taken = "[^/]*", 1
        elif text[at] == "\\" and at + 1 < len(text):
            piece, taken = re2.escape(text[at + 1]), 2
        else:
            piece, taken = re2.escape(text[at]), 1
        out.append(piece)
        at += taken
    compiled = re2.compile(f"(?s)^(?:{''.join(out)})$")
    return lambda word: compiled.fullmatch(word) is not None
