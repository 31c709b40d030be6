"""The way out of a sandbox whose hosts are declared, tried with real programs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.local_server import answer, serving
from whence.errors import InvalidArgs
from whence.execute.process import Processes
from whence.execute.sandbox import proxy
from whence.execute.sandbox.choose import best_sandbox
from whence.shapes.process import Confinement, Finished, Level, Program

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl"),
]
LOOPBACK = ("127.0.0.0/8",)


@pytest.fixture(autouse=True, scope="module")
def has_own_network() -> None:
    if not best_sandbox().has_own_network:
        pytest.skip(f"{best_sandbox().name} has no network of its own")


async def curl(
    cwd: Path, *arguments: str, hosts: Sequence[str], networks: Sequence[str] = LOOPBACK
) -> Finished:
    confinement = Confinement((str(cwd),), hosts=tuple(hosts), networks=tuple(networks))
    program = Program(("curl", "-sS", "--max-time", "20", *arguments), str(cwd), confinement)
    return await Processes().run(program)


@pytest.mark.requirement("sandbox:hosts")
@pytest.mark.parametrize("way", [(), ("--proxytunnel",)], ids=["forwarded", "tunnelled"])
async def test_a_declared_host_is_reached(tmp_path: Path, way: tuple[str, ...]) -> None:
    async with serving({"/page": answer("hello")}) as server:
        ended = await curl(
            tmp_path, *way, server.url("/page?q=1"), hosts=[f"127.0.0.1:{server.port}"]
        )

    assert (ended.exit_code, ended.stdout) == (0, b"hello")
    assert server.targets == ["/page?q=1"]
    assert ended.isolation.network is Level.ENFORCED


@pytest.mark.requirement("sandbox:hosts")
@pytest.mark.parametrize("way", [(), ("--proxytunnel",)], ids=["forwarded", "tunnelled"])
async def test_any_other_host_is_refused_and_named(tmp_path: Path, way: tuple[str, ...]) -> None:
    async with serving({"/": answer("hello")}) as server:
        ended = await curl(tmp_path, *way, server.url(), hosts=["example.org"])

    assert b"hello" not in ended.stdout
    assert ended.refused == (f"127.0.0.1:{server.port}",)
    assert server.targets == []


@pytest.mark.requirement("sandbox:private-addresses")
async def test_a_declared_name_that_leads_to_a_private_address_is_refused(tmp_path: Path) -> None:
    async with serving({"/": answer("hello")}) as server:
        url = server.url(host="localhost")
        ended = await curl(tmp_path, url, hosts=["localhost", "*"], networks=())

    assert b"not public" in ended.stdout
    assert ended.refused == (f"localhost:{server.port}",)
    assert server.targets == []


@pytest.mark.requirement("sandbox:hosts")
async def test_there_is_no_way_round_the_proxy(tmp_path: Path) -> None:
    async with serving({"/": answer("hello")}) as server:
        ended = await curl(tmp_path, "--noproxy", "*", server.url(), hosts=["*"])

    assert ended.exit_code != 0
    assert server.targets == []


async def test_the_host_header_is_that_of_the_address(tmp_path: Path) -> None:
    async with serving({"/": answer("hello")}) as server:
        fields = ("-H", "Host: internal.example", "-H", "Proxy-Authorization: Basic eA==")
        await curl(tmp_path, *fields, server.url(), hosts=["127.0.0.1"])

    ((_, headers),) = server.requests
    assert headers["host"] == f"127.0.0.1:{server.port}"
    assert "proxy-authorization" not in headers


async def test_many_connections_at_once_are_served(tmp_path: Path) -> None:
    async with serving({"/": answer("x" * 100_000)}) as server:
        urls = [server.url(f"/?{n}") for n in range(20)]
        ended = await curl(tmp_path, "--parallel", *urls, hosts=["127.0.0.1"])

    assert len(ended.stdout) == 20 * 100_000


@pytest.mark.parametrize(
    "head",
    [
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET ftp://example.org/ HTTP/1.1\r\n\r\n",
        b"CONNECT :443 HTTP/1.1\r\n\r\n",
        b"CONNECT a:99999 HTTP/1.1\r\n\r\n",
        b"GET http://a/ HTTP/9\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
    ],
    ids=["empty", "no host", "other scheme", "no name", "no port", "no version", "no text"],
)
def test_what_is_no_request_is_refused(head: bytes) -> None:
    with pytest.raises(InvalidArgs):
        proxy._understood(head)


async def test_a_program_that_never_asks_ends_as_any_other(tmp_path: Path) -> None:
    program = Program(("true",), str(tmp_path), Confinement(hosts=("example.org",)))

    ended = await Processes().run(program)

    assert (ended.exit_code, ended.refused) == (0, ())
