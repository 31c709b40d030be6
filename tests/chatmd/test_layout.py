"""The canonical layout: idempotent, and never a word changed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.chatmd.layout import layout
from whence.chatmd.parse import parse
from whence.chatmd.render import raw
from whence.errors import ParseError

pytestmark = pytest.mark.requirement("chatmd:fmt")

UNTIDY = b"""<config model=x  ></config>


<tool name=fs.read></tool><tool name='fs.ls'/>
<user  >
  a   b	.


</user>"""
TIDY = b"""<config model="x"/>

<tool name="fs.read"/>
<tool name="fs.ls"/>

<user>
  a   b	.


</user>
"""


def test_tags_and_blank_lines_are_laid_out_and_text_is_not() -> None:
    assert layout(UNTIDY) == TIDY


def test_a_file_with_errors_is_left_alone() -> None:
    with pytest.raises(ParseError, match="line 1"):
        layout(b"<usr>hi</usr>")


def test_line_endings_and_byte_order_mark_stay() -> None:
    laid = layout(b"\xef\xbb\xbf<user>a\r\nb</user>\r\n<user>c</user>")

    assert laid == b"\xef\xbb\xbf<user>a\r\nb</user>\r\n\r\n<user>c</user>\r\n"


CALL = """<tool_call tool_call_id="1" function_name="f">{"a": 1}</tool_call>
<tool_response tool_call_id="1">ok</tool_response>"""
BLOCKS = st.sampled_from(
    [
        "<tool name=fs.read />",
        "<tool  name='x' command=\"ls 'a b' &amp; c\"\n description=d></tool>",
        "<tool name=x command=y><param name=a type=string></tool>",
        '<config model="a"/>',
        "<input name=q required/>",
        "<!-- a comment -->",
        "<reasoning id=r><summary>  s </summary></reasoning>",
        CALL,
    ]
)
MESSAGES = st.text().map(lambda text: f"<user id=1 >{raw(text)}</user>")


@settings(max_examples=300, deadline=None)
@given(
    blocks=st.lists(BLOCKS | MESSAGES, unique=True, max_size=6),
    space=st.sampled_from(["", "\n", "\n\n\n", " ", "\r\n"]),
)
def test_layout_is_idempotent_and_keeps_every_node(blocks: list[str], space: str) -> None:
    source = space.join(blocks).encode("utf-8", "replace")
    assert not parse(source).errors
    once = layout(source)

    assert layout(once) == once
    assert list(parse(once).nodes) == list(parse(source).nodes)
