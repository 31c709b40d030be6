"""Words for diagnostics: what was probably meant, and long names made short."""

from __future__ import annotations

from collections.abc import Iterable

from whence.chatmd.grammar import ELEMENTS

_LONGEST = 60


def shown(text: str) -> str:
    """Text for a message: quoted where it is more than a name, and never long."""
    plain = text.replace("-", "").replace("_", "").replace(":", "").isalnum()
    return text if plain and len(text) <= _LONGEST else quoted(text)


def quoted(text: str) -> str:
    """Text in quotes, cut where it is long, and printable everywhere."""
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return '"' + "".join(one if one.isprintable() else _escaped(one) for one in text) + '"'


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like this one, if any does."""
    from difflib import get_close_matches

    meant = name[:_LONGEST].lower()
    matches = get_close_matches(meant, sorted(known), n=3, cutoff=0.6)
    if len(matches) < 2:
        return matches[0] if matches else None
    from collections import Counter

    from rapidfuzz.distance import OSA

    # Swapped letters are one slip, not two, and who types a letter means one: modle and modl are
    # model rather than mode.
    lacks = [Counter(meant) - Counter(match) for match in matches]
    slips = [
        (OSA.distance(meant, one), less.total()) for one, less in zip(matches, lacks, strict=True)
    ]
    return matches[slips.index(min(slips))]


def element_suggestion(name: str) -> str:
    """What to do about an element that does not exist."""
    near = closest(name, ELEMENTS)
    if near:
        return f"Did you mean <{near}>?"
    known = " ".join(tag for tag, rule in ELEMENTS.items() if not rule.home)
    return f"Put it inside a message if it is text; the elements are: {known}."


def attribute_suggestion(tag: str, name: str) -> str:
    """What to do about an attribute that an element does not have."""
    known = ELEMENTS[tag].attributes
    near = closest(name, known)
    if near:
        return f"Did you mean {near}?"
    return f"Remove it; <{tag}> has: {' '.join(sorted(known))}."
