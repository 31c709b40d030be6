"""Pages from the web, asked for as a model asks, from a server on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.local_server import LocalServer, answer, redirect, serving
from whence.catalogs.chatmd import HELPERS, webpage_to_markdown
from whence.loop.agent_file import load_agent
from whence.loop.session import Session
from whence.shapes.call import Outcome
from whence.shapes.policy import Policy, Rule, Verdict
from whence.shapes.tool import Tool
from whence.shapes.web import HostPolicy, host_policy
from whence.work.web.page import recent_pages

WHY = "Learn what the page says about kettles"
ALLOW = (Rule(Verdict.ALLOW, "webpage_to_markdown"), Rule(Verdict.ALLOW, "get_url_content"))
PAGE = "<title>T</title><nav>menu</nav><main><h1>Kettles</h1><p>They <b>boil</b>.</p></main>"

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server() -> AsyncIterator[LocalServer]:
    recent_pages.cache_clear()
    routes = {
        "/page": answer(PAGE),
        "/data": answer('{"b": 1}', "application/json"),
        "/plain": answer("a  b\n*c*\n", "text/plain"),
        "/away": redirect("http://127.0.0.2:1/"),
        "/back": redirect("/page?x=1"),
        "/picture": answer(b"\x89PNG", "image/png"),
    }
    async with serving(routes) as running:
        yield running


def held(tool: Tool, *hosts: str) -> Tool:
    return replace(tool, sandbox=replace(tool.sandbox, hosts=hosts))


async def called(work: Path, tool: Tool, url: str, policy: Policy | None = None) -> Outcome:
    with Session(work, [tool], policy=policy or Policy(rules=ALLOW), durable=False) as session:
        return await session.call(tool.name, WHY, url=url)


@pytest.mark.requirement("ochat:webpage")
async def test_a_page_is_markdown_and_is_fetched_once(tmp_path: Path, server: LocalServer) -> None:
    tool = held(webpage_to_markdown, "127.0.0.1")

    first = await called(tmp_path, tool, server.url("/page?q=a%20b"))
    again = await called(tmp_path, tool, server.url("/page?q=a%20b"))

    assert first.result == again.result == "# Kettles\n\nThey **boil**."
    assert server.targets == ["/page?q=a%20b"]


@pytest.mark.requirement("ochat:webpage")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data", '```json\n{\n  "b": 1\n}\n```'),
        ("/plain", "a  b\n*c*\n"),
        ("/back", "# Kettles\n\nThey **boil**.\n"),
    ],
)
async def test_data_text_and_what_redirects_lead_to_are_read(
    tmp_path: Path, server: LocalServer, path: str, expected: str
) -> None:
    outcome = await called(tmp_path, held(webpage_to_markdown, "127.0.0.1"), server.url(path))

    assert isinstance(outcome.result, str)
    assert outcome.result.strip() == expected.strip()


@pytest.mark.requirement("ochat:webpage")
async def test_errors_are_faults_and_are_not_kept(tmp_path: Path, server: LocalServer) -> None:
    tool = held(webpage_to_markdown, "127.0.0.1")
    codes = {}
    for path in ("/none", "/none", "/picture"):
        outcome = await called(tmp_path, tool, server.url(path))
        assert outcome.fault is not None
        codes[path] = outcome.fault.code

    assert codes == {"/none": "NOT_FOUND", "/picture": "INVALID_ARGS"}
    assert server.targets == ["/none", "/none", "/picture"]


@pytest.mark.requirement("ochat:web-policy")
async def test_the_network_is_asked_about(tmp_path: Path, server: LocalServer) -> None:
    outcome = await called(
        tmp_path, held(webpage_to_markdown, "127.0.0.1"), server.url("/page"), Policy()
    )

    assert outcome.fault is not None
    assert outcome.fault.code == "PERMISSION_DENIED"
    assert outcome.fault.details["would_allow"] == "webpage_to_markdown"
    assert server.targets == []


@pytest.mark.requirement("ochat:web-policy")
@pytest.mark.parametrize("hosts", [("*",), (), ("example.org",), ("localhost",), ("127.0.0.1:1",)])
async def test_a_private_address_is_refused_unless_it_is_named(
    tmp_path: Path, server: LocalServer, hosts: tuple[str, ...]
) -> None:
    outcome = await called(tmp_path, held(webpage_to_markdown, *hosts), server.url("/page"))

    assert outcome.fault is not None
    assert outcome.fault.code == "PERMISSION_DENIED"
    assert server.targets == []


@pytest.mark.requirement("ochat:web-policy")
async def test_a_redirect_to_another_private_address_is_refused(
    tmp_path: Path, server: LocalServer
) -> None:
    outcome = await called(tmp_path, held(webpage_to_markdown, "127.0.0.1"), server.url("/away"))

    assert outcome.fault is not None
    assert outcome.fault.code == "PERMISSION_DENIED"
    assert "127.0.0.2" in outcome.fault.message


@pytest.mark.requirement("ochat:web-policy")
@pytest.mark.parametrize(
    ("hosts", "policy"),
    [
        ((), HostPolicy()),
        (("*",), HostPolicy(("*",))),
        (("example.org", "*.a.b:8080"), HostPolicy(("example.org", "*.a.b:8080"))),
        (("localhost:80",), HostPolicy(("localhost:80",), ("127.0.0.0/8", "::1/128"))),
        (("10.1.2.3:443",), HostPolicy(("10.1.2.3:443",), ("10.1.2.3/32",))),
        (("[::1]:80",), HostPolicy(("[::1]:80",), ("::1/128",))),
        (("wiki.corp", "10.0.0.0/8"), HostPolicy(("wiki.corp",), ("10.0.0.0/8",))),
    ],
    ids=range(7),
)
def test_a_list_of_hosts_says_which_addresses_may_be_private(
    hosts: tuple[str, ...], policy: HostPolicy
) -> None:
    assert host_policy(hosts) == policy


@pytest.mark.requirement("ochat:web-policy")
@pytest.mark.parametrize(
    ("attribute", "hosts", "codes"),
    [
        ("", ("*",), []),
        (" network", ("*",), []),
        (' network="docs.python.org, localhost:80"', ("docs.python.org", "localhost:80"), []),
        (' network="wiki.corp,10.0.0.0/8"', ("wiki.corp", "10.0.0.0/8"), []),
        (' network="10.0.0.0/99"', ("*",), ["bad-network"]),
        (' network="http://x/"', ("*",), ["bad-network"]),
        (' network="no"', ("*",), ["bad-network"]),
    ],
    ids=range(7),
)
def test_an_agent_file_says_which_hosts_may_be_asked(
    tmp_path: Path, attribute: str, hosts: tuple[str, ...], codes: list[str]
) -> None:
    file = tmp_path / "a.chatmd"
    file.write_text(f'<tool name="webpage_to_markdown"{attribute}/>\n<user>hi</user>\n')

    resolved = load_agent(str(file), str(tmp_path)).resolved

    assert [problem.code for problem in resolved.problems] == codes
    assert resolved.tools[0].sandbox.hosts == hosts


@pytest.mark.requirement("ochat:helpers")
async def test_the_visible_text_of_a_page_is_a_helper(tmp_path: Path, server: LocalServer) -> None:
    tools: dict[str, Any] = {tool.name: tool for tool in HELPERS}

    outcome = await called(
        tmp_path, held(tools["get_url_content"], "127.0.0.1"), server.url("/page")
    )

    assert outcome.result == "T\nmenu\nKettles\nThey\nboil\n."
