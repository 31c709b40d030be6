"""An edit changes its own span and no other byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chatmd.hostile import GOOD
from tests.chatmd.trees import texts
from whence.chatmd.edit import (
    Edit,
    apply,
    remove,
    remove_attribute,
    replace,
    set_attribute,
)
from whence.chatmd.parse import parse
from whence.errors import Conflict, InvalidArgs
from whence.shapes.document import Document, Element, Span, Text

SOURCE = (
    '<!-- top -->\r\n<config  model = "a"\tmax_tokens=5 />\n\n'
    "<user>hi</user>  \n<tool name='x' />\n<user/>\n"
)


def first(document: Document, tag: str) -> Element:
    return next(document.tagged(tag))


def test_setting_an_attribute_changes_only_its_value() -> None:
    document = parse(SOURCE)
    changed = apply(document, [set_attribute(document, first(document, "config"), "model", 'b"')])

    assert changed.source == SOURCE.replace('model = "a"', 'model="b&quot;"').encode()
    assert first(changed, "config").get("model") == 'b"'


def test_a_new_attribute_stands_behind_the_others() -> None:
    document = parse(SOURCE)
    edits = [
        set_attribute(document, first(document, "config"), "show_tool_call", None),
        set_attribute(document, first(document, "user"), "id", "7"),
    ]

    assert apply(document, edits).source == (
        SOURCE.replace("max_tokens=5", "max_tokens=5 show_tool_call")
        .replace("<user>", '<user id="7">')
        .encode()
    )


def test_an_attribute_goes_with_the_space_before_it() -> None:
    document = parse(SOURCE)
    edit = remove_attribute(document, first(document, "config"), "max_tokens")

    assert apply(document, [edit]).source == SOURCE.replace("\tmax_tokens=5", "").encode()


def test_an_element_goes_with_its_line() -> None:
    document = parse(SOURCE)

    assert apply(document, [remove(document, first(document, "user"))]).source == (
        SOURCE.replace("<user>hi</user>  \n", "").encode()
    )
    inline = parse("<user>a</user><user>b</user>\n")
    assert apply(inline, [remove(inline, first(inline, "user"))]).source == b"<user>b</user>\n"


def test_an_element_may_be_replaced() -> None:
    document = parse(SOURCE)
    edit = replace(first(document, "user"), Element("system", {}, (Text("x"),)))

    assert apply(document, [edit]).source == (
        SOURCE.replace("<user>hi</user>", "<system>x</system>").encode()
    )


@given(st.integers(0, 30), texts)
@settings(max_examples=300, deadline=None)
def test_bytes_outside_an_edit_never_change(index: int, text: str) -> None:
    document = parse(GOOD)
    elements = [node for node in document.nodes if isinstance(node, Element)]
    element = elements[index % len(elements)]
    has_text = element.body is not None and element.tag != "tool"
    if has_text:
        parts = (Text(text),) if text else ()
        edit = replace(element, Element(element.tag, element.attributes, parts))
    else:
        name = "model" if element.tag == "config" else "name"
        edit = set_attribute(document, element, name, text)
    changed = apply(document, [edit])

    kept = len(document.source) - edit.span.end
    assert changed.source[: edit.span.start] == document.source[: edit.span.start]
    assert changed.source[len(changed.source) - kept :] == document.source[edit.span.end :]
    assert len(changed.nodes) == len(document.nodes)
    again = [node for node in changed.nodes if isinstance(node, Element)][index % len(elements)]
    assert text in ([again.text] if has_text else again.attributes.values())


def test_edits_that_overlap_are_refused() -> None:
    document = parse(SOURCE)

    with pytest.raises(Conflict, match="overlaps"):
        apply(document, [Edit(Span(0, 5), b""), Edit(Span(4, 8), b"")])
    with pytest.raises(Conflict, match="overlaps"):
        apply(document, [Edit(Span(0, 10_000), b"")])


def test_what_would_not_be_read_back_is_refused() -> None:
    document = parse(SOURCE)
    config = first(document, "config")

    with pytest.raises(InvalidArgs, match="no attribute modl") as refused:
        set_attribute(document, config, "modl", "x")
    assert refused.value.suggestion == "Did you mean model?"
    with pytest.raises(InvalidArgs, match="no attribute mode to remove"):
        remove_attribute(document, config, "mode")
