"""Code blocks that no content can break out of."""

from __future__ import annotations

import re

_TICKS = re.compile(r"`{3,}")


def fenced(text: str, language: str = "") -> str:
    """A fenced code block; the fence is longer than any inside the text."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    body = text.removesuffix("\n")
    return f"{fence}{language}\n{body}\n{fence}"
