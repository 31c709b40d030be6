"""What a server sent, by its type, as Markdown or as text."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum

from whence.errors import InvalidArgs, QuotaExceeded
from whence.shapes.web import Fetched
from whence.work.web.charset import to_text
from whence.work.web.fence import fenced
from whence.work.web.markdown import Converted, to_markdown
from whence.work.web.pdf import pdf_text
from whence.work.web.pretty import pretty_json
from whence.work.web.strip import tidy_lines, visible_text

TEXT_BYTES = 5_000_000
"""A document other than a PDF may not be larger."""


class Kind(StrEnum):
    """What can be made of a document."""

    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"
    JSON = "json"
    CODE = "code"
    """Text that is shown as it is, in a fence."""
    PDF = "pdf"


_EXACT = {
    "text/html": Kind.HTML,
    "application/xhtml+xml": Kind.HTML,
    "text/markdown": Kind.MARKDOWN,
    "text/x-markdown": Kind.MARKDOWN,
    "text/plain": Kind.TEXT,
    "application/json": Kind.JSON,
    "text/json": Kind.JSON,
    "application/pdf": Kind.PDF,
    "application/x-pdf": Kind.PDF,
}
_CODE = frozenset(
    "xml javascript ecmascript x-javascript typescript yaml x-yaml toml x-sh x-python sql graphql"
    " x-ndjson jsonl x-jsonlines x-httpd-php x-latex x-tex".split()
)
_UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream", "unknown/unknown"})
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_MAGIC = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a WebP image or a sound"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"ID3", "a sound"),
    (b"OggS", "a sound or a video"),
)


def kind_of(fetched: Fetched) -> Kind:
    """What a document is: what it says, or, where it says nothing, what it looks like.

    Raises:
        InvalidArgs: It is nothing that can be read as text.
    """
    if fetched.body[:1024].lstrip().startswith(b"%PDF-"):
        return Kind.PDF
    named = _named(fetched.content_type)
    if named is None and fetched.content_type not in _UNKNOWN:
        raise _unreadable(fetched, fetched.content_type)
    if named is not Kind.PDF and _is_binary(fetched):
        raise _unreadable(fetched, fetched.content_type or "unknown")
    if named is not None:
        return named
    return Kind.HTML if _HTML.search(fetched.body[:1024]) else Kind.TEXT


def as_markdown(fetched: Fetched) -> Converted:
    """A document as Markdown: pages converted, data and code in fences, text as it is."""
    kind, sent = _read(fetched)
    if kind is Kind.HTML:
        page = to_markdown(sent.markdown, url=fetched.url)
        return replace(page, warnings=sent.warnings + page.warnings)
    if kind is Kind.JSON:
        pretty, more = pretty_json(sent.markdown)
        return Converted(fenced(pretty, "json"), "", sent.warnings + more)
    if kind is Kind.CODE:
        return replace(sent, markdown=fenced(sent.markdown, _language(fetched.content_type)))
    return sent


def as_text(fetched: Fetched) -> Converted:
    """The visible text of a document, a line for each piece of it; what is no page, as it is."""
    kind, sent = _read(fetched)
    if kind is Kind.PDF:
        return sent
    show = visible_text if kind is Kind.HTML else tidy_lines
    return replace(sent, markdown=show(sent.markdown))


def as_source(fetched: Fetched) -> Converted:
    """A document as it was sent, HTML included; of a PDF its text."""
    return _read(fetched)[1]


def _read(fetched: Fetched) -> tuple[Kind, Converted]:
    kind = kind_of(fetched)
    if kind is Kind.PDF:
        return kind, pdf_text(fetched.body)
    if len(fetched.body) > TEXT_BYTES:
        raise QuotaExceeded(
            f"document exceeds {TEXT_BYTES} bytes: {fetched.url} has {len(fetched.body)}",
            "Fetch a smaller page, such as one chapter of it.",
        )
    markup = kind is Kind.HTML or fetched.content_type.endswith("xml")
    text, warnings = to_text(fetched.body, fetched.charset, markup=markup)
    return kind, Converted(text, "", warnings)


def _named(content_type: str) -> Kind | None:
    main, _, sub = content_type.partition("/")
    if content_type in _EXACT:
        return _EXACT[content_type]
    if sub.endswith("+json"):
        return Kind.JSON
    if main == "text" or (main == "application" and (sub in _CODE or sub.endswith("+xml"))):
        return Kind.CODE
    return None


def _language(content_type: str) -> str:
    sub = content_type.partition("/")[2].removeprefix("x-").removeprefix("vnd.")
    return "xml" if sub.endswith("+xml") else re.sub(r"[^\w+#-]", "", sub)


def _is_binary(fetched: Fetched) -> bool:
    utf16 = fetched.body.startswith((b"\xff\xfe", b"\xfe\xff"))
    wide = utf16 or (fetched.charset or "").lower().startswith("utf-16")
    return b"\0" in fetched.body[:8192] and not wide


def _unreadable(fetched: Fetched, content_type: str) -> InvalidArgs:
    looks = next((what for magic, what in _MAGIC if fetched.body.startswith(magic)), "")
    what = f"unsupported content-type: {content_type}" + (f", {looks}" if looks else "")
    return InvalidArgs(
        f"{fetched.url} is not a document of text ({what})",
        "Only HTML, text, Markdown, JSON, code and PDF can be read; look for such a version.",
        details={"content_type": content_type},
    )
