"""Merging two versions of a conversation, element by element.

Two branches that both went on talking are no conflict: what one said stands before what the other
said. Changes to different elements are taken from both sides. Only an element that both sides
changed in different ways needs a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from whence.chatmd.grammar import TRANSCRIPT
from whence.chatmd.parse import parse
from whence.shapes.dataclass import dataclass
from whence.shapes.document import Element, item_of


@dataclass(frozen=True, slots=True)
class Merged:
    """The result, and how often a person must decide."""

    source: bytes
    conflicts: int


@dataclass(frozen=True, slots=True)
class _Block:
    """One top-level element with the white space behind it."""

    text: bytes
    said: bool
    """Whether it is part of the conversation."""


def merge(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """Three versions in, one out; conflicts are marked as git marks them."""
    versions = [_blocks(source) for source in (base, ours, theirs)]
    typing = any(ends for _, ends in versions)
    out: list[bytes] = []
    conflicts = 0
    for old, mine, other in _regions(*(blocks for blocks, _ in versions)):
        settled = _settled(old, mine, other)
        if settled is None:
            conflicts += 1
            settled = _marked(mine, other)
        out.extend(settled)
    text = b"".join(block if block.endswith(b"\n") else block + b"\n" for block in out)
    return Merged(text + (b"\n<user>\n\n</user>\n" if typing else b""), conflicts)


def _blocks(source: bytes) -> tuple[list[_Block], bool]:
    """The elements, without the empty message where a person types next; whether it was there."""
    document = parse(source)
    nodes = list(document.nodes)
    last = item_of(nodes[-1]) if nodes and isinstance(nodes[-1], Element) else None
    typing = (
        last is not None and getattr(last, "role", "") == "user" and getattr(last, "blank", False)
    )
    starts = [0, *(node.span.start for node in nodes[1:]), len(source)]
    kept = nodes[:-1] if typing else nodes
    blocks = [
        _Block(
            source[starts[at] : starts[at + 1]],
            isinstance(node, Element) and node.tag in TRANSCRIPT,
        )
        for at, node in enumerate(kept)
    ]
    return blocks, typing


def _regions(
    base: Sequence[_Block], ours: Sequence[_Block], theirs: Sequence[_Block]
) -> Iterator[tuple[Sequence[_Block], Sequence[_Block], Sequence[_Block]]]:
    """Stretches that all three share, and between them stretches that somebody changed."""
    mine, other = _matches(base, ours), _matches(base, theirs)
    at_base = at_ours = at_theirs = 0
    for index in sorted(mine.keys() & other.keys()):
        if mine[index] < at_ours or other[index] < at_theirs:
            continue
        yield base[at_base:index], ours[at_ours : mine[index]], theirs[at_theirs : other[index]]
        shared = base[index : index + 1]
        yield shared, shared, shared
        at_base, at_ours, at_theirs = index + 1, mine[index] + 1, other[index] + 1
    yield base[at_base:], ours[at_ours:], theirs[at_theirs:]


def _matches(base: Sequence[_Block], version: Sequence[_Block]) -> dict[int, int]:
    """Which element of the version each element of the base became, where it stayed the same."""
    one = [block.text.strip() for block in base]
    two = [block.text.strip() for block in version]
    found = SequenceMatcher(None, one, two, autojunk=False).get_matching_blocks()
    return {match.a + n: match.b + n for match in found for n in range(match.size)}


def _settled(
    old: Sequence[_Block], mine: Sequence[_Block], other: Sequence[_Block]
) -> list[bytes] | None:
    was, ours, theirs = ([block.text for block in side] for side in (old, mine, other))
    stripped = [[text.strip() for text in side] for side in (was, ours, theirs)]
    if stripped[1] == stripped[2] or stripped[2] == stripped[0]:
        return ours
    if stripped[1] == stripped[0]:
        return theirs
    if not old and all(block.said for block in (*mine, *other)):
        return [text if text.endswith(b"\n") else text + b"\n" for text in ours] + theirs
    if len(old) == len(mine) == len(other) > 1:
        return _one_by_one(old, mine, other)
    return None


def _one_by_one(
    old: Sequence[_Block], mine: Sequence[_Block], other: Sequence[_Block]
) -> list[bytes] | None:
    """Neighbours that were changed, each on one side only."""
    settled: list[bytes] = []
    for three in zip(old, mine, other, strict=True):
        one = _settled(*((block,) for block in three))
        if one is None:
            return None
        settled.extend(one)
    return settled


def _marked(mine: Sequence[_Block], other: Sequence[_Block]) -> list[bytes]:
    ours = [block.text.rstrip() + b"\n" for block in mine]
    theirs = [block.text.rstrip() + b"\n" for block in other]
    return [b"<<<<<<< ours\n", *ours, b"=======\n", *theirs, b">>>>>>> theirs\n"]
