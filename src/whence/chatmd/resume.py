"""How a transcript begins and how it ends, without reading what is between."""

from __future__ import annotations

import os
from pathlib import Path

from whence.chatmd.ending import LITTLE, last
from whence.chatmd.grammar import MODEL_SAID
from whence.chatmd.opened import read, reading
from whence.chatmd.parse import parse, structure
from whence.shapes.dataclass import dataclass
from whence.shapes.document import Document

_CUT_OFF = frozenset(
    {"unclosed-element", "unclosed-raw", "unclosed-comment", "unclosed-tag", "unclosed-quote"}
)


@dataclass(frozen=True, slots=True)
class Resumed:
    """A file as far as a run needs it: how it begins and how it ends."""

    head: Document
    """Settings, declarations and what was said before a model first spoke."""
    tail: Document | None
    """The last entries, at least as many as were asked for; None where the head is everything."""
    skipped: int
    """How many bytes between them were not read."""


def resume(path: Path, items: int) -> Resumed:
    """Read the head of a transcript and at least its last `items` entries, not what is between.

    A small file, and one whose end cannot be told from its last bytes, is read as a whole.
    """
    with reading(path) as file:
        size = os.fstat(file).st_size
        found = last(file, size, items, max(LITTLE, items * 1536))
        if found is None:
            return Resumed(parse(read(file, 0, size)), None, 0)
        start, document = found
        head = _first(file, start)
        if head is None:
            return Resumed(parse(read(file, 0, size)), None, 0)
        return Resumed(head, document, start - len(head.source))


def _first(file: int, end: int) -> Document | None:
    """What stands before a model first spoke; None where that is not before `end`."""
    block = LITTLE
    while True:
        begun = read(file, 0, min(block, end))
        document, findings = structure(begun, partial=True)
        spoken = next(document.nodes.where(*MODEL_SAID), None)
        if spoken is not None:
            head = document.nodes[spoken].span.start
            if not any(found.start < head and found.code in _CUT_OFF for found in findings.found):
                return parse(begun[:head], partial=True)
        if block >= end:
            return None
        block *= 2
