"""From an address to a document, over a real connection."""

from __future__ import annotations

import asyncio
import gzip
import threading

import pytest
from tests.local_server import LOOPBACK, LocalServer, answer, redirect, serving

from whence.errors import InvalidArgs, NotFound, PermissionDenied, QuotaExceeded, TimedOut
from whence.execute.http import Http
from whence.shapes.web import FETCH_LIMITS, PUBLIC, Fetched, FetchLimits, HostPolicy
from whence.work.apart import apart
from whence.work.web.cache import Page, PageCache
from whence.work.web.page import Form, web_document

pytestmark = pytest.mark.anyio

HTML = "<title>Päge</title><nav>menu</nav><main><h1>Ünï</h1><a href=next?x=1>on</a></main>"


async def fetch(server: LocalServer, path: str, cache: PageCache | None = None) -> Page:
    return await web_document(
        server.url(path), Form.MARKDOWN, http=Http(), cache=cache, allow=LOOPBACK
    )


async def test_a_page_comes_as_markdown_with_links_to_where_it_ended() -> None:
    packed = answer(
        gzip.compress(HTML.encode("latin-1")),
        "text/html; charset=iso-8859-1",
        headers={"content-encoding": "gzip"},
    )
    async with serving({"/old": redirect("/new/page?v=2", 301), "/new/page": packed}) as server:
        page = await fetch(server, "/old")

        assert page.markdown == f"# Ünï\n\n[on]({server.url('/new/next?x=1')})"
        assert page.title == "Päge"
        assert page.url == server.url("/new/page?v=2")
        assert page.warnings == ()


async def test_a_missing_charset_is_assumed_and_what_cannot_be_read_is_said() -> None:
    async with serving({"/": answer("<p>caf\xe9".encode("latin-1"), "text/html")}) as server:
        page = await fetch(server, "/")

    assert page.markdown == "caf\ufffd"
    assert "utf-8, which was assumed" in page.warnings[0]


async def test_a_page_is_fetched_once_while_it_is_fresh() -> None:
    cache = PageCache()
    async with serving({"/": answer(HTML)}) as server:
        first = await fetch(server, "/?q=1", cache)
        again = await fetch(server, "/?q=1", cache)
        await fetch(server, "/?q=2", cache)

        assert first == again
        assert server.targets == ["/?q=1", "/?q=2"]


async def test_errors_are_never_kept() -> None:
    routes: dict[str, bytes] = {}
    cache = PageCache()
    async with serving(routes) as server:
        with pytest.raises(NotFound):
            await fetch(server, "/", cache)
        routes["/"] = answer(b"\x89PNG", "image/png")
        with pytest.raises(InvalidArgs):
            await fetch(server, "/", cache)
        routes["/"] = answer(HTML)

        assert (await fetch(server, "/", cache)).title == "Päge"


async def test_what_a_wide_policy_fetched_is_not_shown_under_a_narrow_one() -> None:
    cache = PageCache()
    async with serving({"/": answer(HTML)}) as server:
        await fetch(server, "/", cache)
        with pytest.raises(PermissionDenied):
            await web_document(server.url("/"), Form.MARKDOWN, http=Http(), cache=cache)


async def test_a_document_comes_in_each_form() -> None:
    async with serving({"/": answer("<p>a <b>b</b><script>x</script>")}) as server:
        forms = {
            form: (await web_document(server.url(), form, http=Http(), allow=LOOPBACK)).markdown
            for form in Form
        }

    assert forms == {
        Form.MARKDOWN: "a **b**",
        Form.TEXT: "a\nb",
        Form.SOURCE: "<p>a <b>b</b><script>x</script>",
    }


async def test_a_page_of_30_megabytes_is_refused() -> None:
    async def large(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")
        for _ in range(30):
            writer.write(b"<p>" + b"word " * 200_000)
            await writer.drain()

    async with serving({"/": large}) as server:
        with pytest.raises(QuotaExceeded, match="document exceeds"):
            await fetch(server, "/")


class Repository:
    """The raw host as a port: what it would answer, and what it was asked."""

    def __init__(self, **files: bytes) -> None:
        self.files = files
        self.asked: list[str] = []

    async def get(
        self, url: str, *, allow: HostPolicy = PUBLIC, limits: FetchLimits = FETCH_LIMITS
    ) -> Fetched:
        self.asked.append(url)
        name = url.rpartition("/")[2].replace(".", "_")
        return Fetched(url, 200, {}, "text/plain", "utf-8", self.files[name])


async def test_a_file_on_github_is_taken_from_the_raw_host() -> None:
    http = Repository(a_py=b"one\ntwo\nthree\n")
    url = "https://github.com/o/r/blob/v1/src/a.py#L2-L3"

    page = await web_document(url, Form.MARKDOWN, http=http)

    assert http.asked == ["https://raw.githubusercontent.com/o/r/v1/src/a.py"]
    assert page.markdown == "```python\n2. two\n3. three\n```"
    assert page.title == "a.py"


async def test_each_slice_of_a_file_is_kept_by_itself() -> None:
    http, cache = Repository(a_py=b"one\ntwo\n"), PageCache()
    for lines, expected in (("#L1", "1. one"), ("#L2", "2. two"), ("#L1", "1. one")):
        url = f"https://github.com/o/r/blob/v1/a.py{lines}"
        page = await web_document(url, Form.MARKDOWN, http=http, cache=cache)
        assert page.markdown == f"```python\n{expected}\n```"

    assert len(http.asked) == 2


async def test_work_that_takes_too_long_is_left_behind() -> None:
    release = threading.Event()

    with pytest.raises(TimedOut, match="a page took longer"):
        await apart(release.wait, seconds=0.05, what="a page")

    release.set()


async def test_the_loop_goes_on_while_work_is_done_apart() -> None:
    release = threading.Event()
    working = asyncio.create_task(apart(release.wait, seconds=10, what="a page"))
    await asyncio.sleep(0)
    release.set()

    assert await working is True


async def test_an_error_beside_the_loop_is_raised_where_it_is_awaited() -> None:
    def fail() -> None:
        raise NotFound("gone", "Look elsewhere.")

    with pytest.raises(NotFound, match="gone"):
        await apart(fail, seconds=5, what="x")
