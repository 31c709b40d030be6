"""Lines as they look: without the differences in white space and typography that models make."""

from __future__ import annotations

from unicodedata import normalize

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb"
_LOOKS = str.maketrans(
    {
        **dict.fromkeys(_DASHES, "-"),
        **dict.fromkeys(_SINGLE_QUOTES, "'"),
        **dict.fromkeys(_DOUBLE_QUOTES, '"'),
        "\u2026": "...",
    }
)


def fold(line: str) -> str:
    """The line with plain quotes, dashes and dots, and one space for each run of white space."""
    looks = line if line.isascii() else normalize("NFC", line).translate(_LOOKS)
    return " ".join(looks.split())
