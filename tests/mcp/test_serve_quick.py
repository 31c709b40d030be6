"""What makes a server quick: answers without a stream, syncs that are shared, imports."""

from __future__ import annotations

import gc
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.publishing import NEWEST, calling, publish, spoken, text_of
from tests.mcp.test_serve_http import serving
from whence.cli import serve
from whence.mcp.endpoint import HOST, open_port

LISTING: dict[str, Any] = {"name": "read_directory", "arguments": {"path": "."}}
TOGETHER = 12


@pytest.mark.requirement("serve:brief")
def test_over_http_a_brief_call_is_answered_with_json_and_any_other_with_a_stream(
    tmp_path: Path,
) -> None:
    publish(tmp_path, "hello", ["Good day."])
    with serving(tmp_path, "prompts", "--catalog", "chatmd") as server:
        known = server.session()

        def kind(params: dict[str, Any]) -> str:
            status, headers, body = server.post("tools/call", params, **known)
            assert status == 200
            assert '"isError":false' in body
            return headers["content-type"]

        assert kind(LISTING) == "application/json"
        assert kind({**LISTING, "_meta": {"progressToken": 7}}) == "text/event-stream"
        assert kind({"name": "hello", "arguments": {"input": "Hello"}}) == "text/event-stream"
        assert kind(LISTING) == "application/json"


@pytest.mark.requirement("serve:brief")
def test_what_cannot_be_answered_briefly_is_refused_as_ever(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    with serving(tmp_path) as server:
        known = server.session()
        status, _, body = server.post("tools/call", {"name": "nothing"}, **known)
        assert status == 200
        assert json.loads(body.partition("data: ")[2])["error"]["data"]["code"] == "NOT_FOUND"
        headers = {"authorization": "Bearer a secret of the tests", "content-type": "text/plain"}
        session = {name.replace("_", "-"): value for name, value in known.items()}
        assert server.ask("POST", "{", {**headers, **session})[0] in range(400, 416)


@pytest.mark.requirement("serve:brief")
def test_the_newest_era_is_answered_with_json_too(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with serving(tmp_path, "prompts", "--catalog", "chatmd") as server:
        status, headers, body = server.post(
            "tools/call", {**LISTING, "_meta": meta}, mcp_protocol_version=NEWEST,
            mcp_method="tools/call", mcp_name="read_directory",
        )  # fmt: skip
        assert status == 200, body
        assert headers["content-type"] == "application/json"
        assert "prompts" in text_of(json.loads(body))


@pytest.mark.requirement("serve:together")
def test_calls_that_come_together_share_the_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = 0
    sync = os.fdatasync

    def counting(descriptor: int) -> None:
        nonlocal synced
        synced += 1
        sync(descriptor)

    monkeypatch.setattr(os, "fdatasync", counting)
    said = [calling("read_directory", number, path=".") for number in range(1, TOGETHER + 1)]
    heard = spoken(tmp_path, said, "--catalog", "chatmd")
    assert all(text_of(heard[number]) for number in range(1, TOGETHER + 1))
    assert 0 < synced <= TOGETHER // 2


@pytest.mark.requirement("serve:http")
def test_the_end_of_an_answer_does_not_wait_for_a_timer_of_the_network() -> None:
    with open_port(0) as port, socket.create_connection((HOST, port.getsockname()[1])):
        accepted, _ = port.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("before", ["mine", None])
def test_quick_imports_leave_no_trace(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "PYDANTIC_DISABLE_PLUGINS"
    if before is None:
        monkeypatch.delenv(name, raising=False)
    else:
        monkeypatch.setenv(name, before)
    try:
        serve._import_quickly()
        assert gc.isenabled()
        assert os.environ.get(name) == before
    finally:
        gc.unfreeze()
