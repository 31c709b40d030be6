"""Fetching from a real server that behaves, misbehaves and redirects to where it should not."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.local_server import LOOPBACK, answer, redirect, serving
from whence.errors import (
    ExecutionFailed,
    InvalidArgs,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    TimedOut,
    Unavailable,
    WhenceError,
)
from whence.execute.addresses import reason_against
from whence.execute.http import Http
from whence.shapes.web import FetchLimits, HostPolicy, HttpGetter

pytestmark = pytest.mark.anyio

SMALL = FetchLimits(wire_bytes=10_000, body_bytes=20_000, seconds=20, silence_s=10)
HASTY = FetchLimits(seconds=0.3, silence_s=10)


async def test_the_query_and_the_host_reach_the_server() -> None:
    async with serving({"/a/b": answer("<p>hi")}) as server:
        http: HttpGetter = Http()
        fetched = await http.get(server.url("/a/b?q=1&r=%20x#frag"), allow=LOOPBACK)

        target, headers = server.requests[0]
        assert target == "/a/b?q=1&r=%20x"
        assert headers["host"] == f"127.0.0.1:{server.port}"
        assert headers["accept-encoding"] == "gzip, deflate"
        assert "cookie" not in headers
        assert "authorization" not in headers
        assert (fetched.status, fetched.body) == (200, b"<p>hi")
        assert (fetched.content_type, fetched.charset) == ("text/html", "utf-8")
        assert fetched.headers["content-length"] == "5"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_and_told(status: int) -> None:
    routes = {"/a": redirect("b/c?x=1", status), "/b/c": answer("end")}
    async with serving(routes) as server:
        fetched = await Http().get(server.url("/a#part"), allow=LOOPBACK)

        assert server.targets == ["/a", "/b/c?x=1"]
        assert fetched.url == server.url("/b/c?x=1#part")
        assert fetched.redirects == (server.url("/a#part"),)
        assert fetched.body == b"end"


async def test_a_circle_of_redirects_is_named() -> None:
    routes = {"/a": redirect("/b"), "/b": redirect("/a#again")}
    async with serving(routes) as server:
        with pytest.raises(ExecutionFailed, match="in a circle"):
            await Http().get(server.url("/a"), allow=LOOPBACK)

        assert server.targets == ["/a", "/b"]


async def test_ten_redirects_are_followed_and_no_more() -> None:
    routes = {f"/{n}": redirect(f"/{n + 1}") for n in range(20)} | {"/10": answer("end")}
    async with serving(routes) as server:
        fetched = await Http().get(server.url("/0"), allow=LOOPBACK)
        assert len(fetched.redirects) == 10

    routes["/10"] = redirect("/11")
    async with serving(routes) as server:
        with pytest.raises(ExecutionFailed, match="more than 10 times"):
            await Http().get(server.url("/0"), allow=LOOPBACK)
        assert len(server.requests) == 11


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://user:pw@127.0.0.1/", "", "//["]
)
async def test_a_redirect_to_something_else_than_a_page_is_refused(location: str) -> None:
    async with serving({"/a": redirect(location)}) as server:
        with pytest.raises(ExecutionFailed, match="no web page"):
            await Http().get(server.url("/a"), allow=LOOPBACK)


async def test_a_redirect_to_a_private_address_is_refused() -> None:
    routes = {"/a": redirect("http://10.1.2.3/secret")}
    async with serving(routes) as server:
        with pytest.raises(PermissionDenied, match=r"10\.1\.2\.3.*private"):
            await Http().get(server.url("/a"), allow=LOOPBACK)


async def test_a_redirect_to_a_host_that_the_policy_does_not_name_is_refused() -> None:
    only = HostPolicy(hosts=("127.0.0.1",), networks=LOOPBACK.networks)
    async with serving({"/a": redirect("http://localhost:1/")}) as server:
        with pytest.raises(PermissionDenied, match="localhost:1") as caught:
            await Http().get(server.url("/a"), allow=only)

        assert "127.0.0.1" in caught.value.suggestion


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "localhost.", "127.1", "2130706433", "0x7f.0.0.1", "0"]
)
async def test_no_spelling_of_this_machine_is_reached_by_default(host: str) -> None:
    async with serving({"/": answer("secret")}) as server:
        with pytest.raises((PermissionDenied, Unavailable)):
            await Http().get(server.url("/", host))

        assert server.requests == []


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("10.0.0.1", "private"),
        ("172.16.3.4", "private"),
        ("192.168.1.1", "private"),
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("169.254.1.1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("ff0e::1", "multicast"),
        ("100.64.0.1", "shared"),
        ("fd00:ec2::254", "private"),
        ("169.254.169.254", "metadata"),
        ("168.63.129.16", "metadata"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:169.254.169.254", "metadata"),
        ("64:ff9b::a00:1", "private"),
        ("2002:7f00:1::", "loopback"),
        ("::127.0.0.1", "reserved"),
        ("240.0.0.1", ""),
        ("255.255.255.255", ""),
        ("192.0.2.1", ""),
    ],
)
def test_addresses_that_are_not_public_are_known(address: str, reason: str) -> None:
    found = reason_against(address)

    assert found is not None
    assert reason in found


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses_pass(address: str) -> None:
    assert reason_against(address) is None


async def test_a_name_that_changes_its_address_after_the_check_gains_nothing() -> None:
    """The connection goes to the address that was checked, not to what the name says later."""
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    async with serving({"/a": redirect("/b"), "/b": answer("secret")}) as server:
        with pytest.raises(PermissionDenied, match=r"10\.0\.0\.1"):
            await Http(resolve=rebinding).get(server.url("/a", "rebind.test"), allow=LOOPBACK)

        assert server.targets == ["/a"]
        assert server.requests[0][1]["host"] == f"rebind.test:{server.port}"
        assert asked == ["rebind.test", "rebind.test"]


async def test_only_the_permitted_addresses_of_a_name_are_tried() -> None:
    async def several(host: str, port: int) -> Sequence[str]:
        return ["10.0.0.1", "127.0.0.99", "127.0.0.1"]

    async with serving({"/": answer("ok")}) as server:
        fetched = await Http(resolve=several).get(server.url("/", "many.test"), allow=LOOPBACK)

    assert fetched.body == b"ok"


async def test_a_name_without_an_address_is_unavailable() -> None:
    async def nobody(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(Unavailable, match=r"nowhere\.test"):
        await Http(resolve=nobody).get("http://nowhere.test/")


@pytest.mark.parametrize(
    "url",
    [
        "example.org/page",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "",
        "http://exa mple.org/",
        "http://example.org:99999/",
        "http://[::1/",
        "http://example.org/\x00",
        "javascript:alert(1)",
        "http://me:secret@example.org/",
    ],
)
async def test_what_is_no_url_of_a_page_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgs) as caught:
        await Http().get(url)

    assert "secret" not in caught.value.message
    assert caught.value.suggestion


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, NotFound),
        (410, NotFound),
        (401, PermissionDenied),
        (403, PermissionDenied),
        (429, Unavailable),
        (500, Unavailable),
        (503, Unavailable),
        (400, ExecutionFailed),
        (304, ExecutionFailed),
    ],
)
async def test_a_status_that_is_no_success_is_an_error(
    status: int, error: type[WhenceError]
) -> None:
    async with serving({"/x": answer("<p>sorry", status=status)}) as server:
        with pytest.raises(error, match=str(status)) as caught:
            await Http().get(server.url("/x"), allow=LOOPBACK)

    assert caught.value.suggestion


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": gzip.compress(b"hello " * 100),
    "x-gzip": gzip.compress(b"hello " * 50) + gzip.compress(b"hello " * 50) + b"\0\0",
    "deflate": zlib.compress(b"hello " * 100),
    "Deflate": raw_deflate(b"hello " * 100),
    "gzip, deflate": zlib.compress(gzip.compress(b"hello " * 100)),
    "identity": b"hello " * 100,
}


@pytest.mark.parametrize("coding", PACKED)
async def test_compression_is_undone(coding: str) -> None:
    packed = answer(PACKED[coding], headers={"content-encoding": coding})
    async with serving({"/": packed}) as server:
        fetched = await Http().get(server.url(), allow=LOOPBACK)

    assert fetched.body == b"hello " * 100


BOMBS = {
    "gzip": gzip.compress(b"\0" * 5_000_000),
    "deflate": zlib.compress(b"\0" * 5_000_000),
    "Deflate": raw_deflate(b"\0" * 5_000_000),
    "gzip, gzip": gzip.compress(gzip.compress(b"\0" * 100_000_000)),
}


@pytest.mark.parametrize("coding", BOMBS)
async def test_a_compression_bomb_is_not_unpacked(coding: str) -> None:
    assert len(BOMBS[coding]) < SMALL.wire_bytes
    packed = answer(BOMBS[coding], headers={"content-encoding": coding})
    async with serving({"/": packed}) as server:
        with pytest.raises(QuotaExceeded, match="document exceeds 20000 bytes"):
            await Http().get(server.url(), allow=LOOPBACK, limits=SMALL)


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip, gzip, gzip", "nonsense"])
async def test_an_encoding_that_was_not_asked_for_is_refused(coding: str) -> None:
    packed = answer(b"\x8f\xff\xff", headers={"content-encoding": coding})
    async with serving({"/": packed}) as server:
        with pytest.raises(ExecutionFailed, match="content-encoding"):
            await Http().get(server.url(), allow=LOOPBACK)


@pytest.mark.parametrize(
    "data",
    [PACKED["gzip"][:-9], b"not gzip at all", b"\x1f\x8b"],
    ids=["cut off", "something else", "two bytes"],
)
async def test_damaged_compression_is_an_error_and_not_half_a_page(data: bytes) -> None:
    async with serving({"/": answer(data, headers={"content-encoding": "gzip"})}) as server:
        with pytest.raises(ExecutionFailed, match="cannot decode"):
            await Http().get(server.url(), allow=LOOPBACK)


async def test_a_page_of_many_tiny_gzip_parts_is_refused() -> None:
    data = gzip.compress(b"") * 400
    async with serving({"/": answer(data, headers={"content-encoding": "gzip"})}) as server:
        with pytest.raises(ExecutionFailed, match="parts"):
            await Http().get(server.url(), allow=LOOPBACK)


async def test_a_declared_size_beyond_the_limit_is_refused_before_the_body() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"
    async with serving({"/": head}) as server:
        with pytest.raises(QuotaExceeded, match="10000"):
            await Http().get(server.url(), allow=LOOPBACK, limits=SMALL)


async def test_an_answer_that_never_ends_is_cut_by_its_size() -> None:
    async def flood(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
            await writer.drain()

    async with serving({"/": flood}) as server:
        with pytest.raises(QuotaExceeded, match="10000"):
            await Http().get(server.url(), allow=LOOPBACK, limits=SMALL)


async def test_an_answer_that_drips_is_cut_by_its_time() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with serving({"/": drip}) as server:
        with pytest.raises(TimedOut, match=r"0\.3 s"):
            await Http().get(server.url(), allow=LOOPBACK, limits=HASTY)


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\nhalf"])
async def test_a_server_that_falls_silent_times_out(said: bytes) -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()
        await done.wait()

    done = asyncio.Event()
    impatient = FetchLimits(silence_s=0.2)
    async with serving({"/": silent}) as server:
        with pytest.raises(TimedOut, match=r"nothing for 0\.2 s"):
            await Http().get(server.url(), allow=LOOPBACK, limits=impatient)
        done.set()


@pytest.mark.parametrize(
    "broken",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nxxxxxx",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 200_000 + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"",
    ],
)
async def test_a_broken_answer_is_an_error_and_not_half_a_page(broken: bytes) -> None:
    async with serving({"/": broken}) as server:
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
            await Http().get(server.url(), allow=LOOPBACK)


async def test_more_than_the_declared_size_is_left_unread() -> None:
    data = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfourGET /smuggled"
    async with serving({"/": data}) as server:
        fetched = await Http().get(server.url(), allow=LOOPBACK)

    assert fetched.body == b"four"


async def test_a_closed_port_is_unavailable() -> None:
    async with serving({}) as server:
        url = server.url()
    with pytest.raises(Unavailable, match="cannot get"):
        await Http().get(url, allow=LOOPBACK)


async def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving({"/": answer("direct")}) as server, serving({}) as proxy:
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        fetched = await Http().get(server.url(), allow=LOOPBACK)
        assert (fetched.body, proxy.requests) == (b"direct", [])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed: no certificate can be made")
    place = tmp_path_factory.mktemp("tls")
    both = place / "both.pem"
    make = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=page.test -addext"
    alt = "subjectAltName=DNS:page.test"
    argv = [
        "openssl",
        *make.split(),
        alt,
        "-keyout",
        f"{place}/key.pem",
        "-out",
        f"{place}/cert.pem",
    ]
    subprocess.run(argv, check=True, capture_output=True)
    both.write_bytes((place / "key.pem").read_bytes() + (place / "cert.pem").read_bytes())
    return both


async def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


async def test_tls_checks_the_name_and_not_the_address(certificate: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with serving({"/": answer("safe")}, tls) as server:
        http = Http(resolve=here, tls=trusting)
        fetched = await http.get(server.url("/", "page.test"), allow=LOOPBACK)
        assert fetched.body == b"safe"

        with pytest.raises(Unavailable, match="certificate"):
            await http.get(server.url("/", "other.test"), allow=LOOPBACK)
        with pytest.raises(Unavailable, match="certificate"):
            await Http(resolve=here).get(server.url("/", "page.test"), allow=LOOPBACK)


async def test_a_redirect_from_https_to_http_is_refused(certificate: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with serving({"/": redirect("http://page.test/")}, tls) as server:
        with pytest.raises(PermissionDenied, match="from https to http"):
            await Http(resolve=here, tls=trusting).get(server.url("/", "page.test"), allow=LOOPBACK)


@pytest.mark.parametrize(
    ("pattern", "host", "port", "fits"),
    [
        ("*", "example.org", 80, True),
        ("*:443", "example.org", 80, False),
        ("example.org", "EXAMPLE.org.", 8080, True),
        ("example.org:80", "example.org", 8080, False),
        ("*.example.org", "a.b.example.org", 80, True),
        ("*.example.org", "example.org", 80, False),
        ("*.example.org", "evilexample.org", 80, False),
        ("example.org", "example.org.evil.com", 80, False),
        ("[::1]:80", "::1", 80, True),
        ("[::1]", "::1", 80, True),
    ],
)
def test_host_patterns(pattern: str, host: str, port: int, fits: bool) -> None:
    assert HostPolicy(hosts=(pattern,)).permits(host, port) is fits


async def test_a_policy_with_a_broken_network_says_so() -> None:
    with pytest.raises(InvalidArgs, match="not a network"):
        await Http().get("http://127.0.0.1/", allow=HostPolicy(networks=("127.0.0.0/99",)))
