"""A server on a port of this machine: for those who know its token, and for nobody else."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from tests.loop.agents import call, write_agent
from tests.mcp.publishing import NEWEST, calls, command, fault_of, journal, publish
from tests.mcp.serving import whence

TOKEN = "a secret of the tests"
GREETING: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "test", "version": "1"},
}


class Served:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str], url: str, folder: Path) -> None:
        self.process, self.url, self.folder = process, url, folder
        self.port = urlsplit(url).port or 0

    def post(
        self, method: str, params: dict[str, Any] | None = None, /, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """Status, headers and body of the answer to a request."""
        given = {
            "authorization": f"Bearer {TOKEN}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if not method.startswith("notifications/"):
            message["id"] = 1
        return self.ask("POST", json.dumps(message), {k: v for k, v in given.items() if v})

    def ask(
        self, verb: str, body: str, headers: dict[str, str], path: str = "/mcp"
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(verb, path, body.encode(), headers)
            answer = connection.getresponse()
            kept = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, kept, answer.read().decode()
        finally:
            connection.close()

    def session(self) -> dict[str, str]:
        """The headers of a client that has been greeted."""
        status, headers, _ = self.post("initialize", GREETING)
        assert status == 200
        known = {"mcp_session_id": headers["mcp-session-id"], "mcp_protocol_version": "2025-11-25"}
        assert self.post("notifications/initialized", **known)[0] == 202
        return known

    @asynccontextmanager
    async def client(self, mode: str) -> AsyncIterator[Client]:
        """The official one."""
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as web,
            Client(streamable_http_client(self.url, http_client=web), mode=mode) as client,
        ):
            yield client


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Served]:
    """A server on a free port."""
    words = command(folder, *(arguments or ("prompts",)), "--http", "0", "--token-env", "TOKEN")
    with subprocess.Popen(
        words, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TOKEN": TOKEN},
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            said = ""
            for said in process.stderr:
                if "http://" in said:
                    break
            assert "http://" in said
            yield Served(process, said.split()[-1], folder)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("http")
    (folder / ".env").write_text("SECRET=1")
    (folder / "a.txt").write_text("text")
    publish(folder, "hello", ["Good day."])
    with serving(folder, "prompts", "--catalog", "moollm") as running:
        yield running


def ends(folder: Path) -> list[str]:
    """The codes of all calls that failed."""
    return [e.fields["error"]["code"] for e in journal(folder) if e.type == "tool_error"]


def event(body: str) -> dict[str, Any]:
    """The last message of an event stream."""
    found: dict[str, Any] = json.loads(body.rsplit("data: ", maxsplit=1)[-1])
    return found


@pytest.mark.anyio
@pytest.mark.requirement("serve:http")
@pytest.mark.parametrize("mode", ["legacy", NEWEST])
async def test_the_official_client_is_served_over_http_in_both_eras(
    server: Served, mode: str
) -> None:
    seen: list[str | None] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        seen.append(message)

    async with server.client(mode) as client, server.client(mode) as other:
        assert "hello" in {tool.name for tool in (await client.list_tools()).tools}
        asked = {"input": "Hi", "why": f"Greet over http, {mode}"}
        mine, theirs = await asyncio.gather(
            client.call_tool("hello", asked, progress_callback=heard),
            other.call_tool("hello", asked),
        )
        assert (await client.get_prompt("hello", {"input": "x"})).messages
    assert mine.content[0].text == theirs.content[0].text == "Good day."  # type: ignore[union-attr]
    assert seen == ["Starting agent", "Completed"]
    assert calls(server.folder).count(("hello", f"Greet over http, {mode}")) == 2


@pytest.mark.requirement("serve:http")
def test_sessions_are_kept_apart_and_ended(server: Served) -> None:
    known = server.session()
    assert known["mcp_session_id"] != server.session()["mcp_session_id"]
    status, _, body = server.post("tools/list", **known)
    assert status == 200
    assert "hello" in body
    assert server.post("tools/list", mcp_session_id="0" * 32)[0] == 404
    assert server.post("tools/list")[0] == 400
    headers = {"authorization": f"Bearer {TOKEN}", "mcp-session-id": known["mcp_session_id"]}
    assert server.ask("DELETE", "", headers)[0] == 200
    assert server.post("tools/list", **known)[0] == 404


@pytest.mark.requirement("serve:token")
@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN, f"Basic {TOKEN}",
     "Bearer \xff\xfe"],
    ids=["none", "bare", "blank", "longer", "shorter", "alone", "basic", "odd"],
)  # fmt: skip
def test_without_the_token_nothing_is_said(server: Served, given: str) -> None:
    status, headers, body = server.post("initialize", GREETING, authorization=given)
    assert status == 401
    assert headers["www-authenticate"] == "Bearer"
    assert "hello" not in body
    for verb in ("GET", "DELETE", "OPTIONS"):
        assert server.ask(verb, "", {"authorization": given} if given else {})[0] == 401
    assert server.ask("GET", "", {}, path="/")[0] == 401


@pytest.mark.requirement("serve:token")
def test_the_name_of_the_scheme_may_be_written_small(server: Served) -> None:
    assert server.post("initialize", GREETING, authorization=f"bearer {TOKEN}")[0] == 200


@pytest.mark.requirement("serve:rebinding")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8080"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 200),
        ({"host": "localhost:1"}, 200),
    ],
    ids=["host", "host-port", "origin", "null", "own-origin", "localhost"],
)
def test_a_page_that_the_browser_takes_for_this_machine_is_refused(
    server: Served, headers: dict[str, str], status: int
) -> None:
    assert server.post("initialize", GREETING, **headers)[0] == status


@pytest.mark.requirement("serve:http")
def test_only_this_machine_reaches_it(server: Served) -> None:
    with socket.socket() as taken, pytest.raises(OSError, match="in use"):
        taken.bind(("127.0.0.1", server.port))
    with socket.socket() as free:  # another address of this machine has the same port free
        free.bind(("127.0.0.2", server.port))


@pytest.mark.requirement("serve:approval")
def test_nobody_is_asked_over_http(server: Served) -> None:
    asked = {"name": "fs.read", "arguments": {"path": ".env"}}
    status, _, body = server.post("tools/call", asked, **server.session())
    assert status == 200
    fault = fault_of(event(body))
    assert fault["code"] == "PERMISSION_DENIED"
    assert "nobody is here" in fault["message"]


@pytest.mark.requirement("serve:http")
def test_bad_requests_are_refused_and_good_ones_answered_after_them(server: Served) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json",
               "accept": "application/json, text/event-stream"}  # fmt: skip
    assert server.ask("POST", "{", headers)[0] == 400
    assert server.ask("POST", "[]", headers)[0] == 400
    assert server.ask("POST", "x" * 70_000_000, headers)[0] == 413
    assert server.ask("PUT", "{}", headers)[0] == 405
    assert server.ask("POST", "{}", headers, path="/other")[0] == 404
    with socket.create_connection(("127.0.0.1", server.port)) as junk:
        junk.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        assert b"400" in junk.recv(100)
    assert server.post("initialize", GREETING)[0] == 200


@pytest.mark.requirement("serve:http")
def test_a_whence_client_calls_it_with_the_token_from_its_environment(
    server: Served, tmp_path: Path
) -> None:
    there = f'<tool mcp_server="{server.url}" include="hello" headers_env="HEADERS"/>'
    steps = [{"calls": [call("hello", input="Hi", why="Go the whole way")]}, "{outcome}"]
    agent = write_agent(tmp_path, steps, there)
    done = whence(
        tmp_path, "run", os.fspath(agent), "Go", "--ephemeral", "--allow", "hello",
        HEADERS=f"authorization: Bearer {TOKEN}",
    )  # fmt: skip
    assert done.stdout == "Good day.\n", done.stderr
    assert ("hello", "Go the whole way") in calls(server.folder)


@pytest.mark.requirement("serve:port")
def test_a_port_that_is_taken_is_said_in_two_lines(server: Served, tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    done = whence(tmp_path, "serve", "prompts", "--http", str(server.port))
    assert done.returncode == 1
    assert f"port {server.port} cannot be served: Address already in use" in done.stderr
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.requirement("serve:port")
def test_a_new_token_is_made_and_printed_where_none_is_named(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    with subprocess.Popen(
        command(tmp_path, "prompts", "--http", "0"), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        token = process.stderr.readline().split()[-1]
        served = Served(process, url, tmp_path)
        assert len(token) >= 40
        assert served.post("initialize", GREETING)[0] == 401
        assert served.post("initialize", GREETING, authorization=f"Bearer {token}")[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert "Traceback" not in process.stderr.read()
    assert token not in (tmp_path / ".agent/sessions/served/session-log.md").read_text()


@pytest.mark.anyio
@pytest.mark.requirement("serve:shutdown")
async def test_a_signal_ends_it_with_streams_open_and_an_agent_at_work(tmp_path: Path) -> None:
    step = {"calls": [call("wait", arguments=[])]}
    program = "command=\"sh -c 'touch begun; sleep 761' -\""
    publish(tmp_path, "waiter", [step, "end"], f'<tool name="wait" {program}/>')
    with serving(tmp_path, "prompts", "--allow", "wait") as running:
        async with running.client("legacy") as client:
            waiting = asyncio.ensure_future(client.call_tool("waiter", {"input": "x"}))
            async with asyncio.timeout(60):
                while not (tmp_path / "begun").exists():
                    await asyncio.sleep(0.02)
            running.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(running.process.wait, 60) == 143
            waiting.cancel()
            await asyncio.wait([waiting])
        assert running.process.stderr is not None
        assert running.process.stderr.read() == ""
    entries = journal(tmp_path)
    assert ends(tmp_path) == ["CANCELLED", "CANCELLED"]
    assert entries[-1].fields["reason"] == "interrupted"
    left = subprocess.run(["pgrep", "-f", "sleep 761"], capture_output=True, check=False)
    assert left.returncode == 1


@pytest.mark.anyio
@pytest.mark.requirement("serve:cancel")
async def test_calls_are_cancelled_over_http_in_both_eras(tmp_path: Path) -> None:
    step = {"calls": [call("wait", arguments=[])]}
    program = "command=\"sh -c 'touch begun; sleep 762' -\""
    publish(tmp_path, "waiter", [step, "end"], f'<tool name="wait" {program}/>')
    with serving(tmp_path, "prompts", "--allow", "wait") as running:
        for mode, count in (("legacy", 2), (NEWEST, 4)):
            async with running.client(mode) as client, asyncio.timeout(60):
                waiting = asyncio.ensure_future(client.call_tool("waiter", {"input": "x"}))
                while not (tmp_path / "begun").exists():
                    await asyncio.sleep(0.02)
                waiting.cancel()
                await asyncio.wait([waiting])
                while len(ends(tmp_path)) < count:
                    await asyncio.sleep(0.05)
                (tmp_path / "begun").unlink()
                assert (await client.list_tools()).tools
    assert ends(tmp_path) == ["CANCELLED"] * 4


@pytest.mark.anyio
@pytest.mark.requirement("serve:list-changed")
async def test_clients_are_told_of_changes_over_http(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    with serving(tmp_path) as running:
        async with running.client(NEWEST) as client:
            async with client.listen(tools_list_changed=True) as events:
                publish(tmp_path, "bye", ["Good night."])
                async with asyncio.timeout(60):
                    await anext(aiter(events))
            assert len((await client.list_tools()).tools) == 2
