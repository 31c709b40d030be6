"""The end of a transcript, told from its last bytes: where an element begins, what is torn off.

Payloads that hold a RAW marker never stand in a transcript, so that the markers alone tell whether
an offset is inside a block, without reading what comes before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whence.chatmd.grammar import MODEL_SAID, TRANSCRIPT
from whence.chatmd.parse import structure
from whence.chatmd.problems import Finding, Findings
from whence.chatmd.scan import RAW_CLOSE, RAW_OPEN, raw_opener
from whence.shapes.document import Document, Element, Node, Stray

_NAMES = "|".join(sorted(TRANSCRIPT, key=len, reverse=True)).encode()
_CLOSED = re.compile(rb"</(?:%s)\s*+>\s*+(?=<)" % _NAMES)
_TRIES = 16
_BROKEN = frozenset({"text-outside", "unknown-element", "stray-closing-tag", "misplaced-element"})
# What a writer puts behind an opening tag, or as much of it as was written.
_WRITTEN = re.compile(
    rb"\s*+(?:\Z|RAW\||RAW\Z|RA\Z|R\Z|<(?:doc|img) src=\"\./\.chatmd/|<[a-z]{0,3}(?: [^<>]*+)?\Z)"
)
_PART_OF_TAG = re.compile(rb"<([a-z_]*+)\Z")


def tail(data: bytes, items: int) -> tuple[int, Document] | None:
    """At least so many entries of a file from its last bytes, and where in these they begin.

    Returns None where the bytes do not tell, or are too few.
    """
    for at in dict.fromkeys((_about(data, items + 1), 0)):
        for start in _starts(data, at):
            document, findings = structure(data[start:], partial=True)
            if not any(found.code in _BROKEN for found in findings.found):
                if sum(1 for _ in document.nodes.where(*TRANSCRIPT)) >= items:
                    return start, document
                break
    return None


def _about(data: bytes, items: int) -> int:
    """Where the last entries begin, if each of them is closed on a line of its own."""
    before, *last = data.rsplit(b"\n</", items)
    return len(before) if len(last) == items else 0


def _starts(data: bytes, at: int) -> Iterator[int]:
    """Offsets behind an element, the first ones from an offset on."""
    for _ in range(_TRIES):
        found = _CLOSED.search(data, at)
        if found is None:
            return
        at = found.end()
        if not _inside_raw(data, at):
            yield at
        elif (at := data.find(RAW_CLOSE, at)) < 0:
            return


def _inside_raw(data: bytes, at: int) -> bool:
    """Whether an offset may be inside a RAW block, by the markers around it."""
    before_open, before_close = data.rfind(RAW_OPEN, 0, at), data.rfind(RAW_CLOSE, 0, at)
    if before_open >= 0 or before_close >= 0:
        return before_open > before_close
    opener, close = raw_opener(data, at, len(data)), data.find(RAW_CLOSE, at)
    return opener < 0 or 0 <= close < opener + 4


def torn_at(source: bytes) -> int | None:
    """Where the part begins that a broken write left at the end of a file; None: all is whole.

    The source begins with an element. One that a person has not finished is not torn: it shows in
    the diagnostics.
    """
    whole = source.rstrip(b"\0")
    document, findings = structure(whole, partial=True)
    starts = [node.span.start for node in _torn(document, findings)]
    return min(starts, default=len(whole) if len(whole) < len(source) else None)


def _torn(document: Document, findings: Findings) -> Iterator[Node]:
    last = document.nodes[-1] if document.nodes else None
    if isinstance(last, Stray) and _part_of_tag(last, document.source):
        yield last
    problems = [one for one in findings.found if one.code in ("unclosed-element", "unclosed-raw")]
    for node in document.nodes if problems else ():
        at_end = node.span.end == len(document.source)
        for found in problems:
            inside = node.span.start <= found.start < node.span.end
            if inside and (at_end or found.code == "unclosed-raw"):
                yield from _written(node, found, document.source)


def _part_of_tag(node: Node, source: bytes) -> bool:
    found = _PART_OF_TAG.match(source, node.span.start)
    return found is not None and any(tag.startswith(found[1].decode()) for tag in TRANSCRIPT)


def _written(node: Node, found: Finding, source: bytes) -> Iterator[Node]:
    """The node, if a run was writing it: a block right behind a tag, or what only runs write."""
    if not isinstance(node, Element) or node.tag not in TRANSCRIPT:
        return
    if found.code == "unclosed-raw":
        written = source[node.span.start : found.start].rstrip().endswith((b">", RAW_CLOSE))
    else:
        body = node.span.end if node.body is None else node.body.start
        written = node.tag in MODEL_SAID or _WRITTEN.match(source, body) is not None
    if written:
        yield node
