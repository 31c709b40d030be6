"""The extents that a pass found, and the nodes that are made from them."""

from __future__ import annotations

import re
from array import array

from whence.chatmd.grammar import ELEMENTS
from whence.chatmd.problems import Findings
from whence.chatmd.scan import MARK, RAW_CLOSE, RAW_OPEN, TAG_REST, bad_tag, to_text
from whence.chatmd.walk import Opened, Walker, make
from whence.shapes.document import COMMENT, STRAY, Comment, Element, Node, Part, Span, Stray, Text

NAMES = (*ELEMENTS, COMMENT, STRAY)
"""What the kinds of a table mean."""

_TAG_END = ord(">")
_RAW_START = re.compile(rb"\s*+RAW\|")


def opened_at(source: bytes, name: str, start: int, body: int, *, alone: bool) -> Opened:
    """The opening tag of an element whose extent is known."""
    name_end = start + 1 + len(name)
    if source[name_end] == _TAG_END:
        return Opened(name, start, name_end, name_end + 1, body, alone)
    found = TAG_REST.match(source, name_end, body)
    tag_end = found.end() if found else bad_tag(source, start, name_end, body).tag_end
    return Opened(name, start, name_end, tag_end, body, alone)


class Table:
    """Makes the nodes of a document when they are looked at."""

    __slots__ = ("kinds", "source", "spans")

    def __init__(self, source: bytes, kinds: bytearray, spans: array[int]) -> None:
        self.source = source
        self.kinds = kinds
        self.spans = spans
        """Four numbers for each node: where it, its body, the end of its body and its end are."""

    def __len__(self) -> int:
        return len(self.kinds)

    def tag(self, index: int) -> str:
        """The tag of one node."""
        return NAMES[self.kinds[index]]

    def opened(self, index: int) -> Opened:
        """The opening tag of an element."""
        start, body, _, end = self.spans[4 * index : 4 * index + 4]
        return opened_at(self.source, NAMES[self.kinds[index]], start, body, alone=body == end)

    def node(self, index: int) -> Node:
        """One node, with everything that is inside it."""
        start, body, inner, end = self.spans[4 * index : 4 * index + 4]
        name = NAMES[self.kinds[index]]
        if name == COMMENT:
            return Comment(to_text(self.source[body:inner]), Span(start, end))
        if name == STRAY:
            return Stray(to_text(self.source[start:end]), Span(start, end))
        opened = opened_at(self.source, name, start, body, alone=body == end)
        text = Span(body, body) if opened.alone else self._plain(body, inner)
        if text is None:
            return self._mixed(opened, end)
        return make(self.source, opened, self._text(text, Span(body, inner)), inner, end)

    def may_hold_elements(self, index: int) -> bool:
        """Whether there is anything inside a node that could begin an element."""
        return self.source.find(b"<", self.spans[4 * index + 1], self.spans[4 * index + 2]) >= 0

    def plain(self, index: int) -> Span | None:
        """Where the text of an element is, if there is nothing else in it."""
        return self._plain(self.spans[4 * index + 1], self.spans[4 * index + 2])

    def _plain(self, body: int, inner: int) -> Span | None:
        find = self.source.find
        if find(b"<", body, inner) < 0 and find(b"|", body, inner) < 0:
            return Span(body, inner)
        if raw := _RAW_START.match(self.source, body, inner):
            close = find(RAW_CLOSE, raw.end(), inner)
            layout = close >= 0 and not self.source[close + 4 : inner].strip()
            return Span(raw.end(), close) if layout else None
        mark = find(b"<", body, inner)
        if mark >= 0 and MARK.search(self.source, mark, inner):
            return None
        return None if find(RAW_OPEN, body, inner) >= 0 else Span(body, inner)

    def _text(self, span: Span, body: Span) -> tuple[Part, ...]:
        text = self.source[span.start : span.end]
        return (Text(to_text(text), body),) if text else ()

    def _mixed(self, opened: Opened, end: int) -> Element:
        walker = Walker(self.source, end, Findings(), build=True)
        walker.body(opened)
        return walker.element()
