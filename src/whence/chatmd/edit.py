"""Changes to a document, each of which touches only its own span."""

from __future__ import annotations

from collections.abc import Iterable

from whence.chatmd.grammar import ELEMENTS
from whence.chatmd.parse import parse
from whence.chatmd.render import escape, render_element
from whence.chatmd.scan import SPACE, attributes, to_bytes
from whence.chatmd.suggest import attribute_suggestion, shown
from whence.chatmd.table import opened_at
from whence.errors import Conflict, InvalidArgs
from whence.shapes.dataclass import dataclass
from whence.shapes.document import Document, Element, Span


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes that take the place of a span."""

    span: Span
    data: bytes


def apply(document: Document, edits: Iterable[Edit]) -> Document:
    """The document after all edits; every byte outside their spans stays as it is.

    Raises:
        Conflict: Two edits touch the same bytes.
    """
    source, at, pieces = document.source, 0, list[bytes]()
    for edit in sorted(edits, key=lambda edit: edit.span):
        start, end = edit.span
        if start < at or end < start or end > len(source):
            raise Conflict(
                f"The edit of bytes {start} to {end} overlaps another one or the file's end.",
                "Make one edit of both, or parse again between them.",
            )
        pieces += (source[at:start], edit.data)
        at = end
    return parse(b"".join((*pieces, source[at:])))


def set_attribute(document: Document, element: Element, name: str, value: str | None) -> Edit:
    """Give an attribute a value, or make it a name alone; added at the end where it is absent."""
    if name not in ELEMENTS[element.tag].attributes:
        raise InvalidArgs(
            f"<{element.tag}> has no attribute {shown(name)}.",
            attribute_suggestion(element.tag, name),
        )
    written = to_bytes(name if value is None else f'{name}="{escape(value)}"')
    last = element.span.start + 1 + len(element.tag)
    found = None
    for one in attributes(document.source, last, _tag_end(document, element)):
        last = one.end
        found = one if one.name == name else found
    if found:
        return Edit(Span(found.start, found.end), written)
    return Edit(Span(last, last), b" " + written)


def remove_attribute(document: Document, element: Element, name: str) -> Edit:
    """Take an attribute away, with the white space before it."""
    at = element.span.start + 1 + len(element.tag)
    for one in attributes(document.source, at, _tag_end(document, element)):
        if one.name == name:
            return Edit(Span(at, one.end), b"")
        at = one.end
    raise InvalidArgs(
        f"<{element.tag}> has no attribute {shown(name)} to remove.",
        f"It has: {' '.join(element.attributes) or 'none'}.",
    )


def replace(element: Element, other: Element) -> Edit:
    """Put one element in the place of another."""
    return Edit(element.span, to_bytes(render_element(other)))


def remove(document: Document, element: Element) -> Edit:
    """Take an element away, with the rest of its line where nothing else is on it."""
    start, end = element.span
    if start == 0 or document.source[start - 1 : start] == b"\n":
        space = SPACE.match(document.source, end)
        newline = document.source.find(b"\n", end, space.end() if space else end)
        end = newline + 1 if newline >= 0 else end
    return Edit(Span(start, end), b"")


def _tag_end(document: Document, element: Element) -> int:
    body = element.span.end if element.body is None else element.body.start
    alone = element.body is None
    return opened_at(document.source, element.tag, element.span.start, body, alone=alone).tag_end
