"""Servers that are addresses, from the file to the call."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import httpx2
import pytest

from tests.loop.agents import Heard, call
from tests.mcp.serving import agent, listening, logged, outcomes, yes
from whence.declare.mcp import headers, server_at
from whence.errors import InvalidArgs, PermissionDenied
from whence.execute.gateway import Gateway
from whence.loop.lock import Lock
from whence.loop.news import Notice
from whence.shapes.approval import Answer, Question
from whence.shapes.web import host_policy

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("mcp:http")
@pytest.mark.parametrize("form", ["json", "sse"])
async def test_the_newest_protocol_is_spoken_over_http(tmp_path: Path, form: str) -> None:
    options = ("json",) if form == "json" else ()
    async with listening("modern", *options) as url:
        calls = [call("echo", text="hello"), call("add", a=1, b=2), call("long", size=3_000_000)]
        done = await outcomes(tmp_path, calls, f'<tool mcp_server="{url}"/>')
    assert [each.result for each in done[:2]] == ["hello", {"sum": 3}]
    assert done[2].artifact is not None
    assert (tmp_path / done[2].artifact).stat().st_size == 3_000_000
    pin = Lock(os.fspath(tmp_path)).pins()["agent.chatmd"]["add"]
    assert pin.files == {}
    assert url in pin.declaration


@pytest.mark.requirement("mcp:http-old")
@pytest.mark.parametrize("form", ["json", "sse"])
async def test_an_older_server_with_sessions_is_spoken_to_over_http(
    tmp_path: Path, form: str
) -> None:
    async with listening("web", *(["sse=1"] if form == "sse" else [])) as url:
        done = await outcomes(tmp_path, [call("ask"), call("ask")], f'<tool mcp_server="{url}"/>')
    assert [each.result for each in done] == ["ask", "ask"]


@pytest.mark.requirement("mcp:http-lost")
async def test_a_server_that_forgets_us_or_hangs_up_is_connected_to_anew(tmp_path: Path) -> None:
    async with listening("web") as url:
        names = ["forget", "ask", "cut", "ask", "busy", "ask"]
        done = await outcomes(
            tmp_path, [call(name) for name in names], f'<tool mcp_server="{url}"/>'
        )
    assert [each.result for each in done] == ["forget", "ask", None, "ask", None, "ask"]
    cut, busy = done[2].fault, done[4].fault
    assert cut is not None
    assert busy is not None
    assert (cut.code, busy.code) == ("UNAVAILABLE", "UNAVAILABLE")
    assert "503" in busy.message


@pytest.mark.requirement("mcp:credentials")
async def test_headers_come_from_the_environment_and_are_written_nowhere(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environ = {**os.environ, "AUTH": "Authorization: Bearer t0p\nX-Team: blue"}
    async with listening("web", "token=t0p", f"log={log}") as url:
        declaration = f'<tool mcp_server="{url}" headers_env="AUTH"/>'
        (done,) = await outcomes(tmp_path, [call("ask")], declaration, environ=environ)
    assert done.result == "ask"
    assert logged(log)[0]["headers"]["X-Team"] == "blue"
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path != log]
    assert all(b"t0p" not in path.read_bytes() for path in written)


@pytest.mark.requirement("mcp:credentials")
async def test_client_id_and_secret_go_into_the_query_and_nowhere_else(tmp_path: Path) -> None:
    environ = {**os.environ, "ID": "me", "SECRET": "s3cret"}
    heard = Heard()
    async with listening("web", "client=me") as url:
        declaration = f'<tool mcp_server="{url}" client_id_env="ID" client_secret_env="SECRET"/>'
        calls = [call("ask"), call("busy")]
        done = await outcomes(tmp_path, calls, declaration, environ=environ, heard=heard)
    assert done[0].result == "ask"
    assert "s3cret" not in repr(heard.news)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(b"s3cret" not in path.read_bytes() for path in written)


@pytest.mark.requirement("mcp:credentials")
async def test_missing_credentials_are_told_with_the_way_to_give_them(tmp_path: Path) -> None:
    heard = Heard()
    async with listening("web", "token=t0p") as url:
        await agent(tmp_path, [], f'<tool mcp_server="{url}"/>').run("go", on=heard)
    said = " ".join(each.text for each in heard.of(Notice))
    assert "status 401" in said
    assert "headers_env" in said


@pytest.mark.requirement("mcp:http-asks")
async def test_a_call_over_the_network_asks(tmp_path: Path) -> None:
    asked: list[Question] = []

    async def no(question: Question) -> Answer:
        asked.append(question)
        return Answer(approved=False)

    async with listening("web") as url:
        (done,) = await outcomes(
            tmp_path, [call("ask")], f'<tool mcp_server="{url}"/>', approver=no
        )
    assert done.fault is not None
    assert done.fault.code == "PERMISSION_DENIED"
    assert asked[0].reason == "it uses the network"


@pytest.mark.requirement("mcp:hosts")
async def test_a_redirect_leads_to_no_other_host(tmp_path: Path) -> None:
    heard, log = Heard(), tmp_path / "log"
    async with (
        listening("web", f"log={log}") as target,
        listening("web", f"redirect={target}") as url,
    ):
        await agent(tmp_path, [], f'<tool mcp_server="{url}"/>').run("go", on=heard)
    assert "Redirect" in " ".join(each.text for each in heard.of(Notice))
    assert not log.exists()


@pytest.mark.requirement("mcp:hosts")
async def test_a_name_that_leads_to_a_private_address_is_refused(tmp_path: Path) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["10.0.0.7"]

    gateway = Gateway(host_policy(("tools.example:443",)), resolve=resolve)
    with pytest.raises(PermissionDenied, match="private"):
        await gateway.handle_async_request(httpx2.Request("POST", "https://tools.example/mcp"))
    with pytest.raises(PermissionDenied, match="not the one"):
        await gateway.handle_async_request(httpx2.Request("POST", "https://other.example/mcp"))
    await gateway.aclose()


@pytest.mark.requirement("mcp:hosts")
async def test_a_private_network_is_reached_where_the_declaration_allows_it() -> None:
    declared = server_at("http://tools.example:1/mcp", network="127.0.0.0/8")
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    allow = host_policy(("tools.example:1", *declared.networks))
    gateway = Gateway(allow, resolve=resolve)
    with pytest.raises(httpx2.ConnectError):
        await gateway.handle_async_request(httpx2.Request("POST", declared.url))
    assert asked == ["tools.example"]
    with pytest.raises(InvalidArgs, match="network is"):
        server_at("http://tools.example:1/mcp", network="other.example")
    await gateway.aclose()


@pytest.mark.requirement("mcp:http-lost")
async def test_a_server_that_does_not_let_go_is_left_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whence.mcp.connection._GOODBYE_S", 0.3)
    async with listening("web", "clings=1") as url, asyncio.timeout(30):
        (done,) = await outcomes(tmp_path, [call("ask")], f'<tool mcp_server="{url}"/>')
    assert done.result == "ask"


@pytest.mark.requirement("mcp:unreachable")
async def test_an_address_that_nobody_answers_is_told_about(tmp_path: Path) -> None:
    heard = Heard()
    declaration = '<tool mcp_server="http://127.0.0.1:9/mcp" include="ask"/>'
    (done,) = await outcomes(tmp_path, [call("ask")], declaration, heard=heard, approver=yes)
    assert done.fault is not None
    assert done.fault.code == "UNAVAILABLE"
    assert "cannot be reached" in heard.of(Notice)[0].text
    assert json.dumps(heard.of(Notice)[0].text).isascii()


@pytest.mark.requirement("mcp:http-refused")
async def test_an_address_that_refuses_says_why_in_words(tmp_path: Path) -> None:
    for option, said in (("token=t0p", "it wants credentials"), ("absent=1", "no MCP server")):
        heard = Heard()
        async with listening("web", option, "json=1") as url:
            await agent(tmp_path, [], f'<tool mcp_server="{url}"/>').run("go", on=heard)
        assert any(said in each.text for each in heard.of(Notice))


@pytest.mark.requirement("mcp:http-lost")
async def test_a_session_that_expires_in_a_call_is_begun_anew_by_the_next(tmp_path: Path) -> None:
    async with listening("web") as url:
        calls = [call("expire"), call("ask")]
        lost, after = await outcomes(tmp_path, calls, f'<tool mcp_server="{url}"/>')
    assert lost.fault is not None
    assert lost.fault.code == "UNAVAILABLE"
    assert after.result == "ask"


@pytest.mark.requirement("mcp:http-lost")
async def test_an_answer_beyond_measure_says_that_it_was_too_long(tmp_path: Path) -> None:
    async with listening("web") as url:
        calls = [call("huge"), call("ask")]
        huge, after = await outcomes(tmp_path, calls, f'<tool mcp_server="{url}"/>')
    assert huge.fault is not None
    assert "more than 67108864 bytes" in huge.fault.message
    assert after.result == "ask"


@pytest.mark.requirement("mcp:credentials")
def test_a_header_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    server = server_at("https://tools.example.org/mcp", headers_env="AUTH")
    with pytest.raises(InvalidArgs) as found:
        headers(server, {"AUTH": "Authorization: Bearer h\u00e9llo"})
    assert "line 1 of $AUTH" in found.value.message
    assert "llo" not in found.value.message
