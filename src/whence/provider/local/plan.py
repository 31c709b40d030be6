"""A request as the steps that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from whence.declare.toolbox import Mounted
from whence.provider.local.pieces import Kind, pieces_of
from whence.provider.local.reason import is_question
from whence.provider.local.slots import name_words

_BREAK = re.compile(
    r"""(?:[,;.]|(?<!\s))\s+(?:and\s+)?(?:then|after\s+that|afterwards|finally)[,:]?\s+
    |;\s+ | (?<=[.!?])\s+(?=[A-Z]) | \n+""",
    re.IGNORECASE | re.VERBOSE,
)
_JOINT = re.compile(r"(?:,\s*and|(?<!\s)\s+and|,|&)\s+", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:^|(?<!\s)\s+)\d{1,2}[.)]\s+(?=[^\W\d])")
_LEAD = re.compile(
    r"(?:(?:(?:and|then|first(?!\s+\d)|next|finally|after that|please)\b[,:]?|[-*•])\s+)+",
    re.IGNORECASE,
)
_DOCUMENT = 400
"""A text with more characters than this is a document, if there is another that could be asking."""
_VERBS = frozenset(
    """add append ask calculate change check close commit compute convert copy count create delete
    define display download execute fetch find get give grep list look make move open ping play
    print put read remove rename replace reply resize roll run save say schedule search send set
    show start stop switch tell text translate turn update write""".split()
)


def parted(texts: Sequence[str]) -> tuple[str, str]:
    """What a message asks, and the documents that it brings along.

    Of a message with one long text, a short paragraph at its end or its beginning is the request.
    """
    short = [text.strip() for text in texts if len(text) <= _DOCUMENT]
    if any(short):
        return " ".join(short).strip(), "\n".join(text for text in texts if len(text) > _DOCUMENT)
    whole = "\n\n".join(texts).strip()
    first, _, behind = whole.partition("\n\n")
    before, _, last = whole.rpartition("\n\n")
    if before and len(last) <= _DOCUMENT and is_question(last):
        return last, before
    return (first, behind) if behind and len(first) <= _DOCUMENT else (whole, "")


def steps_of(request: str, tools: Iterable[Mounted]) -> list[str]:
    """The parts of a request that each ask for something, in order."""
    verbs = _VERBS.union(*(name_words(mounted.name.rpartition(".")[2])[:1] for mounted in tools))
    items = _cut(request, _NUMBERED) if _NUMBERED.match(request) else [request]
    wholes = (whole for item in items for whole in _cut(item, _BREAK))
    parts = [part for whole in wholes for part in _at_joints(whole, verbs)]
    steps = [_without_lead(part.strip()).strip(" ,;") for part in parts]
    return [step for step in steps if step] or [request.strip()]


def _without_lead(text: str) -> str:
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead else text


def _at_joints(text: str, verbs: frozenset[str]) -> Iterator[str]:
    """Cut at an "and" or a comma only where a verb follows that asks for something."""
    held = ""
    joint = ""
    for part, after in _cut_with_joints(text):
        if held and _first_word(part) in verbs:
            yield held
            held = part
        else:
            held = held + joint + part
        joint = after
    if held.strip():
        yield held


def _first_word(part: str) -> str:
    return next(iter(_without_lead(part).lower().split()), "").strip(",.:")


def _cut(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [part for part, _ in _cut_at(text, pattern)]


def _cut_with_joints(text: str) -> list[tuple[str, str]]:
    return _cut_at(text, _JOINT)


def _cut_at(text: str, pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """The parts and what stood behind each; what is quoted is never cut."""
    quoted = [(p.start - 1, p.end + 1) for p in pieces_of(text) if p.kind is Kind.QUOTED]
    parts: list[tuple[str, str]] = []
    at = 0
    for match in pattern.finditer(text):
        if not any(start < match.end() and match.start() < end - 1 for start, end in quoted):
            parts.append((text[at : match.start()], match[0]))
            at = match.end()
    return [*parts, (text[at:], "")]
