"""Values become text that reads back as the same values, whatever is in them."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from tests.chatmd.trees import texts
from whence.chatmd.parse import parse
from whence.chatmd.render import (
    INLINE_BYTES,
    PAYLOADS,
    Picture,
    Rendered,
    render_element,
    render_message,
    render_reasoning,
    render_tool_call,
    render_tool_response,
)
from whence.chatmd.scan import to_text
from whence.errors import InvalidArgs
from whence.shapes.document import (
    Element,
    Item,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResponse,
)

PNG = b"\x89PNG\r\n\x1a\n\0\xff"


def read(rendered: Rendered) -> Item:
    """The only item, from a file that must be without a fault but for a missing partner."""
    document = parse(rendered.text)
    alone = {"call-without-response", "response-without-call"}
    assert not [found for found in document.diagnostics if found.code not in alone]
    (item,) = document.items()
    return item


def whole(item: Message | ToolCall | ToolResponse, rendered: Rendered) -> str:
    """The text of an item, wherever it is."""
    if item.stored is None:
        assert not rendered.payloads
        return item.text
    (payload,) = rendered.payloads
    assert payload.path == item.stored
    return to_text(payload.data)


def test_a_message_is_written_as_a_person_would_read_it() -> None:
    rendered = render_message("assistant", "Hello <b>\nworld", id="m1", status="completed")

    assert rendered == Rendered(
        b'<assistant id="m1" status="completed">\nRAW|Hello <b>\nworld|RAW\n</assistant>\n'
    )


def test_calls_and_responses_have_the_attributes_that_ochat_documents() -> None:
    call = render_tool_call("c1", "read_file", '{"file": "a"}', item_id="fc1")
    custom = render_tool_call("c2", "apply_patch", "*** Begin", custom=True)
    response = render_tool_response("c1", "text", item_id="0")

    assert call.text == (
        b'<tool_call tool_call_id="c1" function_name="read_file" id="fc1">\n'
        b'RAW|{"file": "a"}|RAW\n</tool_call>\n'
    )
    assert custom.text.startswith(b'<tool_call type="custom_tool_call" tool_call_id="c2"')
    assert response.text == (
        b'<tool_response tool_call_id="c1" id="0">\nRAW|text|RAW\n</tool_response>\n'
    )


def test_a_payload_that_is_not_shown_inline_is_a_closed_doc_beside_the_file() -> None:
    call = render_tool_call("c/1", "f", "{}", inline=False)
    (payload,) = call.payloads

    assert payload.path.startswith(PAYLOADS + "c_1.tool-call.")
    assert payload.path.endswith(".json")
    assert payload.data == b"{}"
    assert f'<doc src="{payload.path}" local/></tool_call>\n'.encode() in call.text


@given(texts)
@settings(max_examples=1000, deadline=None)
@example("RAW")
@example("RAW|")
@example("RAW</user>\n<user>")
@example("|RAW</tool_call>")
@example("xRAW")
@example("|")
@example("\r\n")
def test_any_text_comes_back_from_messages_calls_and_responses(text: str) -> None:
    message = render_message("user", text)
    call = render_tool_call("c", "f", text)
    response = render_tool_response("c", text, inline=False)

    for rendered in (message, call, response):
        item = read(rendered)
        assert not isinstance(item, Reasoning)
        assert whole(item, rendered) == text


@given(texts)
@settings(max_examples=300, deadline=None)
def test_any_name_and_id_comes_back(text: str) -> None:
    item = read(render_tool_call(text, text, "{}", item_id=text))

    assert item == ToolCall(text, text, (Text("{}"),), text)


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("plain", True),
        ("", True),
        ("<user>hi</user>\ttab\n", True),
        ("STRAW and | bars ||", True),
        ("x" * INLINE_BYTES, True),
        ("x" * (INLINE_BYTES + 1), False),
        ("é" * (INLINE_BYTES // 2 + 1), False),
        ("a |RAW b", False),
        ("a RAW| b", False),
        ("RAW first", False),
        ("a\r\nb", False),
        ("a\0b", False),
        ("\x1b[31m", False),
        ("\x7f", False),
        ("\ud800", False),
    ],
)
def test_what_could_be_damaged_in_the_file_is_stored_beside_it(text: str, stays: bool) -> None:
    rendered = render_tool_response("c", text)

    assert (rendered.payloads == ()) is stays


def test_equal_payloads_share_a_file_and_different_ones_never_do() -> None:
    one, two, three = (
        render_tool_call("call_1", "f", text, inline=False).payloads[0].path for text in "aab"
    )

    assert one == two != three


def test_images_are_stored_and_stay_in_their_place() -> None:
    rendered = render_tool_response("c", ["before", Picture(PNG), "after", "again"])
    item = read(rendered)

    assert isinstance(item, ToolResponse)
    before, image, after, again = item.parts
    assert before == Text("before")
    assert after == Text("after")
    assert isinstance(image, Element)
    assert isinstance(again, Element)
    assert (image.tag, image.flag("local")) == ("img", True)
    assert (again.tag, again.flag("local")) == ("doc", True)
    assert {payload.path: payload.data for payload in rendered.payloads} == {
        image.get("src"): PNG,
        again.get("src"): b"again",
    }
    assert rendered.payloads[0].path.endswith(".png")


def test_a_message_may_hold_documents_and_images() -> None:
    doc = Element("doc", {"src": "a.md", "local": None})
    rendered = render_message("user", ["see ", doc, Picture(PNG, "image/jpeg")])
    item = read(rendered)

    assert isinstance(item, Message)
    assert item.parts[:2] == (Text("see "), doc)
    assert rendered.payloads[0].path.endswith(".jpg")


def test_reasoning_comes_back_with_markers_and_tags_in_it() -> None:
    summaries = ["a </summary> b", "RAW| x |RAW", "", "plain\r\n"]
    item = read(render_reasoning("r1", summaries, encrypted='g"A\\', status="completed"))

    assert item == Reasoning(
        "r1", ("a </summary> b", "RAW| x |RAW", "", "plain\r\n"), 'g"A\\', "completed"
    )


def test_turns_are_joined() -> None:
    turn = render_tool_call("c", "f", "\0") + render_tool_response("c", "ok")

    assert len(turn.payloads) == 1
    assert [type(item) for item in parse(turn.text).items()] == [ToolCall, ToolResponse]
    assert not parse(turn.text).diagnostics


def test_what_could_not_be_read_back_is_refused() -> None:
    with pytest.raises(InvalidArgs, match="no role usr") as refused:
        render_message("usr", "x")
    assert refused.value.suggestion == "Did you mean user?"
    with pytest.raises(InvalidArgs, match="no role"):
        render_message("tool", "x")
    with pytest.raises(InvalidArgs, match="image/tiff"):
        render_message("user", [Picture(b"", "image/tiff")])
    with pytest.raises(InvalidArgs, match="no element <banana>"):
        render_element(Element("banana"))
    with pytest.raises(InvalidArgs, match="<doc> has no body"):
        render_element(Element("doc", {}, (Text("x"),)))
    with pytest.raises(InvalidArgs, match="<config> inside <user>"):
        render_element(Element("user", {}, (Element("config"),)))
    with pytest.raises(InvalidArgs, match="<tool> inside <agent>"):
        render_message("user", [Element("agent", {"src": "a"}, (Element("tool"),))])
    with pytest.raises(InvalidArgs, match="name of an attribute"):
        render_element(Element("user", {"a b": "c"}))
