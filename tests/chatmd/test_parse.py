"""What a file says: the parser cases that ochat pins, and where we do better."""

from __future__ import annotations

import pytest

from whence.chatmd.parse import parse
from whence.shapes.document import (
    Comment,
    Document,
    Element,
    Message,
    Node,
    Reasoning,
    Stray,
    Text,
    ToolCall,
    ToolResponse,
    places,
)


def nodes(text: str) -> list[Node]:
    return list(parse(text).nodes)


def only(text: str) -> Element:
    (node,) = nodes(text)
    assert isinstance(node, Element)
    return node


def codes(document: Document) -> list[str]:
    return [found.code for found in document.diagnostics]


DOC = Element("doc")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("<msg></msg>", Element("msg")),
        ("<msg>Hello > < world</msg>", Element("msg", {}, (Text("Hello > < world"),))),
        ("<tool />", Element("tool")),
        ("<tool_call></tool_call>", Element("tool_call")),
        ("<tool_response></tool_response>", Element("tool_response")),
        (
            '<script language="chatml" kind="moderator">let x = 1</script>',
            Element("script", {"language": "chatml", "kind": "moderator"}, (Text("let x = 1"),)),
        ),
        (
            '<script language="chatml" kind="moderator" src="m.chatml"/>',
            Element("script", {"language": "chatml", "kind": "moderator", "src": "m.chatml"}),
        ),
        (
            "<reasoning><summary>why</summary></reasoning>",
            Element("reasoning", {}, (Element("summary", {}, (Text("why"),)),)),
        ),
        ("<summary>hello</summary>", Element("summary", {}, (Text("hello"),))),
        (
            "<msg><yo/><doc/><yo><doc/></yo><doc/></msg>",
            Element("msg", {}, (Text("<yo/>"), DOC, Text("<yo>"), DOC, Text("</yo>"), DOC)),
        ),
        (
            '<img src="a.png" alt="wide \n icon" local/>',
            Element("img", {"src": "a.png", "alt": "wide \n icon", "local": None}),
        ),
        (
            '<img src="a.png" alt="a \\"wide\\" icon"/>',
            Element("img", {"src": "a.png", "alt": 'a \\"wide\\" icon'}),
        ),
        (
            '<system>RAW|<doc src="./a.txt" />|RAW</system>',
            Element("system", {}, (Text('<doc src="./a.txt" />'),)),
        ),
        (
            "<user> It can do this. So: RAW| <doc/> |RAW will stay</user>",
            Element("user", {}, (Text(" It can do this. So:  <doc/>  will stay"),)),
        ),
    ],
)
def test_the_pinned_cases_of_ochat_give_the_same_tree(text: str, tree: Element) -> None:
    assert only(text) == tree


def test_a_quote_that_is_never_closed_is_named_with_its_place() -> None:
    """Improves on ochat, which fails with an offset inside the tag and reads nothing else."""
    document = parse('<user>one</user>\n<img src="a.png" alt="wide icon local/>\n<user>two</user>')

    (found,) = [one for one in document.errors if one.code == "unclosed-quote"]
    assert found.message == 'The value of alt in <img is never closed (expected ").'
    assert (found.line, found.column) == (2, 18)
    assert found.source_line == '<img src="a.png" alt="wide icon local/>'
    assert [item.text for item in document.items() if isinstance(item, Message)] == ["one", "two"]


def test_text_at_the_top_level_is_an_error_and_reading_goes_on() -> None:
    """Improves on ochat, which fails with the same words and stops."""
    document = parse("plain\n<user>hi</user>")

    assert list(document.nodes) == [Stray("plain\n"), Element("user", {}, (Text("hi"),))]
    assert document.errors[0].message == 'Unexpected text at top level: "plain".'


def test_an_unknown_element_at_the_top_level_is_an_error_with_what_was_meant() -> None:
    assert nodes("<yo/>") == [Stray("<yo/>")]
    (found,) = parse("<usr>hi</usr>").diagnostics
    assert found.code == "unknown-element"
    assert found.suggestion == "Did you mean <user>?"


