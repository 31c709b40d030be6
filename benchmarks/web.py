"""HTML to Markdown on the pages of Python's own documentation, beside the fastest library alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result, Skipped, compare, of_function
from whence.work.web.markdown import to_markdown

URL = "https://docs.python.org/3/library/"


def ratios() -> Iterator[Result]:
    what = "webpage to Markdown, python3-doc ÷ html-to-markdown without metadata"
    pages = _pages()
    if not pages:
        reason = "install the Debian package python3-doc, or set PYTHON_DOCS_HTML"
        yield Skipped("H", what, reason)
        return
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(extract_metadata=False)
    ours = of_function(lambda: [to_markdown(page, url=URL) for page in pages])
    theirs = of_function(lambda: [convert(page, options) for page in pages])
    yield compare("H", f"{what}, {len(pages)} pages", ours, theirs, goal=1.2)


def _pages() -> list[str]:
    """The library reference: named by PYTHON_DOCS_HTML, or where Debian puts it."""
    places = [Path(os.environ.get("PYTHON_DOCS_HTML", "/nonexistent"))]
    places += sorted(Path("/usr/share/doc").glob("python3*/html"))
    for place in places:
        found = sorted((place / "library").glob("*.html"))
        if found:
            return [page.read_text(encoding="utf-8") for page in found]
    return []
