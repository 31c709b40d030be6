"""`whence show`: exactly the request, in every protocol."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from whence.catalogs import load_catalogs

pytestmark = pytest.mark.requirement("cli:show")
LIBRARIAN = os.fspath(Path(__file__).parents[2] / "examples" / "librarian.chatmd")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


@pytest.mark.parametrize(
    ("protocol", "tool"),
    [
        ("openai", lambda body: body["tools"][0]["function"]["name"]),
        ("responses", lambda body: body["tools"][0]["name"]),
        ("anthropic", lambda body: body["tools"][0]["name"]),
        ("mcp", lambda body: body["tools"][0]["name"]),
        ("xml", lambda body: "fs_ls" if "<fs_ls>" in json.dumps(body) else None),
    ],
)
def test_the_request_holds_the_tools_and_the_words(whence: Command, protocol: str, tool) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    ran = whence("show", LIBRARIAN, "--as", protocol)

    assert ran.code == 0, ran.err
    assert tool(ran.json) in ("fs_ls", "fs.ls")
    assert protocol == "mcp" or "How does the journal notice" in ran.out
    assert protocol == "mcp" or "You look after the documents" in ran.out
    assert "tokens" in ran.err
    assert "fs.read" in ran.err or protocol == "xml"


def test_a_transcript_is_sent_as_calls_outcomes_and_documents(whence: Command) -> None:
    work = whence.workspace
    (work / "notes.md").write_text("remember the milk\n")
    (work / "dot.png").write_bytes(PNG)
    (work / "a.chatmd").write_text(
        '<config model="openai/gpt" temperature="0.5" parallel_tool_calls="false"/>\n'
        '<tool name="fs.read"/>\n<system>Be brief.</system>\n'
        '<user>See <doc src="notes.md" local/> <img src="dot.png" local/>'
        '<doc src="https://example.org/x" markdown/></user>\n'
        '<tool_call tool_call_id="c1" function_name="fs_read">RAW|{"path": "a"}|RAW</tool_call>\n'
        '<tool_response tool_call_id="c1">RAW|found|RAW</tool_response>\n'
        "<assistant>Done.</assistant>\n<user>\n\n</user>\n"
    )

    ran = whence("show", "a.chatmd", "--as", "openai")

    assert ran.code == 0, ran.err
    body = ran.json
    assert (body["model"], body["temperature"]) == ("gpt", 0.5)
    assert body["parallel_tool_calls"] is False
    assert [message["role"] for message in body["messages"]] == [
        "system", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    said = json.dumps(body["messages"][1])
    assert "remember the milk" in said
    assert "data:image/png;base64," in said
    assert body["messages"][2]["tool_calls"][0]["id"] == "c1"
    assert json.loads(body["messages"][2]["tool_calls"][0]["function"]["arguments"]) == {
        "path": "a"
    }
    assert body["messages"][3]["content"] == "found"
    assert "https://example.org/x" in ran.err


def test_a_file_with_errors_is_not_shown(whence: Command) -> None:
    (whence.workspace / "bad.chatmd").write_text('<tool name="fs.raed"/>')

    ran = whence("show", "bad.chatmd")

    assert ran.code == 1
    assert "bad.chatmd:1:" in ran.err


@pytest.mark.parametrize("protocol", ["openai", "responses", "anthropic", "mcp"])
def test_tools_can_be_shown_as_a_protocol_sends_them(whence: Command, protocol: str) -> None:
    tools = whence("tools", "--as", protocol).json

    assert len(tools) == len(load_catalogs())
    assert all("why" in json.dumps(tool) for tool in tools)
    assert "<fs_read>" in whence("tools", "fs.read", "--as", "xml").out
