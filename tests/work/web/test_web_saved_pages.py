"""Saved pages, served and fetched: one of our own, and Python's documentation where it is."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.local_server import LOOPBACK, answer, serving

from whence.execute.http import Http
from whence.work.web.cache import Page
from whence.work.web.page import Form, web_document

pytestmark = pytest.mark.anyio

SAMPLES = Path(__file__).parent / "samples"
PYTHON_PAGES = ["library/functions", "library/os", "library/stdtypes", "tutorial/datastructures"]
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)")


async def fetched(place: Path, name: str) -> tuple[bytes, Page]:
    source = (place / f"{name}.html").read_bytes()
    async with serving({f"/deep/{name}.html": answer(source, "text/html")}) as server:
        url = server.url(f"/deep/{name}.html")
        return source, await web_document(url, Form.MARKDOWN, http=Http(), allow=LOOPBACK)


def python_documentation() -> Path:
    """Where the pages are: named by PYTHON_DOCS_HTML, or where Debian puts them."""
    places = [Path(os.environ.get("PYTHON_DOCS_HTML", "/nonexistent"))]
    places += sorted(Path("/usr/share/doc").glob("python3*/html"))
    for place in places:
        if (place / "library/functions.html").is_file():
            return place
    pytest.skip("no saved pages: install the Debian package python3-doc")


async def test_our_own_sample_is_valid_markdown() -> None:
    source, page = await fetched(SAMPLES, "manual")
    assert_valid(source, page)

    text = page.markdown
    base = page.url.rpartition("/deep/")[0]
    assert page.title == "Kettles — Python-style manual 1.0"
    assert f"A [kettle]({base}/glossary.html#term-kettle) boils `water only`" in text
    assert "```python3\n>>> kettle.boil(2)\n'hot'  # <3\n```" in text
    assert "| Litres | Minutes \\| seconds | Use |" in text
    assert "````\nplain\n  ```\n    text\n````" in text
    assert "4. fill" in text
    assert "[milk](http://milk.test/x)" in text
    assert " and nothing." in text
    assert "Kept note." in text
    for surrounding in ("home", "Advertisement", "The shop", "the shop", "OPTIONS", "not this one"):
        assert surrounding not in text


@pytest.mark.parametrize("name", PYTHON_PAGES)
async def test_a_page_of_the_documentation_is_valid_markdown(name: str) -> None:
    source, page = await fetched(python_documentation(), name)

    assert_valid(source, page)
    assert len(LINK.findall(page.markdown)) > 20


def assert_valid(source: bytes, page: Page) -> None:
    assert page.warnings == ()
    assert "Python" in page.title
    assert page.markdown.startswith("# ")
    assert_fences_close(page.markdown, source.count(b"<pre>"))
    prose = re.sub(r"(`{3,}).*?\1", "", page.markdown, flags=re.DOTALL)
    assert_tables_are_even(prose, source.count(b"<table"))
    assert "¶" not in prose
    assert "Table of Contents" not in prose
    assert "<span" not in prose
    links = LINK.findall(prose)
    assert all(link.startswith(("http://", "https://", "mailto:")) for link in links)


def assert_fences_close(markdown: str, expected: int) -> None:
    opened = None
    blocks = 0
    for ticks, language in re.findall(r"^ *(?:> ?)*(`{3,})([\w-]*)$", markdown, flags=re.MULTILINE):
        if opened is None:
            opened = ticks
        elif ticks == opened and not language:
            opened, blocks = None, blocks + 1

    assert (opened, blocks) == (None, expected)


def assert_tables_are_even(markdown: str, expected: int) -> None:
    tables = re.findall(r"(?:^[ >]*\|.*\|$\n?)+", markdown, flags=re.MULTILINE)

    assert len(tables) == expected
    for table in tables:
        rows = table.strip().split("\n")
        widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
        assert len(widths) == 1, table[:500]
        assert set(rows[1].strip()) <= set("|-: >")