def test_parsing_leaves_no_state_behind() -> None:
    parse("<user>RAW|")
    parse("<user><!--")

    assert only("<user>RAW|a|RAW<!-- c --></user>").text == "a"


@pytest.mark.parametrize(
    "text",
    [
        "a < b && c > d",
        'i<n && s="a>b"',
        '<a title="x > y">link</a>',
        "it's 5\" wide and 6' long",
        "STRAW| DRAW| éRAW| _RAW| 9RAW|",
        "<<<<< not a tag",
        "x <user",
        "</ user> </assistant> </usr> < user>",
        "<doc-string> <document src='x'/> <img2> <user.name>",
        "```xml\n<tag attr='1'>\n```",
        "generic List<String> and Map<K, V>",
        "a </user foo> b",
        "one | two || three |",
        "&lt;user&gt; &amp; &nbsp; & ;",
        "<doc and <img in prose, <agent too",
        "RAW and RA W| and raw|",
    ],
)
def test_prose_and_code_are_one_text(text: str) -> None:
    document = parse(f"<user>{text}</user>")

    (element,) = document.nodes
    assert isinstance(element, Element)
    assert element.parts == (Text(text),)
    assert document.diagnostics[:] == ()


def test_a_bigger_sign_inside_a_quoted_value_does_not_end_the_tag() -> None:
    element = only('<tool name="x" command="awk \'$1 > 3\'" description=\'a "b" > c\'/>')

    assert element.get("command") == "awk '$1 > 3'"
    assert element.get("description") == 'a "b" > c'


def test_entities_are_decoded_in_quoted_values_and_nowhere_else() -> None:
    element = only(
        "<user name='&lt;&gt;&amp;&quot;&apos;&#92;&#x41;&foo; & &lt' id=&amp;>&amp;</user>"
    )

    assert element.get("name") == "<>&\"'\\A&foo; & &lt"
    assert element.get("id") == "&amp;"
    assert element.text == "&amp;"


def test_a_tag_may_stand_on_several_lines_with_all_kinds_of_values() -> None:
    element = only("<tool\n  name = 'a'\n  local\n\tcommand=ls/-l\n/>")

    assert element.attributes == {"name": "a", "local": None, "command": "ls/-l"}


@pytest.mark.parametrize(
    ("written", "set_"),
    [
        ("local", True),
        ("local=true", True),
        ('local=""', True),
        ('local="yes"', True),
        ("local='1'", True),
        ('local="false"', False),
        ('local="No"', False),
        ("local=off", False),
        ('local=" 0 "', False),
        ("", False),
    ],
)
def test_a_flag_means_what_its_value_says(written: str, set_: bool) -> None:
    document = parse(f'<user><doc src="a" {written}/></user>')

    (doc,) = next(document.tagged("user")).children
    assert doc.flag("local") is set_
    assert not document.errors


def test_a_flag_with_a_value_that_is_neither_yes_nor_no_is_an_error() -> None:
    assert codes(parse('<user><doc src="a" local="perhaps"/></user>')) == ["not-a-flag"]


def test_closing_tags_may_contain_white_space() -> None:
    assert only("<user>hi</user \n>").text == "hi"


def test_comments_are_left_out_of_text_and_kept_at_the_top_level() -> None:
    document = parse("<!-- one --><user>a<!-- </user> <doc/> -->b</user>\n<!---->")

    assert next(document.tagged("user")).parts == (Text("ab"),)
    assert document.nodes[::2] == (Comment(" one "), Comment(""))
    assert codes(document) == ["comment-hides-tag"]


def test_white_space_around_a_raw_block_is_layout_and_inside_it_is_text() -> None:
    """Improves on ochat, which keeps the white space behind a block as text."""
    assert only("<user>\n  RAW| a \n|RAW\n</user>").text == " a \n"
    assert only("<user>\n x RAW|a|RAW\n</user>").text == "\n x a"
    assert only("<user>RAW|a|RAW b \n</user>").text == "a b \n"
    assert only("<user>RAW|a|RAW\n RAW|b|RAW</user>").text == "ab"


