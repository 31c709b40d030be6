"""Through the body of one element: where it ends, and, when asked, what is in it.

The same steps serve both, so that what a file contains cannot depend on when it is asked.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from whence.chatmd.grammar import DECLARATIONS, DEEPEST, ELEMENTS, TRANSCRIPT, UNCLOSED_IS_FINE
from whence.chatmd.problems import Findings
from whence.chatmd.scan import (
    MARK,
    RAW_CLOSE,
    SPACE,
    TAG_END,
    TAG_REST,
    BadTag,
    at_line_start,
    bad_tag,
    raw_opener,
    to_text,
    values,
)
from whence.shapes.document import Element, Part, Span, Text

_STRUCTURE = TRANSCRIPT | DECLARATIONS
_NEVER = 1 << 62


class Opened(NamedTuple):
    """An opening tag."""

    tag: str
    start: int
    name_end: int
    tag_end: int
    """Up to here there are attributes."""
    end: int
    """Where the body begins, or, without one, where the element ends."""
    alone: bool
    """There is no body."""


class Frame:
    """An element that is open, and what was found in it so far."""

    __slots__ = ("opened", "parts", "pieces", "raw_end", "since", "text_start")

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.parts: list[Part] = []
        self.pieces: list[bytes] = []
        self.since = self.text_start = opened.end
        self.raw_end = -1

    def take(self, source: bytes, end: int) -> None:
        """Text up to here."""
        if self.since < end:
            self.pieces.append(source[self.since : end])

    def take_raw(self, source: bytes, opener: int, close: int) -> None:
        """A RAW block; white space alone before it is layout."""
        if source[self.since : opener].strip():
            self.take(source, opener)
        self.pieces.append(source[opener + 4 : close])
        self.since = self.raw_end = close + 4

    def take_child(self, source: bytes, child: Element) -> None:
        """An element, after the text before it."""
        self.take(source, child.span.start)
        self._flush(child.span.start)
        self.parts.append(child)
        self.since = self.text_start = child.span.end

    def finish(self, source: bytes, end: int) -> tuple[Part, ...]:
        """Everything inside; white space alone behind a RAW block is layout."""
        if self.since != self.raw_end or source[self.since : end].strip():
            self.take(source, end)
        self._flush(end)
        return tuple(self.parts)

    def _flush(self, end: int) -> None:
        text = b"".join(self.pieces)
        if text:
            self.parts.append(Text(to_text(text), Span(self.text_start, end)))
        self.pieces.clear()


def make(source: bytes, opened: Opened, parts: tuple[Part, ...], inner: int, end: int) -> Element:
    """The element between an opening tag and `end`; its body ends at `inner`."""
    given = dict(values(source, opened.name_end, opened.tag_end))
    body = None if opened.alone else Span(opened.end, inner)
    return Element(opened.tag, given, parts, Span(opened.start, end), body)


class Walker:
    """One way through a source. Nothing in it is searched twice, however broken the source is."""

    def __init__(
        self, source: bytes, limit: int, findings: Findings, *, build: bool = False
    ) -> None:
        self.source = source
        self.limit = limit
        self.findings = findings
        self._build = build
        self._next: re.Match[bytes] | None = None
        self._no_mark = self.no_raw_close = self._no_comment_close = _NEVER
        self._patience = limit
        self._inner = self._text_end = -1
        self._nested: re.Match[bytes] | None = None
        self._root: Element | None = None

    def mark(self, at: int) -> re.Match[bytes] | None:
        """The first tag or comment at or after an offset."""
        found = self._next
        if found is not None and found.start() >= at:
            return found
        if at >= self._no_mark:
            return None
        start = self.source.find(b"<", at, self.limit)
        found = MARK.match(self.source, start, self.limit) if start >= 0 else None
        if found is None and start >= 0:
            found = MARK.search(self.source, start + 1, self.limit)
        if found is None:
            self._no_mark = at
        self._next = found
        return found

    def comment_end(self, mark: re.Match[bytes]) -> int:
        """Behind the comment that opens here; -1, with a finding, where it never ends."""
        start, at = mark.span()
        end = -1 if at >= self._no_comment_close else self.source.find(b"-->", at, self.limit)
        if end >= 0:
            return end + 3
        self._no_comment_close = min(at, self._no_comment_close)
        self.findings.add("unclosed-comment", start, at)
        return -1

    def raw_end(self, opener: int) -> int:
        """Where the RAW block that opens here is closed; -1, with a finding, where it never is."""
        at = opener + 4
        close = -1 if at >= self.no_raw_close else self.source.find(RAW_CLOSE, at, self.limit)
        if close < 0:
            self.no_raw_close = min(at, self.no_raw_close)
            self.findings.add("unclosed-raw", opener, at)
        return close

    def open(self, mark: re.Match[bytes]) -> Opened:
        """The opening tag of a mark; where it is broken, as much of it as can be saved."""
        return self._whole(mark) or self._saved(mark, self._bad(mark))

    def open_inside(self, mark: re.Match[bytes]) -> Opened | None:
        """The opening tag of a mark inside an element; None where it is text after all."""
        if opened := self._whole(mark):
            return opened
        bad = self._bad(mark)
        if bad.code == "malformed-tag":
            return self._saved(mark, bad)
        if bad.meant:
            self._report_bad(mark, bad)
        self._text_end = self._second_look(mark.end(), bad.failed)
        return None

    def _whole(self, mark: re.Match[bytes]) -> Opened | None:
        start, name_end = mark.span()
        found = TAG_REST.match(self.source, name_end, self.limit)
        if found is None:
            return None
        end, alone = found.end(), found.group(1) == b"/"
        return self._void_end(Opened(mark.group(2).decode(), start, name_end, end, end, alone))

    def _bad(self, mark: re.Match[bytes]) -> BadTag:
        return bad_tag(self.source, mark.start(), mark.end(), self.limit)

    def _saved(self, mark: re.Match[bytes], bad: BadTag) -> Opened:
        self._report_bad(mark, bad)
        tag = mark.group(2).decode()
        end = self._second_look(bad.resume, max(bad.resume, bad.failed))
        alone = ELEMENTS[tag].void or self.source.startswith(b"/>", end - 2)
        return Opened(tag, mark.start(), mark.end(), bad.tag_end, end, alone)

    def _report_bad(self, mark: re.Match[bytes], bad: BadTag) -> None:
        tag = mark.group(2).decode()
        self.findings.add(bad.code, bad.at, bad.failed, tag=tag, **bad.words)

    def _second_look(self, start: int, end: int) -> int:
        """Where to go on after a broken tag: close to its start, as long as that is affordable."""
        self._patience -= end - start
        return start if self._patience > 0 else end

    def _void_end(self, opened: Opened) -> Opened:
        """An element without a body ends with its tag, or with a closing tag right behind it."""
        if opened.alone or not ELEMENTS[opened.tag].void:
            return opened
        space = SPACE.match(self.source, opened.end, self.limit)
        mark = MARK.match(self.source, space.end() if space else opened.end, self.limit)
        if mark and mark.group(1) and mark.group(2).decode() == opened.tag:
            tail = TAG_END.match(self.source, mark.end(), self.limit)
            if tail:
                return opened._replace(end=tail.end(), alone=True)
        if opened.tag not in UNCLOSED_IS_FINE:
            self.findings.add("unclosed-void", opened.start, opened.end, tag=opened.tag)
        return opened._replace(alone=True)

    def body(self, opened: Opened) -> tuple[int, int]:
        """Where the body of an element ends, and where the element does."""
        self._nested = None
        stack = [Frame(opened)]
        at = opened.end
        while stack:
            mark = self.mark(at)
            opener = raw_opener(self.source, at, mark.start() if mark else self.limit)
            if opener >= 0 and opener + 4 < self.no_raw_close:
                at = self._raw(stack[-1], opener)
            elif mark is None or self.findings.full:
                at = self._unclosed(stack, self.limit)
            elif not mark.group(2):
                at = self._comment(stack[-1], mark)
            elif mark.group(1):
                at = self._close(stack, mark)
            else:
                at = self._child(stack, mark)
        return self._inner, at

    def element(self) -> Element:
        """The element whose body was walked through, where it was to be built."""
        if self._root is None:
            raise LookupError("no element was built")
        return self._root

    def _raw(self, frame: Frame, opener: int) -> int:
        close = self.raw_end(opener)
        if close < 0:
            return opener + 4
        if self._build:
            frame.take_raw(self.source, opener, close)
        return close + 4

    def _comment(self, frame: Frame, mark: re.Match[bytes]) -> int:
        end = self.comment_end(mark)
        if end < 0:
            return mark.end()
        if self._build:
            frame.take(self.source, mark.start())
        frame.since = end
        self._check_comment(frame.opened.tag, mark.start(), end)
        return end

    def _check_comment(self, tag: str, start: int, end: int) -> None:
        if self.source.find(b"</" + tag.encode(), start, end) >= 0:
            self.findings.add("comment-hides-tag", start, end, tag=tag)

    def _close(self, stack: list[Frame], mark: re.Match[bytes]) -> int:
        """A closing tag: of this element, of one around it, or just text."""
        tail = TAG_END.match(self.source, mark.end(), self.limit)
        tag = mark.group(2).decode()
        # Only one kind of element nests in itself: the ends of the stack stand for all of it.
        if tail is None or tag not in (stack[0].opened.tag, stack[-1].opened.tag):
            return mark.end()
        # The extent of what is built is known: nothing ends it earlier.
        root = len(stack) == 1 or tag != stack[-1].opened.tag
        if self._build and root and tail.end() < self.limit:
            return mark.end()
        while stack[-1].opened.tag != tag:
            self._report_unclosed(stack[-1].opened, mark.start(), f" before </{tag}>")
            self._finish(stack, mark.start(), mark.start())
        self._finish(stack, mark.start(), tail.end())
        if not stack and self._nested is not None:
            inner = self._nested.group(2).decode()
            self.findings.add("nested-element", *self._nested.span(), tag=inner, around=tag)
        return tail.end()

    def _child(self, stack: list[Frame], mark: re.Match[bytes]) -> int:
        """An opening tag: an element that may stand here, or text."""
        if mark.group(2).decode() not in ELEMENTS[stack[-1].opened.tag].children:
            return self._not_here(stack, mark)
        opened = self.open_inside(mark)
        if opened is None:
            return self._text_end
        if opened.alone:
            self._leaf(stack[-1], opened)
        elif len(stack) < DEEPEST:
            stack.append(Frame(opened))
        else:
            span = (opened.start, opened.end)
            self.findings.add("too-deep", *span, tag=opened.tag, most=DEEPEST)
        return opened.end

    def _leaf(self, frame: Frame, opened: Opened) -> None:
        if self._build:
            frame.take_child(self.source, make(self.source, opened, (), opened.end, opened.end))

    def _not_here(self, stack: list[Frame], mark: re.Match[bytes]) -> int:
        """A tag that is text here; at the start of a line it may show that a closing tag lacks."""
        tag = mark.group(2).decode()
        if not self._build and tag in _STRUCTURE and at_line_start(self.source, mark.start()):
            self._nested = self._nested or mark
            if tag == stack[0].opened.tag:
                return self._unclosed(stack, mark.start())
        return mark.end()

    def _unclosed(self, stack: list[Frame], end: int) -> int:
        """Give up on an element that has no end; reading goes on with the first one inside it."""
        opened = stack[0].opened
        end = self._nested.start() if self._nested else end
        self._report_unclosed(opened, end, " before the next element" if end < self.limit else "")
        while stack:
            self._finish(stack, end, end)
        self._next, self._no_mark = None, _NEVER
        return end

    def _report_unclosed(self, opened: Opened, end: int, where: str) -> None:
        start, tag = opened.start, opened.tag
        self.findings.add("unclosed-element", start, min(opened.end, end), tag=tag, where=where)

    def _finish(self, stack: list[Frame], inner: int, end: int) -> None:
        frame = stack.pop()
        self._inner = inner
        if not self._build:
            return
        element = make(self.source, frame.opened, frame.finish(self.source, inner), inner, end)
        if stack:
            stack[-1].take_child(self.source, element)
        else:
            self._root = element
