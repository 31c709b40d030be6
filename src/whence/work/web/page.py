"""The front door: an address in, a document that can be read out."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from functools import cache as once

from whence.shapes.web import FETCH_LIMITS, PUBLIC, Fetched, HostPolicy, HttpGetter
from whence.work.apart import apart
from whence.work.web.cache import Page, PageCache, page_key
from whence.work.web.content import Kind, as_markdown, as_source, as_text, kind_of
from whence.work.web.github import blob_of, shown
from whence.work.web.markdown import Converted


class Form(StrEnum):
    """What is made of a document."""

    MARKDOWN = "markdown"
    """Its main content as Markdown."""
    TEXT = "text"
    """All of its visible text, a line for each piece."""
    SOURCE = "source"
    """What the server sent."""


@once
def recent_pages() -> PageCache:
    """The pages that this program fetched a moment ago."""
    return PageCache()


async def web_document(
    url: str,
    form: Form,
    *,
    http: HttpGetter,
    cache: PageCache | None = None,
    allow: HostPolicy = PUBLIC,
) -> Page:
    """A page, from the cache if it is fresh; as Markdown, of a file on GitHub the named lines.

    Raises the errors of `HttpGetter.get`, and InvalidArgs for what cannot be read as text.
    """
    key = page_key(url, allow, form)
    kept = cache.get(key) if cache is not None else None
    if kept is not None:
        return kept
    blob = blob_of(url) if form is Form.MARKDOWN else None
    fetched = await http.get(blob.raw_url if blob else url, allow=allow)

    def convert() -> Converted:
        if blob is None or kind_of(fetched) is Kind.PDF:
            return _CONVERTERS[form](fetched)
        source = as_source(fetched)
        lines = shown(blob, source.markdown)
        return Converted(lines.markdown, lines.title, source.warnings + lines.warnings)

    done = await apart(convert, seconds=FETCH_LIMITS.seconds, what=url)
    page = Page(done.markdown, done.title, fetched.url, done.warnings)
    if cache is not None:
        cache.put(key, page)
    return page


def local_document(path: str, body: bytes, form: Form) -> str:
    """A file of this machine in any form.

    Raises:
        InvalidArgs: It is nothing that can be read as text.
        QuotaExceeded: It is too large to be converted.
    """
    kind = _TYPES.get(os.path.splitext(path)[1].lower(), "")
    return _CONVERTERS[form](Fetched(path, 200, {}, kind, None, body)).markdown


_TYPES = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "text/html"),
    **dict.fromkeys((".md", ".markdown"), "text/markdown"),
}
"""Of names that say it; the others are looked at."""
_CONVERTERS: dict[Form, Callable[[Fetched], Converted]] = {
    Form.MARKDOWN: as_markdown,
    Form.TEXT: as_text,
    Form.SOURCE: as_source,
}
