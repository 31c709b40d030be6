"""The text of a page without its markup."""

from __future__ import annotations

import html as entities
import re
from typing import TYPE_CHECKING

from whence.work.web.extras import web_extra
from whence.work.web.guard import tangle

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

UNSEEN = ("script", "style", "template", "noscript")
"""Elements whose text no reader sees."""
_BLOCKS = (
    ("<!--", re.compile("-->")),
    *((f"(?i)<{name}\\b", re.compile(f"(?i)</{name}[^>]*>")) for name in UNSEEN),
)


def visible_text(html: str) -> str:
    """Every piece of text of a page on its own line, trimmed; scripts and styles left out."""
    with web_extra():
        from selectolax.lexbor import LexborHTMLParser
    data = html.encode("utf-8", "replace")
    if tangle(data):
        return crude_text(html)
    return text_of(LexborHTMLParser(data))


def text_of(page: LexborHTMLParser) -> str:
    """The same for a parsed page, which loses its scripts and styles."""
    for node in page.css(",".join(UNSEEN)):
        node.decompose()
    return tidy_lines(page.root.text(separator="\n")) if page.root is not None else ""


def crude_text(html: str) -> str:
    """The same without parsing, in linear time for any input; for pages that defeat parsers."""
    for begin, end in _BLOCKS:
        first, *rest = re.split(begin, html)
        html = first + "\n".join(_after(end, piece) for piece in rest)
    first, *rest = html.split("<")
    pieces = (piece.partition(">")[2] for piece in rest)
    return tidy_lines(entities.unescape("\n".join([first, *pieces])))


def tidy_lines(text: str) -> str:
    """The lines of a text that are not empty, trimmed."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _after(end: re.Pattern[str], piece: str) -> str:
    found = end.search(piece)
    return piece[found.end() :] if found else ""