def test_white_space_in_text_is_kept_exactly() -> None:
    assert only("<user>\n\n  a\t \r\n</user>").text == "\n\n  a\t \r\n"


def test_tags_of_the_closed_set_are_text_where_they_mean_nothing() -> None:
    """Improves on ochat, which drops such elements from the text."""
    document = parse("<user>use <config model='x'/> and <tool> and <user> here</user>")

    assert (
        next(document.tagged("user")).text == "use <config model='x'/> and <tool> and <user> here"
    )
    assert codes(document) == []


def test_an_element_that_begins_a_line_inside_another_is_text_with_a_warning() -> None:
    document = parse("<user>\nfor example:\n<system>be brief</system>\n</user>")

    assert len(document.nodes) == 1
    assert codes(document) == ["nested-element"]


def test_a_missing_closing_tag_does_not_swallow_the_rest() -> None:
    document = parse("<user>one\n<assistant>two</assistant>\n<user>three</user>\n")

    assert [(m.role, m.text) for m in document.items() if isinstance(m, Message)] == [
        ("user", "one\n"),
        ("assistant", "two"),
        ("user", "three"),
    ]
    (found,) = document.errors
    assert (found.code, found.line) == ("unclosed-element", 1)


def test_elements_behind_a_missing_closing_tag_are_read_from_their_beginning() -> None:
    text = '<user>one\n<assistant>see <doc src="x"/> or</assistant>\n<user>two</user>'
    document = parse(text)

    assert [node.tag for node in document.nodes if isinstance(node, Element)] == [
        "user",
        "assistant",
        "user",
    ]
    assert [child.tag for child in next(document.tagged("assistant")).children] == ["doc"]


def test_a_missing_quote_does_not_swallow_the_next_element() -> None:
    document = parse('<user name="x>hi</user>\n<assistant name="y">ho</assistant>')

    assert [m.text for m in document.items() if isinstance(m, Message)] == ["hi", "ho"]
    assert codes(document) == ["unclosed-quote"]


@pytest.mark.parametrize(
    "doc", ['<doc src="a" local>', '<doc src="a" local></doc>', '<doc src="a" local/>']
)
def test_an_unclosed_doc_as_ochat_wrote_it_is_a_doc(doc: str) -> None:
    text = (
        '<tool_call tool_call_id="c" function_name="f" id="1">\n\t' + doc + "\n</tool_call>\n"
        '<tool_response tool_call_id="c" id="2">\tRAW|x\n\t\ty\t|RAW</tool_response>'
    )
    document = parse(text)
    call, response = document.items()

    assert isinstance(call, ToolCall)
    assert call.stored == "a"
    assert isinstance(response, ToolResponse)
    assert response.text == "x\n\t\ty\t"
    assert codes(document) == []


def test_words_behind_an_unclosed_doc_belong_to_the_message() -> None:
    element = only('<user><doc src="a">words</doc> <doc src="b"></doc x></user>')

    assert [
        part.get("src") if isinstance(part, Element) else part.text for part in element.parts
    ] == [
        "a",
        "words</doc> ",
        "b",
        "</doc x>",
    ]


def test_an_agent_holds_its_input_and_agents_nest() -> None:
    element = only(
        '<user><agent src="a">do <agent src="b" local/> and <doc src="c"></agent>!</user>'
    )

    agent, after = element.parts
    assert isinstance(agent, Element)
    assert [part.tag if isinstance(part, Element) else part.text for part in agent.parts] == [
        "do ",
        "agent",
        " and ",
        "doc",
    ]
    assert after == Text("!")


def test_a_tool_holds_parameters_and_roots() -> None:
    element = only(
        '<tool name="grep" command="grep">\n'
        '  <param name="pattern" type="string" required/>\n'
        '  <!-- where -->\n  <read id="docs" path="docs" description="manuals"/>\n</tool>'
    )

    assert [(child.tag, child.get("name") or child.get("id")) for child in element.children] == [
        ("param", "pattern"),
        ("read", "docs"),
    ]
    assert element.children[0].flag("required")


