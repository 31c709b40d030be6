"""What is wrong with a file beyond its structure: attributes, call ids, bytes, traces of merges."""

from __future__ import annotations

from collections.abc import Iterator

from whence.chatmd.grammar import DECLARATIONS, ELEMENTS, FLAGS, MODEL_SAID, ROLES
from whence.chatmd.problems import PROBLEMS, Finding, Findings
from whence.chatmd.scan import (
    MARK,
    MOST_ATTRIBUTES,
    RAW_CLOSE,
    RAW_OPEN,
    Assigned,
    attributes,
    raw_opener,
    values,
)
from whence.chatmd.suggest import attribute_suggestion, shown
from whence.chatmd.table import Table, opened_at
from whence.chatmd.walk import Opened
from whence.shapes.document import (
    COMMENT,
    STRAY,
    Diagnostic,
    Element,
    Node,
    Span,
    Text,
    places,
    truth,
)

_CHUNK = 1 << 14
_LINKED = frozenset({"tool_call", "tool_response", "msg"})


def diagnose(table: Table, structure: Findings, *, partial: bool) -> tuple[Diagnostic, ...]:
    """All diagnostics of a file in their order, with lines and columns."""
    if table.source.startswith((b"\xff\xfe", b"\xfe\xff")):
        findings = Findings()
        findings.add("not-utf8", 0, 2, what="This UTF-16 file")
        return tuple(_placed(table.source, findings))
    findings = structure.copy()
    _check_bytes(table.source, findings)
    _check_elements(table, findings, partial=partial)
    _check_raw(table.source, findings)
    _check_conflicts(table.source, findings)
    return tuple(_placed(table.source, findings))


def _placed(source: bytes, findings: Findings) -> Iterator[Diagnostic]:
    ordered = sorted(findings.found, key=lambda found: found.start)
    if findings.full:
        last = ordered[-1]
        ordered.append(Finding("too-many", last.start, last.end, {"most": Findings.most}))
    for found, place in zip(ordered, places(source, (one.start for one in ordered)), strict=True):
        severity, span = PROBLEMS[found.code].severity, Span(found.start, found.end)
        yield Diagnostic(severity, found.code, found.message(), found.suggestion(), span, *place)


def _check_bytes(source: bytes, findings: Findings) -> None:
    nul = source.find(b"\0")
    if nul >= 0:
        findings.add("nul-byte", nul, nul + 1, count=source.count(0))
    bad = -1 if source.isascii() else _first_bad_byte(source)
    if bad >= 0:
        findings.add("not-utf8", bad, bad + 1, what=f"The byte 0x{source[bad]:02x}")


def _first_bad_byte(source: bytes) -> int:
    at = 0
    while at < len(source):
        chunk = source[at : at + _CHUNK]
        try:
            chunk.decode()
        except UnicodeDecodeError as error:
            cut_by_us = error.end == len(chunk) and at + len(chunk) < len(source)
            if not cut_by_us or error.start == 0:
                return at + error.start
            at += error.start
        else:
            at += len(chunk)
    return -1


class _Calls:
    """Which calls were made and answered."""

    def __init__(self, findings: Findings, *, partial: bool) -> None:
        self._findings = findings
        self._partial = partial
        self._open: dict[str, Opened] = {}
        self._seen: set[str] = set()

    def called(self, call: str, opened: Opened) -> None:
        if call in self._seen:
            self._report("duplicate-call-id", call, opened)
        self._seen.add(call)
        self._open[call] = opened

    def answered(self, call: str, opened: Opened) -> None:
        if self._open.pop(call, None) is None:
            if call in self._seen:
                self._report("duplicate-response", call, opened)
            elif not self._partial:
                self._report("response-without-call", call, opened)
            self._seen.add(call)

    def close(self) -> None:
        for call, opened in self._open.items():
            self._report("call-without-response", call, opened)

    def _report(self, code: str, call: str, opened: Opened) -> None:
        self._findings.add(code, opened.start, opened.end, id=shown(call))


def _check_elements(table: Table, findings: Findings, *, partial: bool) -> None:
    source, calls, begun = table.source, _Calls(findings, partial=partial), False
    fine: set[tuple[str, ...]] = set()
    for index in range(len(table)):
        tag = table.tag(index)
        if tag in (COMMENT, STRAY):
            continue
        opened = table.opened(index)
        given = values(source, opened.name_end, opened.tag_end)
        shape = (tag, *(name for name, _ in given))
        if shape not in fine and _check_tag(source, opened, findings):
            fine.add(shape)
        if tag in _LINKED:
            _check_link(tag, opened, dict(given), calls)
        begun = begun or tag in MODEL_SAID
        if begun and tag in DECLARATIONS:
            findings.add("late-declaration", opened.start, opened.end, tag=tag)
        if not opened.alone and (tag == "tool" or table.plain(index) is None):
            _check_inside(source, table.node(index), findings)
    calls.close()


