"""Any text is read without an exception and comes back byte by byte."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.chatmd.trees import soups, texts
from whence.chatmd import parse as parse_room
from whence.chatmd.parse import parse
from whence.chatmd.render import escape, raw
from whence.chatmd.scan import to_bytes, to_text, unescape
from whence.shapes.document import Document, Element, Severity, Text

_many = settings(
    max_examples=1000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _assert_consistent(document: Document) -> None:
    source, nodes = document.source, list(document.nodes)
    spans = [node.span for node in nodes]
    assert all(0 <= span.start < span.end <= len(source) for span in spans)
    edges = [(0, 0), *spans, (len(source), len(source))]
    between = (source[first[1] : second[0]] for first, second in pairwise(edges))
    assert all(not gap.removeprefix(b"\xef\xbb\xbf").strip() for gap in between)
    assert all(first[1] <= second[0] for first, second in pairwise(edges))
    for node in nodes:
        if isinstance(node, Element):
            _assert_inside(node, source)
    for found in document.diagnostics:
        assert found.line >= 1
        assert found.column >= 1
        assert found.severity in Severity
        assert found.suggestion
        assert "{" not in found.message or b"{" in source
    list(document.items())


def _assert_inside(element: Element, source: bytes) -> None:
    assert source[element.span.start :].startswith(b"<" + element.tag.encode())
    at = element.span.start
    for part in element.parts:
        assert at <= part.span.start <= part.span.end <= element.span.end
        at = part.span.end
        if isinstance(part, Element):
            _assert_inside(part, source)
        else:
            assert isinstance(part, Text)


@given(soups)
@example('<agent\n<msg\n<import a="\n<config <img>"')
@example("<user>" + '<doc " a="' * 9 + "</user><user>a</user>")
@_many
def test_any_text_is_read_without_an_exception_and_comes_back_unchanged(text: str) -> None:
    document = parse(text)

    assert to_text(document.source) == text
    _assert_consistent(document)


@given(st.binary(max_size=200) | soups.map(to_bytes))
@_many
def test_any_bytes_are_read_without_an_exception_and_come_back_unchanged(data: bytes) -> None:
    document = parse(data)

    assert document.source == data
    _assert_consistent(document)


@given(soups)
@_many
def test_the_short_cut_through_regular_elements_changes_nothing(text: str) -> None:
    quick = parse(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse_room._Reader, "_regular", lambda _self, at: at)
        slow = parse(text)

    assert list(quick.nodes) == list(slow.nodes)
    assert [node.span for node in quick.nodes] == [node.span for node in slow.nodes]
    assert list(quick.diagnostics) == list(slow.diagnostics)


@given(texts)
@_many
def test_any_text_survives_raw_blocks_and_none_contains_a_marker(text: str) -> None:
    written = f"<user>{raw(text)}</user>"
    document = parse(written)
    (element,) = document.nodes

    assert isinstance(element, Element)
    assert element.text == text
    blocks = written.removeprefix("<user>RAW|").removesuffix("|RAW</user>").split("|RAW\nRAW|")
    assert "".join(blocks) == text
    assert not any("RAW|" in block or "|RAW" in "|" + block for block in blocks)


@given(texts)
@_many
def test_any_value_survives_as_an_attribute(value: str) -> None:
    (element,) = parse(f'<user name="{escape(value)}"></user>').nodes

    assert isinstance(element, Element)
    assert element.attributes == {"name": value}
    assert unescape(escape(value)) == value


@given(texts)
@_many
def test_any_text_survives_as_bytes(text: str) -> None:
    assert to_text(to_bytes(text)) == text
