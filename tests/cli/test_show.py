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
    assert protocol == "mcp" or "What does README.md say" in ran.out
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


def test_a_torn_history_is_shown_as_a_run_would_send_it(whence: Command) -> None:
    (whence.workspace / "a.chatmd").write_text(
        '<tool name="fs.read"/>\n<user>Go</user>\n'
        '<tool_call tool_call_id="c1" function_name="fs_read">RAW|{"path": "a"}|RAW</tool_call>\n'
        '<tool_response tool_call_id="gone">RAW|found|RAW</tool_response>\n'
        "<user>And now?</user>\n"
    )

    ran = whence("show", "a.chatmd")

    assert ran.code == 0, ran.err
    messages = ran.json["messages"]
    assert [message["role"] for message in messages] == [
        "user", "assistant", "tool", "user", "user",
    ]  # fmt: skip
    assert messages[2]["tool_call_id"] == "c1"
    assert "INTERRUPTED" in messages[2]["content"]
    assert "found" in json.dumps(messages[3])
    assert "'gone'" in ran.err


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("", "<h1>Hi</h1><p>a <b>b</b></p>"),
        ("markdown", "# Hi\n\na **b**"),
        ("strip", "Hi\na\nb"),
        ("strip markdown", "Hi\na\nb"),
    ],
)
def test_a_local_page_is_shown_as_the_flags_of_its_element_ask(
    whence: Command, flag: str, expected: str
) -> None:
    (whence.workspace / "page.html").write_text("<h1>Hi</h1><p>a <b>b</b></p>")
    (whence.workspace / "a.chatmd").write_text(
        f'<user><doc src="page.html" local {flag}/></user>\n'
    )

    ran = whence("show", "a.chatmd")

    assert ran.json["messages"][0]["content"] == expected


def test_a_local_file_that_is_no_text_is_named_and_not_sent(whence: Command) -> None:
    (whence.workspace / "x.bin").write_bytes(b"PK\x03\x04\0\0")
    (whence.workspace / "a.chatmd").write_text('<user>See <doc src="x.bin" local/></user>\n')

    ran = whence("show", "a.chatmd")

    assert ran.code == 0
    assert "PK" not in ran.out
    assert "x.bin is not a document of text" in ran.err


def test_a_request_with_tools_asks_anthropic_to_keep_what_it_has_read(whence: Command) -> None:
    ran = whence("show", LIBRARIAN, "--as", "anthropic")

    assert ran.json["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize("protocol", ["openai", "responses", "anthropic", "xml"])
def test_a_conversation_in_words_stays_one_at_every_provider(
    whence: Command, protocol: str
) -> None:
    call = "<fs_read>\n<path>a</path>\n</fs_read>"
    (whence.workspace / "a.chatmd").write_text(
        '<config protocol="xml"/>\n<tool name="fs.read"/>\n<user>Go</user>\n'
        f"<assistant>RAW|{call}|RAW</assistant>\n"
        '<user>RAW|<tool_result name="fs_read">\nfound\n</tool_result>|RAW</user>\n'
    )

    ran = whence("show", "a.chatmd", "--as", protocol)

    assert ran.code == 0, ran.err
    assert "tools" not in ran.json
    said = json.dumps(ran.json)
    assert json.dumps(call)[1:-1] in said
    assert "## fs_read" in said
    assert "<tool_result" in said


def test_a_picture_may_stand_in_its_address(whence: Command) -> None:
    uri = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    (whence.workspace / "a.chatmd").write_text(
        f'<user>See <img src="{uri}"/> <img src="data:image/png;base64,x"/></user>\n'
    )

    checked, ran = whence("check", "a.chatmd"), whence("show", "a.chatmd")

    assert "0 errors, 0 warnings" in checked.out
    pictures = [part for part in ran.json["messages"][0]["content"] if part["type"] == "image_url"]
    assert [part["image_url"]["url"] for part in pictures] == [uri]
    assert "a data: address cannot be read" in ran.err


def test_an_import_in_an_answer_is_words(whence: Command) -> None:
    said = 'Write <import src="rules.md"/> for that.'
    (whence.workspace / "a.chatmd").write_text(
        f"<user>How?</user>\n<assistant>{said}</assistant>\n<user>Thanks</user>\n"
    )

    ran = whence("show", "a.chatmd")

    parts = ran.json["messages"][1]["content"]
    shown = parts if isinstance(parts, str) else "".join(part["text"] for part in parts)
    assert shown == said


def test_a_mode_takes_its_tools_and_gives_its_role(whence: Command) -> None:
    (whence.workspace / ".roomodes").write_text(
        "customModes:\n"
        "  - {slug: reader, name: Reader, roleDefinition: You only read., groups: [read]}\n"
    )
    (whence.workspace / "a.chatmd").write_text(
        '<config mode="reader"/>\n<tool name="fs.read"/>\n<tool name="fs.write"/>\n'
        "<system>Be brief.</system>\n<user>Go</user>\n"
    )

    ran = whence("show", "a.chatmd")

    assert ran.code == 0, ran.err
    assert [tool["function"]["name"] for tool in ran.json["tools"]] == ["fs_read"]
    assert "You only read." in json.dumps(ran.json["messages"])
    assert "Be brief." in json.dumps(ran.json["messages"])


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
