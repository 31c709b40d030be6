"""Pages that would cost a parser more than they are worth, recognised before it sees them.

HTML parsers take quadratic time for deep nesting and for tags with thousands of attributes, and
repeat every unclosed formatting element in each new paragraph. A page of a few hundred kilobytes
can so take minutes or gigabytes. These checks are cheap and know the usual shapes of it.
"""

from __future__ import annotations

import re

_FEW_TAGS = 40_000
_MOST_STEPS = 400_000_000
_MOST_ELEMENTS = 1_000_000
_MOST_ATTRIBUTES = 4_000
_STRIDE = 8_000
_TAG = re.compile(rb"<(/?)([a-z][^\s/>]*)")
_LONG_TAG = re.compile(rb"<[a-z][^<>]{16000,}")
_QUOTED = re.compile(rb""""[^"]*"|'[^']*'""")
_SEPARATOR = re.compile(rb"[\s/]+")
_FORMATTING = re.compile(rb"<(/?)(?:[bisu]|em|tt|big|code|font|nobr|small|strike|strong)[\s>]")
_NEVER_DEEP = frozenset(
    b"a area base br col dd dt embed hr img input li link meta option p source tbody td tfoot th"
    b" thead tr track wbr".split()
)
"""Empty elements, and those that a parser closes by itself when the next one comes."""


def tangle(html: bytes) -> str | None:
    """What makes a page too dear to parse, in words; None for pages as they should be."""
    text = html.lower()
    tags = text.count(b"<")
    if tags * _unclosed_formatting(text) > _MOST_ELEMENTS:
        return "leaves too many formatting elements open"
    if tags > _FEW_TAGS and _nesting_steps(text) > _MOST_STEPS:
        return "nests its elements too deeply"
    if _most_attributes(text) > _MOST_ATTRIBUTES:
        return "has elements with too many attributes"
    return None


def _unclosed_formatting(html: bytes) -> int:
    found = _FORMATTING.findall(html)
    return max(len(found) - 2 * found.count(b"/"), 0)


def _nesting_steps(html: bytes) -> int:
    """How often a parser that looks through all open elements at each tag would look."""
    steps = 0
    opened: list[bytes] = []
    for end, name in _TAG.findall(html):
        steps += len(opened)
        if name in _NEVER_DEEP:
            continue
        if not end:
            opened.append(name)
        elif opened and opened[-1] == name:
            opened.pop()
    return steps


def _most_attributes(html: bytes) -> int:
    # A tag that is long enough covers a whole stride without an end of a tag in it.
    strides = range(0, len(html) - _STRIDE, _STRIDE)
    if all(html.find(b">", at, at + _STRIDE) >= 0 for at in strides):
        return 0
    tags = (_QUOTED.sub(b"", found[0]) for found in _LONG_TAG.finditer(html))
    return max((len(_SEPARATOR.findall(tag)) for tag in tags), default=0)
