"""HTML to Markdown: what a page says, without what surrounds it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from whence.errors import QuotaExceeded
from whence.work.web.bulk import bulk
from whence.work.web.extras import web_extra
from whence.work.web.guard import tangle
from whence.work.web.strip import crude_text, text_of

if TYPE_CHECKING:
    from html_to_markdown import ConversionOptions
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MOST_HTML = 30_000_000
"""Bytes; more is refused."""
_MOST_DEPTH = 200
_CONTENT = "main,[role=main],article"
_DROPPED = (
    *"nav footer dialog iframe object canvas svg button select textarea".split(),
    *"[role=navigation] [role=contentinfo] [role=search] [aria-hidden=true]".split(),
    *"a.headerlink a.anchor .sr-only .visually-hidden .tooltipped td.linenos td.gutter".split(),
)
"""Left out by the converter, which understands simple selectors only, but quickly.

Scripts, styles and what is hidden it leaves out by itself.
"""
_CLEANED = (
    "header:not(article *, main *, [role=main] *),"
    'aside:not(section *, [role^="doc-"],[role=note],[class*=footnote],[class*=admonition]),'
    "span:is([hidden],[aria-hidden=true],.sr-only,.visually-hidden,.mw-editsection,.linenos,"
    '.tooltipped,[style*="display:none"],[style*="display: none"]),'
    'a:is([title],[href^=" "],[href^="\\A "],[href^="javascript:" i]),'
    ":is(b,strong,i,em,s,del):has(table,pre)"
)
"""Dropped before; links with something to remove: titles, blanks, scripts as addresses; and what
would put its signs into the first and last line of a block."""
_FORMATTING = frozenset({"b", "strong", "i", "em", "s", "del"})
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:highlight-(?:source-|text-)?|language-|lang-|brush:\s*)([\w+#.-]+)"
)
_NO_LANGUAGE = frozenset({"default", "none", "text", "plain", "plaintext", "notranslate"})


@dataclass(frozen=True, slots=True)
class Converted:
    """A page as Markdown."""

    markdown: str
    title: str = ""
    warnings: tuple[str, ...] = ()


def to_markdown(html: str, *, url: str = "") -> Converted:
    """The main content of a page; links become absolute if `url` says where it came from.

    Any input gives a result: what cannot be laid out is given as plain text, with a warning.

    Raises:
        QuotaExceeded: It is longer than `MOST_HTML`.
        Unavailable: The libraries are not installed.
    """
    with web_extra():
        from selectolax.lexbor import LexborHTMLParser
    data = html.encode("utf-8", "replace")
    if len(data) > MOST_HTML:
        raise QuotaExceeded(
            f"document exceeds {MOST_HTML} bytes: it has {len(data)}",
            "Fetch a smaller page, such as one chapter of it.",
        )
    reason = tangle(data)
    if reason:
        return _text_only(crude_text(html), "", reason)
    page = LexborHTMLParser(data)
    title = _title(page)
    markdown, reason = "", bulk(page)
    if reason is None:
        markdown, reason = _laid_out(page, _base(page, url))
    if markdown:
        return Converted(markdown, title)
    return _text_only(text_of(page), title, reason or "has nothing that looks like content")


def _laid_out(page: LexborHTMLParser, base: str) -> tuple[str, str | None]:
    """The Markdown of the first candidate that has any, or why there is none."""
    _clean(page)
    reason = None
    for node in _candidates(page):
        _name_languages(node)
        node.unwrap_tags(["span"])  # they mean nothing here, and a highlighter leaves thousands
        markdown, reason = _convert(node.inner_html or "", base)
        if markdown or reason:
            return markdown, reason
    return "", reason


def _convert(html: str, base: str) -> tuple[str, str | None]:
    with web_extra():
        from html_to_markdown import ConversionError, WarningKind, convert
    try:
        result = convert(html, _options(base))
    except ConversionError as error:
        return "", f"cannot be converted ({error})"
    if any(warning.kind == WarningKind.DEPTH_LIMIT_EXCEEDED for warning in result.warnings):
        return "", "nests its elements too deeply"
    return (result.content or "").strip(), None


@lru_cache(maxsize=16)
def _options(base: str) -> ConversionOptions:
    from html_to_markdown import ConversionOptions, PreprocessingOptions

    return ConversionOptions(
        extract_metadata=False,
        preprocessing=PreprocessingOptions(enabled=False),
        exclude_selectors=list(_DROPPED),
        inline_data_media="alt_text_only",
        compact_tables=True,
        max_depth=_MOST_DEPTH,
        base_url=base or None,
    )


def _clean(page: LexborHTMLParser) -> None:
    for node in page.css(_CLEANED):
        if node.tag == "a":
            _clean_link(node)
        elif node.tag in _FORMATTING:
            node.unwrap()
        else:
            node.decompose()


def _clean_link(link: LexborNode) -> None:
    if link.attributes.get("title") is not None:
        del link.attrs["title"]
    href = link.attributes.get("href") or ""
    if href != href.strip():
        link.attrs["href"] = href.strip()
    if href.strip().lower().startswith("javascript:"):
        link.unwrap()


def _candidates(page: LexborHTMLParser) -> list[LexborNode]:
    """Where the content may be, the best place first, and all of the page at last."""
    found = page.css(_CONTENT)
    rendered = [node for node in found if "markdown-body" in (node.attributes.get("class") or "")]
    mains = [node for node in found if node.tag != "article"]
    articles = [node for node in found if node.tag == "article"]
    if len(mains) > 1:
        mains.sort(key=lambda node: len(node.text()), reverse=True)
    alone = articles if len(articles) == 1 else []  # several are a list of teasers
    body = [page.body] if page.body is not None else []
    return [*rendered[:1], *mains[:1], *alone, *body]


def _name_languages(node: LexborNode) -> None:
    """Tell the converter the language of each code block, wherever the highlighter noted it."""
    for block in node.css("pre"):
        language = _language(block)
        if language:
            block.attrs["class"] = f"language-{language}"


def _language(block: LexborNode) -> str:
    code, parent = block.css_first("code"), block.parent
    above = parent.parent if parent is not None else None
    for node in (code, block, parent, above):
        found = _LANGUAGE.search(node.attributes.get("class") or "") if node is not None else None
        if found:
            return "" if found[1] in _NO_LANGUAGE else found[1]
    return ""


def _title(page: LexborHTMLParser) -> str:
    found = page.head.css_first("title") if page.head is not None else None
    return " ".join(found.text().split()) if found is not None else ""


def _base(page: LexborHTMLParser, url: str) -> str:
    found = page.head.css_first("base[href]") if page.head is not None else None
    try:
        return urljoin(url, found.attributes.get("href") or "") if found is not None else url
    except ValueError:
        return url


def _text_only(text: str, title: str, reason: str) -> Converted:
    if not text:
        return Converted("", title, ("The page has no text; it may be built by scripts.",))
    return Converted(text, title, (f"The page {reason}; this is its text without layout.",))
