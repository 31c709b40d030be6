"""What a program writes where messages belong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loop.agents import call
from tests.mcp.serving import declared, outcomes
from whence.mcp.faults import UNREADABLE
from whence.mcp.lines import read_line

ANSWER = {"jsonrpc": "2.0", "id": 7, "result": {"content": []}}


def read(line: bytes) -> list[Any]:
    return [each.model_dump(by_alias=True, exclude_unset=True) for each in read_line(line)]


@pytest.mark.requirement("mcp:mended")
@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param(
            rb'{"jsonrpc":"2.0","id":7,"result":{"a":"half \ud83d"}}', "half ?", id="half"
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"result":{"a":"caf\xe9"}}', "caf\ufffd", id="latin"),
        pytest.param(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"result":{"a":"b"}}\r', "b", id="mark"),
        pytest.param(b'[{"jsonrpc":"2.0","id":7,"result":{"a":"c"}}]', "c", id="batch"),
    ],
)
def test_an_answer_with_a_flaw_in_its_characters_is_still_an_answer(line: bytes, text: str) -> None:
    (message,) = read(line)
    assert (message["id"], message["result"]) == (7, {"a": text})


@pytest.mark.requirement("mcp:unreadable")
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"jsonrpc":"2.0","id":7,"result":null}', id="null"),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"error":{"code":"x"}}', id="error"),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"result":{"a":' + b"9" * 5000 + b"}}", id="number"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":7,"result":{"a":' + b"[" * 9000 + b"]" * 9000 + b"}}", id="deep"
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"result":{"a":', id="cut"),
    ],
)
def test_a_broken_answer_is_an_error_of_its_request(line: bytes) -> None:
    (message,) = read(line)
    assert (message["id"], message["error"]["code"]) == (7, UNREADABLE)


@pytest.mark.requirement("mcp:junk")
@pytest.mark.parametrize(
    "line",
    [b"Starting up", b"", b"[1, 2", b"[]", b"3", b'{"id": 7, "error": "a log"}', b"\xff\xfe"],
    ids=["words", "empty", "half", "list", "number", "log", "bytes"],
)
def test_what_is_no_message_is_none(line: bytes) -> None:
    assert read(line) == []


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 80))
def test_no_line_is_too_strange_to_be_read(noise: bytes, at: int) -> None:
    line = json.dumps(ANSWER).encode()
    read_line(noise)
    read_line(line[:at] + noise + line[at:])


@pytest.mark.anyio
@pytest.mark.requirement("mcp:unreadable")
async def test_nobody_waits_for_an_answer_that_came_broken(tmp_path: Path) -> None:
    line = tmp_path / "line"
    line.write_bytes(b'{"jsonrpc":"2.0","id":$ID,"result":null}')
    calls = [call("raw"), call("echo", text="on")]
    broken, after = await outcomes(tmp_path, calls, declared("old", raw=line))
    assert broken.fault is not None
    assert broken.fault.code == "EXECUTION_FAILED"
    assert "is not MCP: it begins with" in broken.fault.message
    assert after.result == "on"


@pytest.mark.anyio
@pytest.mark.requirement("mcp:pictures")
@pytest.mark.parametrize(
    ("data", "said"), [("!!!!", "not base64"), ("AAEC", "of 3 bytes, kept in")], ids=["not", "odd"]
)
async def test_what_only_claims_to_be_a_picture_is_not_sent_as_one(
    tmp_path: Path, data: str, said: str
) -> None:
    image = {"type": "image", "data": data, "mimeType": "image/\u001bpng"}
    line = json.dumps({"jsonrpc": "2.0", "id": "$ID", "result": {"content": [image]}})
    (tmp_path / "line").write_text(line.replace('"$ID"', "$ID"), "utf-8")
    (done,) = await outcomes(tmp_path, [call("raw")], declared("old", raw=tmp_path / "line"))
    assert isinstance(done.result, str)
    assert said in done.result
    assert "image/<U+001B>png" in done.result
