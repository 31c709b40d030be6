"""How large the tables of a page become as Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_WIDEST_SPAN = 1000


def cells(page: LexborHTMLParser) -> int:
    """The number of cells if each row were as wide as the widest of its table, as in Markdown."""
    widths: Counter[int] = Counter()
    rows: Counter[int] = Counter()
    widest: Counter[int] = Counter()
    for outermost in page.css("table:not(table *)"):
        for cell in outermost.css("td,th"):
            if cell.parent is not None:
                widths[cell.parent.mem_id] += _span(cell.attributes.get("colspan"))
        for row in outermost.css("tr"):
            table = row.parent.parent if row.parent is not None else None
            if table is not None:
                rows[table.mem_id] += 1
                widest[table.mem_id] = max(widest[table.mem_id], widths[row.mem_id])
    return sum(count * widest[table] for table, count in rows.items())


def _span(text: str | None) -> int:
    digits = (text or "").strip()
    known = digits.isascii() and digits.isdecimal()
    return min(int(digits[:6]), _WIDEST_SPAN) if known else 1
