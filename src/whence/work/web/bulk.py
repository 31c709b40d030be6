"""How much larger than its HTML a page becomes as Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_MOST_CELLS = 1_000_000
_MOST_NESTED = 30
"""Lists, quotations and tables in one another: each line of the innermost pays for all."""
_WIDEST_SPAN = 1000


def bulk(page: LexborHTMLParser) -> str | None:
    """What would make the Markdown of a page huge, in words; None if nothing does."""
    found = page.css("ul,ol,dl,blockquote,table")
    depths: dict[int, int] = {}
    for node in found:
        depths[node.mem_id] = 1 + _depth_above(node, depths)
    if max(depths.values(), default=0) > _MOST_NESTED:
        return "nests its elements too deeply"
    if sum(_cells(node) for node in found if node.tag == "table") > _MOST_CELLS:
        return "has a table that is too large"
    return None


def _depth_above(node: LexborNode, depths: dict[int, int]) -> int:
    above = node.parent
    while above is not None:
        found = depths.get(above.mem_id)
        if found is not None:
            return found
        above = above.parent
    return 0


def _cells(table: LexborNode) -> int:
    """The number of cells, when each row is made as wide as the widest."""
    widths: Counter[int] = Counter()
    for cell in table.css("td,th"):
        if cell.parent is not None:
            widths[cell.parent.mem_id] += _span(cell.attributes.get("colspan"))
    return len(table.css("tr")) * max(widths.values(), default=0)


def _span(text: str | None) -> int:
    digits = (text or "").strip()
    known = digits.isascii() and digits.isdecimal()
    return min(int(digits[:6]), _WIDEST_SPAN) if known else 1