def test_the_conversation_is_made_of_messages_calls_responses_and_reasoning() -> None:
    document = parse(
        "<system>be brief</system>\n"
        '<msg role="user" name="ann">hello <img src="a.png" local/></msg>\n'
        '<reasoning id="r1" encrypted="gAA="><summary>first</summary>\n'
        "<summary>RAW|second|RAW</summary></reasoning>\n"
        '<tool_call tool_call_id="c1" function_name="read" id="fc1">RAW|{"a": 1}|RAW</tool_call>\n'
        '<msg role="tool" tool_call_id="c1">done</msg>\n'
        '<tool_call type="custom_tool_call" tool_call_id="c2" function_name="patch">x</tool_call>\n'
        '<tool_response type="custom_tool_call" tool_call_id="c2" id="7">ok</tool_response>\n'
        '<assistant id="m1" status="completed" phase="final">bye</assistant>\n'
    )

    assert list(document.items()) == [
        Message("system", (Text("be brief"),)),
        Message(
            "user", (Text("hello "), Element("img", {"src": "a.png", "local": None})), name="ann"
        ),
        Reasoning("r1", ("first", "second"), encrypted="gAA="),
        ToolCall("c1", "read", (Text('{"a": 1}'),), "fc1"),
        ToolResponse("c1", (Text("done"),)),
        ToolCall("c2", "patch", (Text("x"),), custom=True),
        ToolResponse("c2", (Text("ok"),), "7", custom=True),
        Message("assistant", (Text("bye"),), "m1", "completed", "final"),
    ]
    assert codes(document) == []


def test_bare_text_in_reasoning_is_a_summary() -> None:
    (item,) = parse("<reasoning id='r'>\n thinking \n<summary>x</summary></reasoning>").items()

    assert isinstance(item, Reasoning)
    assert item.summaries == ("thinking", "x")


def test_the_first_config_counts() -> None:
    config = parse('<config model="a"/><config model="b"/>').config

    assert config is not None
    assert config.get("model") == "a"
    assert parse("<user>hi</user>").config is None


def test_a_blank_user_block_is_known_as_such() -> None:
    one, two = parse("<user>\n\n</user><user> <doc src='x'/></user>").items()

    assert isinstance(one, Message)
    assert one.blank
    assert isinstance(two, Message)
    assert not two.blank


def test_nodes_know_their_spans_and_lines() -> None:
    source = "\ufeff<config/>\r\n<user>é <doc src='x'/></user>\n".encode()
    document = parse(source)
    config, user = document.nodes

    assert source[slice(*config.span)] == b"<config/>"
    assert isinstance(user, Element)
    assert user.body is not None
    assert source[slice(*user.body)] == "é <doc src='x'/>".encode()
    assert source[slice(*user.children[0].span)] == b"<doc src='x'/>"
    first, second = places(source, (config.span.start, user.children[0].span.start))
    assert first[:2] == (1, 1)
    assert second == (2, 9, "<user>é <doc src='x'/></user>")
    assert document.diagnostics[:] == ()


def test_nodes_are_a_sequence() -> None:
    document = parse("<user>a</user><user>b</user><!--c-->")

    assert len(document.nodes) == 3
    assert document.nodes[-1] == Comment("c")
    assert document.nodes[:2] == (document.nodes[0], document.nodes[1])
    with pytest.raises(IndexError):
        document.nodes[3]
    assert repr(document) == "Document(36 bytes, 3 nodes)"


def test_a_file_may_be_empty() -> None:
    assert nodes("") == nodes(" \n\t\ufeff"[:3]) == []
    assert parse(b"\xef\xbb\xbf").diagnostics[:] == ()


def test_elements_that_hold_others_are_found_among_those_that_do_not() -> None:
    document = parse(
        '<user>a</user><user>b<img src="c"/></user><user>RAW|d|RAW</user>'
        '<assistant><doc src="e"/></assistant><system><doc src="f">g</doc></system>'
    )

    assert [one.children[0].get("src") for one in document.holding("user", "system")] == ["c", "f"]