def _check_inside(source: bytes, root: Node, findings: Findings) -> None:
    """The elements inside an element, and text where it means nothing."""
    waiting = [root] if isinstance(root, Element) else []
    while waiting:
        element = waiting.pop()
        if element.tag == "tool":
            _check_ignored(element, findings)
        for child in element.children:
            body = child.span.end if child.body is None else child.body.start
            opened = opened_at(source, child.tag, child.span.start, body, alone=child.body is None)
            _check_tag(source, opened, findings)
            waiting.append(child)


def _check_ignored(element: Element, findings: Findings) -> None:
    known = " ".join(sorted(ELEMENTS[element.tag].children))
    for part in element.parts:
        if isinstance(part, Text) and part.text.strip():
            text = shown(part.text.strip())
            findings.add("ignored-text", *part.span, text=text, tag=element.tag, known=known)


def _check_tag(source: bytes, opened: Opened, findings: Findings) -> bool:
    """Check one tag; True if every tag with the same attribute names is as good as this one."""
    before, tag, seen = len(findings.found), opened.tag, set[str]()
    given = tuple(attributes(source, opened.name_end, opened.tag_end))
    for one in given:
        _check_attribute(tag, one, seen, findings)
        seen.add(one.name)
    for name in ELEMENTS[tag].required:
        if name not in seen:
            findings.add("missing-attribute", opened.start, opened.end, tag=tag, name=name)
    if len(given) == MOST_ATTRIBUTES:
        span = opened.start, opened.end
        findings.add("too-many-attributes", *span, tag=tag, most=MOST_ATTRIBUTES)
    quoted = source.find(b"<", opened.name_end, opened.tag_end)
    if quoted >= 0 and MARK.search(source, quoted, opened.tag_end):
        findings.add("tag-in-value", opened.start, opened.tag_end, tag=tag)
    fine = len(findings.found) == before
    return fine and tag != "msg" and not FLAGS & seen and quoted < 0


def _check_attribute(tag: str, one: Assigned, seen: set[str], findings: Findings) -> None:
    name, value, span = shown(one.name), shown(one.value or ""), (one.start, one.end)
    if findings.full:
        return
    if one.name not in ELEMENTS[tag].attributes:
        hint = attribute_suggestion(tag, one.name)
        findings.add("unknown-attribute", *span, tag=tag, name=name, hint=hint)
    elif one.name in seen:
        findings.add("duplicate-attribute", *span, name=name)
    elif one.name in FLAGS and truth(one.value) is None:
        findings.add("not-a-flag", *span, name=name, value=value)
    elif tag == "msg" and one.name == "role" and one.value not in (*ROLES, "tool"):
        findings.add("unknown-role", *span, value=value, known=" ".join((*ROLES, "tool")))


def _check_link(tag: str, opened: Opened, given: dict[str, str | None], calls: _Calls) -> None:
    call = given.get("tool_call_id")
    if call is None:
        return
    if tag == "tool_call" or "tool_call" in given:
        calls.called(call, opened)
    elif tag == "tool_response" or given.get("role") == "tool":
        calls.answered(call, opened)


def _check_raw(source: bytes, findings: Findings) -> None:
    """A block inside a block, and an end without a block, are probably not what was meant."""
    opener = raw_opener(source, 0, len(source))
    while opener >= 0:
        close = source.find(RAW_CLOSE, opener + 4)
        if close < 0:
            return
        inner = source.find(RAW_OPEN, opener + 4, close)
        if inner >= 0 and raw_opener(source, inner - 1, close) >= 0:
            findings.add("raw-in-raw", opener, opener + 4)
        opener = raw_opener(source, close + 4, len(source))
        stray = source.find(RAW_CLOSE, close + 4, opener if opener >= 0 else len(source))
        if stray >= 0:
            findings.add("stray-raw-end", stray, stray + 4)


def _check_conflicts(source: bytes, findings: Findings) -> None:
    """Conflict markers inside an element may be its text, so that they only warn."""
    known = {found.start for found in findings.found if found.code == "merge-conflict"}
    start = source.find(b"\n<<<<<<< ")
    while start >= 0:
        middle = source.find(b"\n=======", start)
        end = source.find(b"\n>>>>>>> ", middle) if middle >= 0 else -1
        if end < 0:
            return
        is_edit = source.startswith(b"SEARCH", start + 9)  # Roo's form of an edit
        if start + 1 not in known and not is_edit:
            findings.add("merge-conflict-text", start + 1, start + 8)
        start = source.find(b"\n<<<<<<< ", end)
