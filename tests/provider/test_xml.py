"""Calls as tags in text: what is a call, what is only text, and what the arguments are."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.provider.sample_tools import toolbox
from tests.provider.streaming import chunk, run
from whence.errors import InvalidArgs
from whence.provider.arguments import call_with, make_call
from whence.provider.exchange import Completion, ToolDefinition
from whence.provider.openai_chat import ChatAssembler
from whence.provider.stream import CallDelta, ItemDone, TextDelta
from whence.provider.xml import (
    ToolProtocol,
    XmlCallReader,
    as_text,
    definitions_of,
    detect_tool_protocol,
    from_text,
    read_text,
    render_call,
    render_prompt,
    resolve_tool_protocol,
)
from whence.provider.xml_answer import XmlAssembler, with_text_calls
from whence.shapes.item import (
    Image,
    Inline,
    Item,
    Message,
    Reasoning,
    StopReason,
    Text,
    ToolCall,
    ToolOutcome,
)


def tool(name: str, **properties: Any) -> ToolDefinition:
    return ToolDefinition(name, f"Does {name}.", {"type": "object", "properties": properties})


STRING = {"type": "string"}
TOOLS = definitions_of(
    [
        tool("read_file", path=STRING, limit={"type": "integer"}),
        tool("write_to_file", path=STRING, content=STRING),
        tool(
            "mixed",
            flag={"type": "boolean"},
            ratio={"type": "number"},
            items={"type": "array", "items": {"type": "string"}},
            options={"type": "object"},
            maybe={"type": ["string", "null"]},
            anything={},
            word={"enum": ["a", "b"]},
            level={"enum": [1, 2]},
        ),
        tool("ping"),
    ]
)


def read(text: str) -> list[Any]:
    """Words as strings and calls as pairs, the same however the text is cut."""
    items = read_text(text, TOOLS)
    for size in (1, 2, 3, 7):
        reader = XmlCallReader(TOOLS)
        deltas = [d for at in range(0, len(text), size) for d in reader.feed(text[at : at + size])]
        rest, streamed = reader.finish()
        assert streamed == items
        shown = "".join(d.text for d in deltas + rest if isinstance(d, TextDelta))
        assert shown == "".join(item.text for item in items if isinstance(item, Message))
    return [brief(item) for item in items]


def brief(item: Item) -> Any:
    if isinstance(item, ToolCall):
        return (item.name, item.arguments)
    assert isinstance(item, Message)
    return item.text


def test_a_call_stands_between_words() -> None:
    text = "Let me look.\n<read_file>\n<path>src/a.py</path>\n</read_file>\nThen more."

    assert read(text) == ["Let me look.", ("read_file", {"path": "src/a.py"}), "Then more."]


def test_a_call_has_no_id_and_keeps_what_the_model_wrote() -> None:
    source = "<read_file>\n<path> x </path></read_file>"
    (call,) = read_text(source, TOOLS)

    assert isinstance(call, ToolCall)
    assert (call.id, call.text) == ("", '{"path":" x "}')
    assert render_call(call, TOOLS) == source


@pytest.mark.parametrize("text", ["<ping></ping>", "<ping>\n</ping>", "<ping/>", "<ping />"])
def test_a_call_may_have_no_arguments(text: str) -> None:
    assert read(text) == [("ping", {})]


def test_several_calls_may_follow_one_another() -> None:
    assert read("<ping/>\n<read_file><path>x</path></read_file><ping/>") == [
        ("ping", {}),
        ("read_file", {"path": "x"}),
        ("ping", {}),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```xml\n<read_file>\n<path>x</path>\n</read_file>\n```",
        "```\n<ping/>\n```",
        "~~~~\n```\n<ping/>\n```\n~~~~",
        "Use:\n   ```python\n<ping/>\n   ```\nlike that",
        "Write `<ping/>` to ping.",
        "Write ``a ` <ping/> b`` here.",
        "```\n<ping/> in a fence that never ends",
        "I would use the <read_file> tool for that.",
        "A <not_a_tool><path>x</path></not_a_tool> is nothing.",
        "a < b, <, <<read_file, <read_files><path>x</path></read_files>",
        "<read_file path='x'/>",
        "</read_file>",
    ],
)
def test_examples_and_unknown_tags_are_words(text: str) -> None:
    assert read(text) == [text]


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("```\nx\n```\n<ping/>", "```\nx\n```"),
        ("It's a ` tick\n<ping/>", "It's a ` tick"),
        ("A lone ` before <ping/>", "A lone ` before "),
        ("`code` and <ping/>", "`code` and "),
    ],
)
def test_a_call_behind_code_is_a_call(text: str, before: str) -> None:
    assert read(text) == [before, ("ping", {})]


def written(content: str) -> str:
    return f"<write_to_file>\n<path>a</path>\n<content>{content}</content>\n</write_to_file>"


@pytest.mark.parametrize(
    "content",
    [
        "x</content>y",
        "<content>inner</content>",
        "x</content>\n<path>evil</path>\ny",
        "x</content>\n</write_to_file>\ny",
        "</content>",
        "</write_to_file>",
        "use <write_to_file> like this",
        "```\n<read_file><path>x</path></read_file>\n```",
        "<read_file>\n<path>x</path>\n</read_file>",
        "one " + written("b") + " two " + written("c") + " end",
        "if a < b && c > d: <div>&lt;</div>",
    ],
)
def test_a_parameter_may_contain_any_tags(content: str) -> None:
    assert read(written(content)) == [("write_to_file", {"path": "a", "content": content})]


def test_a_tag_that_only_opens_in_an_argument_does_not_swallow_the_next_call() -> None:
    assert read(written("use <write_to_file>") + "\n" + written("b")) == [
        ("write_to_file", {"path": "a", "content": "use <write_to_file>"}),
        ("write_to_file", {"path": "a", "content": "b"}),
    ]


def test_closing_tags_in_code_behind_a_call_are_words() -> None:
    assert read(written("x") + "\nIt ends with `</content></write_to_file>`.") == [
        ("write_to_file", {"path": "a", "content": "x"}),
        "It ends with `</content></write_to_file>`.",
    ]


def test_text_in_a_cdata_section_is_taken_as_it_is() -> None:
    hard = "a]]]]><![CDATA[></content></write_to_file>\n"

    assert read(written(f"<![CDATA[{hard}]]>")) == [
        ("write_to_file", {"path": "a", "content": "a]]></content></write_to_file>\n"})
    ]


@pytest.mark.parametrize(
    ("inside", "value"),
    [
        ("x", "x"),
        (" x ", " x "),
        ("\nx\n", "x"),
        ("\n  x\n\n", "  x\n"),
        ("x\n", "x\n"),
        ("\r\nx\r\n", "x"),
        ("", ""),
        ("&lt;b&gt; &amp;", "&lt;b&gt; &amp;"),
    ],
)
def test_text_is_taken_as_it_is_less_the_line_breaks_at_its_tags(inside: str, value: str) -> None:
    assert read(written(inside))[0][1]["content"] == value


@pytest.mark.parametrize(
    ("name", "inside", "value"),
    [
        ("flag", "true", True),
        ("flag", " False\n", False),
        ("flag", "perhaps", "perhaps"),
        ("ratio", "2", 2),
        ("ratio", "\n2.5\n", 2.5),
        ("ratio", "2,5", "2,5"),
        ("items", '["a", "b"]', ["a", "b"]),
        ("items", "\n[\n]\n", []),
        ("items", "a, b", "a, b"),
        ("options", '{"deep": [null]}', {"deep": [None]}),
        ("maybe", "null", None),
        ("maybe", "5", "5"),
        ("maybe", "<![CDATA[null]]>", "null"),
        ("anything", "5", 5),
        ("anything", "five", "five"),
        ("word", "a", "a"),
        ("level", "2", 2),
    ],
)
def test_an_argument_has_the_type_that_the_schema_says(name: str, inside: str, value: Any) -> None:
    assert read(f"<mixed><{name}>{inside}</{name}></mixed>") == [("mixed", {name: value})]


def test_a_parameter_that_the_tool_does_not_have_is_kept_for_the_gate_to_refuse() -> None:
    assert read("<read_file><pth>x</pth></read_file>") == [("read_file", {"pth": "x"})]
    assert read("<read_file><path>x</path><lines>1</lines></read_file>") == [
        ("read_file", {"path": "x", "lines": "1"})
    ]


def test_a_call_that_is_not_closed_is_never_run() -> None:
    *_, call = read_text("Hi\n<write_to_file><path>a</path><content>half", TOOLS)

    assert isinstance(call, ToolCall)
    assert call.arguments is None
    assert "</write_to_file>" in call.problem
    assert call.problem.endswith(f"at character {len(call.text)}")


def test_a_call_with_something_else_between_its_parameters_is_never_run() -> None:
    first, words, second = read_text("<read_file><path>x</path> oh </read_file> and <ping/>", TOOLS)

    assert isinstance(first, ToolCall)
    assert (first.arguments, first.text) == (None, "<read_file><path>x</path> oh </read_file>")
    assert brief(words) == " and "
    assert brief(second) == ("ping", {})


def test_the_last_call_of_an_answer_that_was_cut_off_is_never_run() -> None:
    reader = XmlCallReader(TOOLS)
    reader.feed("<ping/>" + written("half</content></write_to_file> of it"))
    first, last = reader.finish(cut=True)[1]

    assert brief(first) == ("ping", {})
    assert isinstance(last, ToolCall)
    assert last.arguments is None


def test_words_are_shown_as_they_come_and_a_call_while_it_is_written() -> None:
    reader = XmlCallReader(TOOLS)

    assert reader.feed("Let me ") == [TextDelta("Let me ")]
    assert reader.feed("see <re") == [TextDelta("see ")]
    assert reader.feed("ady>") == [TextDelta("<ready>")]
    assert reader.feed("\n<read_file><pa") == []
    assert reader.feed("th>x") == [CallDelta(0, "read_file", "")]
    assert reader.feed("</path></read_file>") == [CallDelta(0, "read_file", "</path></read_file>")]
    deltas, items = reader.finish()
    assert deltas == [ItemDone(items[1])]


def test_a_call_is_given_out_as_soon_as_the_next_one_begins() -> None:
    reader = XmlCallReader(TOOLS)
    deltas = reader.feed("<read_file><path>x</path></read_file>\n<ping/>")

    assert [brief(d.item) for d in deltas if isinstance(d, ItemDone)] == [
        ("read_file", {"path": "x"}),
        ("ping", {}),
    ]


def test_hostile_text_takes_no_endless_time() -> None:
    noise = "</content><path>x</path>" * 2000 + "<write_to_file>" * 500

    read_text(written(noise), TOOLS)
    read_text("<" * 20_000 + "`" * 20_000, TOOLS)


def test_the_prompt_shows_every_tool_with_its_reason_and_the_form_of_a_call() -> None:
    prompt = render_prompt(definitions_of(toolbox()))

    assert "## fs_read\nRead a file" in prompt
    assert "- why (string, required): One sentence: what this call is meant to achieve." in prompt
    assert "- path (string, required): The file." in prompt
    assert '- mode (one of "append", "new", optional)' in prompt
    assert "<fs_write>\n<why>…</why>\n<path>…</path>\n<content>…</content>\n</fs_write>" in prompt
    assert render_prompt({}) == ""


def test_the_form_that_the_prompt_shows_is_one_that_is_understood() -> None:
    tools = definitions_of(toolbox())
    shown = "<fs_read>\n<why>…</why>\n<path>…</path>\n</fs_read>"

    assert shown in render_prompt(tools)
    assert brief(read_text(shown, tools)[0]) == ("fs_read", {"why": "…", "path": "…"})


NATIVE = call_with("call_1", "ping", {})
IN_TEXT = call_with("", "ping", {})


@pytest.mark.parametrize(
    ("locked", "history", "protocol"),
    [
        (None, [], ToolProtocol.NATIVE),
        (None, [Message.of("user", "Hi")], ToolProtocol.NATIVE),
        (None, [NATIVE], ToolProtocol.NATIVE),
        (None, [IN_TEXT], ToolProtocol.XML),
        (None, [NATIVE, IN_TEXT], ToolProtocol.XML),
        (None, [IN_TEXT, Message.of("user", "Hi"), NATIVE], ToolProtocol.NATIVE),
        ("xml", [NATIVE], ToolProtocol.XML),
        (ToolProtocol.NATIVE, [IN_TEXT], ToolProtocol.NATIVE),
    ],
)
def test_a_conversation_keeps_its_protocol(
    locked: Any, history: list[Item], protocol: ToolProtocol
) -> None:
    assert resolve_tool_protocol(locked, history) is protocol


def test_calls_in_the_words_of_a_history_are_seen_when_the_tools_are_known() -> None:
    history = [Message.of("assistant", "I ping.\n<ping></ping>"), Message.of("user", "pong")]

    assert detect_tool_protocol(history) is None
    assert detect_tool_protocol(history, TOOLS) is ToolProtocol.XML
    assert detect_tool_protocol([Message.of("assistant", "`<ping/>`")], TOOLS) is None


def test_a_lock_that_is_no_protocol_is_refused() -> None:
    with pytest.raises(InvalidArgs, match="yaml"):
        resolve_tool_protocol("yaml")


def test_calls_and_outcomes_become_words_and_what_is_lost_is_reported() -> None:
    items: list[Item] = [
        Message.of("assistant", "Let me look."),
        call_with("call_1", "read_file", {"path": "x", "limit": 3}),
        ToolOutcome("call_1", (Text("gone"),), is_error=True, name="read_file"),
        ToolOutcome("call_2", (Image(Inline("image/png", "AA==")),), name="shot"),
    ]
    said, losses = as_text(items, TOOLS)

    assert said == (
        Message.of(
            "assistant",
            "Let me look.\n<read_file>\n<path>x</path>\n<limit>3</limit>\n</read_file>",
        ),
        Message(
            "user",
            (
                Text('<tool_result name="read_file" error="true">\ngone\n</tool_result>'),
                Text('<tool_result name="shot">'),
                Image(Inline("image/png", "AA==")),
                Text("</tool_result>"),
            ),
        ),
    )
    assert {loss.what for loss in losses} == {"id 'call_1'", "id 'call_2'"}


def test_a_broken_call_goes_back_as_the_model_wrote_it() -> None:
    (said,) = as_text([make_call("", "read_file", "<read_file><path>")], TOOLS)[0]

    assert said == Message.of("assistant", "<read_file><path>")


tags = ["</content>", "<content>", "<write_to_file>", "</write_to_file>", "<path>", "</path>"]
nasty = st.lists(
    st.sampled_from(
        [*tags, "<![CDATA[", "]]>", "\n", "\r", " ", "null", "5", "x", "é", "`", "```"]
    ),
    max_size=8,
).map("".join)
calls = st.one_of(
    st.builds(lambda p, c: call_with("", "write_to_file", {"path": p, "content": c}), nasty, nasty),
    st.builds(
        lambda flag, items, maybe, anything: call_with(
            "", "mixed", {"flag": flag, "items": items, "maybe": maybe, "anything": anything}
        ),
        st.booleans(),
        st.lists(nasty, max_size=2),
        st.none() | nasty,
        st.none() | nasty | st.integers() | st.dictionaries(nasty, nasty, max_size=2),
    ),
    st.just(IN_TEXT),
)
prose = st.text("ab <>\n.", min_size=1, max_size=12).filter(lambda text: text.strip() != "")
results = nasty.filter(bool).map(lambda text: (Text(text),))
turns: st.SearchStrategy[list[Item]] = st.one_of(
    calls.map(lambda call: [call]),
    st.tuples(prose, calls).map(lambda both: [Message.of("assistant", both[0]), both[1]]),
    st.builds(
        lambda parts, bad: [ToolOutcome("", parts, bad, name="ping")], results, st.booleans()
    ),
    prose.map(lambda text: [Message.of("user", text)]),
)


@settings(deadline=None, max_examples=120)
@given(st.lists(turns, max_size=4).map(lambda lists: [item for one in lists for item in one]))
def test_a_conversation_in_words_is_read_back_as_it_was(items: list[Item]) -> None:
    said = as_text(items, TOOLS)[0]

    assert [bare(item) for item in from_text(said, TOOLS)] == [bare(item) for item in items]


def bare(item: Item) -> Any:
    if isinstance(item, ToolCall):
        return (item.name, item.arguments)
    return item


soup = st.lists(
    st.sampled_from([*tags, "<ping/>", "<ping>", "</ping>", "<read_file>", "</read_file>", "x"])
    | st.sampled_from(["`", "```", "\n", " ", "<![CDATA[", "]]>", "<", "</", ">"]),
    max_size=20,
).map("".join)
said = st.lists(prose | calls.map(lambda call: render_call(call, TOOLS)), max_size=5).map("\n".join)


@settings(deadline=None, max_examples=150)
@given(said | soup)
def test_reading_does_not_depend_on_how_the_text_is_cut(text: str) -> None:
    whole = read_text(text, TOOLS)
    reader = XmlCallReader(TOOLS)
    chance = random.Random(len(text))
    at = 0
    while at < len(text):
        size = chance.randint(1, 5)
        reader.feed(text[at : at + size])
        at += size

    assert reader.finish()[1] == whole


def test_calls_are_read_out_of_any_providers_stream() -> None:
    events = [
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "Hi\n<read_"}),
        chunk({"content": "file><path>x</path></read_file>"}),
        chunk({}, "stop"),
    ]
    deltas, completion = run(XmlAssembler(ChatAssembler(), TOOLS), events)

    assert [type(item) for item in completion.items] == [Reasoning, Message, ToolCall]
    assert completion.stop is StopReason.CALLS
    assert completion.text == "Hi"
    done = [d.item for d in deltas if isinstance(d, ItemDone)]
    assert sorted(map(repr, done)) == sorted(map(repr, completion.items))


def test_no_call_is_read_as_whole_from_a_stream_that_broke_off() -> None:
    events = [chunk({"content": "<read_file><path>x</path></read_file>"})]
    completion = run(XmlAssembler(ChatAssembler(), TOOLS), events)[1]

    assert completion.stop is StopReason.CUT
    assert completion.calls[0].arguments is None


def test_calls_are_read_out_of_an_answer_in_one_piece() -> None:
    answer = Completion((Message.of("assistant", "Hi\n<ping/>"),), StopReason.END)
    completion = with_text_calls(answer, TOOLS)

    assert [brief(item) for item in completion.items] == ["Hi", ("ping", {})]
    assert completion.stop is StopReason.CALLS


def test_choices_and_references_in_a_schema_say_the_type() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Flag"}]},
            "b": {"$ref": "#/$defs/Loop"},
        },
        "$defs": {"Flag": {"type": "boolean"}, "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}},
    }
    tools = definitions_of([ToolDefinition("t", "", schema)])

    assert brief(read_text("<t><a>5</a></t>", tools)[0]) == ("t", {"a": 5})
    assert brief(read_text("<t><a>true</a><b>x</b></t>", tools)[0]) == ("t", {"a": True, "b": "x"})


def test_the_prompt_shows_the_form_of_lists_and_objects() -> None:
    prompt = render_prompt(TOOLS)

    assert (
        '- items (JSON of the form {"type":"array","items":{"type":"string"}}, optional)' in prompt
    )
    assert "- anything (any JSON value, optional)" in prompt
    assert "- maybe (null or string, optional)" in prompt


def test_outcomes_with_pictures_are_read_back() -> None:
    picture = Image(Inline("image/png", "AA=="))
    outcome = ToolOutcome("", (Text("see"), picture), name="shot")
    said = as_text([outcome, Message.of("user", "so?")], TOOLS)[0]

    assert from_text(said, TOOLS) == (outcome, Message.of("user", "so?"))


def test_what_only_begins_like_an_outcome_is_the_users_own_text() -> None:
    message = Message("user", (Text('<tool_result name="x">'), Text("no end")))

    assert from_text([message], TOOLS) == (message,)
