"""Text to a `Document`: one pass, linear, and never an exception.

An element's extent is found here; what is in it is read when somebody looks. Whatever cannot be
understood gets a diagnostic, and reading goes on behind it.
"""

from __future__ import annotations

import re
from array import array
from itertools import islice

from whence.chatmd.check import diagnose
from whence.chatmd.grammar import ELEMENTS
from whence.chatmd.problems import Findings
from whence.chatmd.scan import BOM, RAW_CLOSE, RAW_OPEN, SPACE, foreign_tags, to_bytes, to_text
from whence.chatmd.suggest import element_suggestion, quoted, shown
from whence.chatmd.table import NAMES, Table
from whence.chatmd.walk import Opened, Walker
from whence.shapes.document import COMMENT, STRAY, Diagnostics, Document, Nodes

_CODES = {name: code for code, name in enumerate(NAMES)}
_REGULAR = tuple(name for name, rule in ELEMENTS.items() if not rule.void and not rule.home)
_OPEN = re.compile(
    rb'\s*+<(%s)(?:\s++[A-Za-z_-]++="[^"\\]*+")*+>(\s*+RAW\|)?' % "|".join(_REGULAR).encode()
)
_CLOSERS = {
    name.encode(): (_CODES[name], f"|RAW\n</{name}>".encode(), f"</{name}>".encode())
    for name in _REGULAR
}
_CONFLICT = re.compile(rb"(<{7}|\|{7}|={7}|>{7})(?=\s|\Z)")


def parse(source: bytes | str, *, partial: bool = False) -> Document:
    """Read an agent file; `document.diagnostics` says what is wrong with it.

    Args:
        source: The file. Bytes are kept as they are; any text is accepted as well.
        partial: The source is the end of a longer file, so that a response may lack its call.
    """
    return structure(source, partial=partial)[0]


def structure(source: bytes | str, *, partial: bool = False) -> tuple[Document, Findings]:
    """Read an agent file; with the document, what the pass itself found wrong."""
    data = source if isinstance(source, bytes) else to_bytes(source)
    reader = _Reader(data)
    reader.read()
    table = Table(data, reader.kinds, reader.spans)
    found = Diagnostics(lambda: diagnose(table, reader.findings, partial=partial))
    nodes = Nodes(table.kinds, NAMES, table.node, table.may_hold_elements)
    return Document(data, nodes, found), reader.findings


class _Reader:
    """The pass over the top level."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.kinds = bytearray()
        self.spans = array("q")
        """Four numbers for each node: where it, its body, the end of its body and its end are."""
        self.findings = Findings()
        self._walker = Walker(source, len(source), self.findings)

    def read(self) -> None:
        """Fill the table."""
        at, end = (3 if self.source.startswith(BOM) else 0), len(self.source)
        while at < end and not self.findings.full:
            at = self._node(self._regular(at))
        if at < end:
            self._add(STRAY, at, at, end, end)

    def _regular(self, at: int) -> int:
        """Take elements as a writer lays them out, and stop before the first that is different.

        This is a short cut through most of a transcript: each of these elements has one RAW block
        or no markup at all inside, so that two searches tell where it ends.
        """
        source, walker = self.source, self._walker
        find, starts_with = source.find, source.startswith
        kind, spans = self.kinds.append, self.spans.extend
        while opened := _OPEN.match(source, at):
            name, raw = opened.group(1, 2)
            body = opened.end()
            code, after_raw, after_text = _CLOSERS[name]
            if raw:
                if body >= walker.no_raw_close:
                    break
                close = find(b"|", body)  # one byte is looked for much faster than several
                if not starts_with(after_raw, close):
                    close = find(RAW_CLOSE, body)
                    if close < 0 or not starts_with(after_raw, close):
                        break
                body, inner, end = opened.start(2), close + 5, close + len(after_raw)
            else:
                inner = find(b"<", body)
                if not starts_with(after_text, inner):
                    break
                if find(b"|", body, inner) >= 0 and find(RAW_OPEN, body, inner) >= 0:
                    break
                end = inner + len(after_text)
            kind(code)
            spans((opened.start(1) - 1, body, inner, end))
            at = end
        return at

    def _node(self, at: int) -> int:
        """Take whatever comes next; the offset behind it."""
        space = SPACE.match(self.source, at)
        at = space.end() if space else at
        mark = self._walker.mark(at)
        if at >= len(self.source):
            return at
        if mark is None or mark.start() > at or mark.group(1):
            return self._stray(at)
        if not mark.group(2):
            return self._comment(mark)
        return self._element(mark)

    def _add(self, name: str, start: int, body: int, inner: int, end: int) -> int:
        self.kinds.append(_CODES[name])
        self.spans.extend((start, body, inner, end))
        return end

    def _element(self, mark: re.Match[bytes]) -> int:
        opened = self._walker.open(mark)
        inner = end = opened.end
        if not opened.alone:
            inner, end = self._walker.body(opened)
        self._check_home(opened)
        return self._add(opened.tag, opened.start, opened.end, inner, end)

    def _comment(self, mark: re.Match[bytes]) -> int:
        end = self._walker.comment_end(mark)
        if end < 0:
            return self._stray(mark.start(), mark.end())
        return self._add(COMMENT, mark.start(), mark.end(), end - 3, end)

    def _stray(self, start: int, known: int | None = None) -> int:
        """Take text up to the next element or comment; all of it is out of place here."""
        mark = self._walker.mark(start if known is None else known)
        while mark and mark.group(1):
            mark = self._walker.mark(mark.end())
        end = mark.start() if mark else len(self.source)
        if known is None:
            self._report_stray(start, end)
        return self._add(STRAY, start, start, end, end)

    def _check_home(self, opened: Opened) -> None:
        home = ELEMENTS[opened.tag].home
        if home:
            code = "misplaced-element" if home == "tool" else "content-outside"
            self.findings.add(code, opened.start, opened.end, tag=opened.tag, home=home)

    def _report_stray(self, start: int, end: int) -> None:
        conflict = _CONFLICT.match(self.source, start)
        foreign = tuple(islice(foreign_tags(self.source, start, end), self.findings.most))
        if conflict:
            marker = conflict.group().decode()
            self.findings.add("merge-conflict", *conflict.span(), marker=marker)
        elif not foreign or foreign[0][1] > start:
            text = self.source[start : min(end, start + 200)].split(b"\n")[0].rstrip()
            code = "stray-closing-tag" if text.startswith(b"</") else "text-outside"
            self.findings.add(code, start, start + len(text), text=quoted(to_text(text)))
        for name, *span in foreign:
            hint = element_suggestion(name)
            self.findings.add("unknown-element", *span, name=shown(name), hint=hint)
