"""Tools, calls and results in the words of MCP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.provider.cassette_tape import CASSETTES, interactions
from tests.provider.sample_tools import toolbox
from whence.errors import ParseError
from whence.provider import mcp_sampling, mcp_tools
from whence.provider.arguments import call_with, make_call
from whence.provider.exchange import Completion, ToolChoice, ToolDefinition
from whence.provider.sse import SseReader
from whence.shapes.item import (
    File,
    Image,
    Inline,
    Link,
    Message,
    Native,
    Reasoning,
    Refusal,
    StopReason,
    Stored,
    Text,
    ToolOutcome,
    Usage,
)


def test_a_served_tool_takes_a_reason_and_does_not_demand_it() -> None:
    mounted = toolbox().find("fs.write")
    assert mounted is not None
    served = mcp_tools.encode_tool(mounted)

    assert served["name"] == "fs_write"
    assert next(iter(served["inputSchema"]["properties"])) == "why"
    assert served["inputSchema"]["required"] == ["path", "content"]
    assert served["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "openWorldHint": False,
    }
    assert mcp_tools.encode_tool(mounted, require_why=True)["inputSchema"]["required"][0] == "why"


def test_a_listed_tool_is_the_same_both_ways() -> None:
    tool = {
        "name": "look",
        "title": "Look",
        "description": "Look at it.",
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"a": 1},
    }
    (definition,) = mcp_tools.decode_tools([tool])

    assert definition.name == "look"
    assert definition.output_schema == {"type": "object"}
    assert mcp_tools.encode_tool(definition) == tool


def test_a_tool_without_a_schema_takes_an_object() -> None:
    assert mcp_tools.decode_tools([{"name": "x"}]) == (ToolDefinition("x", "", {"type": "object"}),)


RESULT: dict[str, Any] = {
    "content": [
        {"type": "text", "text": "see", "annotations": {"audience": ["user"]}},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
        {
            "type": "resource_link",
            "uri": "file:///a.txt",
            "name": "a.txt",
            "mimeType": "text/plain",
        },
        {"type": "resource", "resource": {"uri": "file:///b.txt", "text": "words"}},
        {"type": "resource", "resource": {"uri": "file:///c.bin", "blob": "AA=="}},
        {"type": "hologram", "data": 1},
    ],
    "structuredContent": {"n": 1},
    "isError": True,
    "_meta": {"took": 3},
}


def test_a_result_is_the_same_both_ways() -> None:
    outcome = mcp_tools.decode_result(RESULT, "call_1", "look")

    assert (outcome.call_id, outcome.name, outcome.is_error) == ("call_1", "look", True)
    assert outcome.structured == {"n": 1}
    assert mcp_tools.encode_result(outcome) == (RESULT, ())


def test_a_model_reads_resources_as_words_and_sees_pictures() -> None:
    outcome = mcp_tools.decode_result(RESULT, "call_1")

    assert outcome.text == "seea.txt: file:///a.txtwords"
    assert Image(Inline("image/png", "AA==")) in outcome.parts


def test_structured_content_is_repeated_as_text_for_clients_that_read_only_that() -> None:
    result, losses = mcp_tools.encode_result(ToolOutcome("a", (), structured={"n": 1}))

    assert result["content"] == [{"type": "text", "text": '{"n":1}'}]
    assert result["structuredContent"] == {"n": 1}
    assert losses == ()


def test_structured_content_that_is_no_object_is_put_into_one_and_reported() -> None:
    result, losses = mcp_tools.encode_result(ToolOutcome("a", (Text("[1]"),), structured=[1]))

    assert result["structuredContent"] == {"result": [1]}
    assert losses[0].fate == "changed"


def test_a_stored_file_leaves_a_remark_and_a_report() -> None:
    result, losses = mcp_tools.encode_result(ToolOutcome("a", (File(Stored("file-1")),)))

    assert result["content"][0]["text"] == "[document not shown]"
    assert losses[0].fate == "dropped"


@pytest.mark.parametrize("key", ["arguments", "args"])
def test_a_call_is_read_with_arguments_or_args(key: str) -> None:
    call = mcp_tools.decode_call({"name": "look", key: {"q": 1}, "_meta": {"why": "x"}}, "7")

    assert (call.id, call.name, call.arguments) == ("7", "look", {"q": 1})
    assert call.native == Native("mcp", {"_meta": {"why": "x"}})
    assert mcp_tools.encode_call(call) == {
        "name": "look",
        "arguments": {"q": 1},
        "_meta": {"why": "x"},
    }


def test_a_call_may_have_no_arguments_at_all() -> None:
    assert mcp_tools.decode_call({"name": "look", "arguments": None}, "7").arguments == {}


def test_arguments_that_are_no_object_are_a_problem() -> None:
    call = mcp_tools.decode_call({"name": "look", "arguments": [1]}, "7")

    assert (call.arguments, call.text) == (None, "[1]")
    assert "at character 0" in call.problem


def test_a_call_with_a_problem_is_never_made() -> None:
    with pytest.raises(ParseError, match="cut off"):
        mcp_tools.encode_call(make_call("a", "look", "{"))


def test_a_choice_says_what_it_can_and_reports_the_rest() -> None:
    assert mcp_tools.encode_tool_choice(ToolChoice("none")) == ({"mode": "none"}, ())
    value, losses = mcp_tools.encode_tool_choice(ToolChoice("tool", "f", parallel=False))
    assert value == {"mode": "required"}
    assert [loss.fate for loss in losses] == ["changed", "dropped"]
    assert mcp_tools.decode_tool_choice({"mode": "required"}) == ToolChoice("required")
    assert mcp_tools.decode_tool_choice(None) == ToolChoice()


def test_an_answer_to_a_sampling_request_is_the_same_both_ways() -> None:
    items = (Message.of("assistant", "Hi"), call_with("a", "look", {"q": 1}))
    completion = Completion(items, StopReason.CALLS, "toolUse", model="m")
    result, losses = mcp_sampling.encode_completion(completion)

    assert (result["stopReason"], result["model"]) == ("toolUse", "m")
    assert losses == ()
    assert mcp_sampling.decode_completion(result) == completion


def test_usage_and_thoughts_are_reported_as_lost_in_a_sampling_answer() -> None:
    items = (Reasoning("anthropic", ("hm",), seal="s"), Message.of("assistant", "Hi"))
    losses = mcp_sampling.encode_completion(Completion(items, StopReason.END, usage=Usage(1, 2)))[1]

    assert [loss.what for loss in losses] == ["reasoning", "tokens"]


def test_a_single_block_may_stand_without_a_list() -> None:
    message = {"role": "user", "content": {"type": "text", "text": "Hi"}}

    assert mcp_sampling.decode_messages([message]) == (Message.of("user", "Hi"),)


@pytest.mark.skipif(not CASSETTES.is_dir(), reason="the recordings are not on this machine")
def test_recorded_mcp_traffic_is_the_same_both_ways() -> None:
    tools = results = 0
    for one in interactions("openai-chat/test_temporal--test_mcptoolset_in_temporal_workflow.yaml"):
        if "mcp.deepwiki.com" not in one.uri:
            continue
        reader = SseReader()
        for event in [*reader.feed(one.body), *reader.close()]:
            result = json.loads(event.data).get("result", {})
            for tool, definition in zip(
                result.get("tools", []),
                mcp_tools.decode_tools(result.get("tools", [])),
                strict=True,
            ):
                assert mcp_tools.encode_tool(definition) == tool
                tools += 1
            if "content" in result:
                assert mcp_tools.encode_result(mcp_tools.decode_result(result, "a")) == (result, ())
                results += 1

    assert tools >= 3
    assert results == 1


def test_documents_links_and_refusals_have_their_blocks() -> None:
    parts = (
        File(Inline("application/pdf", "AA=="), "a.pdf"),
        File(Link("https://a.example/x", "text/html"), "x"),
        Refusal("No."),
    )
    result, losses = mcp_tools.encode_result(ToolOutcome("a", parts))

    assert [block["type"] for block in result["content"]] == ["resource", "resource_link", "text"]
    assert [loss.what for loss in losses] == ["refusal"]


def test_instructions_within_a_sampling_request_are_words_of_the_user() -> None:
    messages, losses = mcp_sampling.encode_items([Message.of("system", "Be brief.")])

    assert messages[0]["role"] == "user"
    assert losses[0].fate == "changed"
