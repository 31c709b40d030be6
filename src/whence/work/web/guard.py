"""Pages that would cost a parser more than they are worth, recognised before it sees them.

HTML parsers take quadratic time for deep nesting and for tags with thousands of attributes, and
repeat every unclosed formatting element in each new paragraph. A page of a few hundred kilobytes
can so take minutes or gigabytes. These checks are cheap and know the usual shapes of it.
"""

from __future__ import annotations

import re

_MOST_STEPS = 100_000_000
_MOST_ELEMENTS = 1_000_000
_MOST_COMPARISONS = 300_000_000
_PIECES = 64
_STRIDE = 2_000
_TAG = re.compile(rb"<(/?)([a-z][^\s/>]*)")
_LONG_TAG = re.compile(rb"<[a-z][^<>]{4000,}")
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
    tags, open_at_once = _tags(text)
    if tags * _unclosed_formatting(text) > _MOST_ELEMENTS:
        return "leaves too many formatting elements open"
    if tags * open_at_once > _MOST_STEPS and _nesting_steps(text) > _MOST_STEPS:
        return "nests its elements too deeply"
    if _attribute_comparisons(text) > _MOST_COMPARISONS:
        return "has elements with too many attributes"
    return None


def _tags(html: bytes) -> tuple[int, int]:
    """How many tags there are, and about how many elements are open at once, at the most."""
    size = len(html) // _PIECES + 1
    tags = most = unclosed = 0
    for at in range(0, len(html), size):
        starts_and_ends = html.count(b"<", at, at + size)
        ends = html.count(b"</", at, at + size)
        tags += starts_and_ends
        most = max(most, unclosed + starts_and_ends - ends)
        unclosed += starts_and_ends - 2 * ends
    return tags, most


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


def _attribute_comparisons(html: bytes) -> int:
    """How often a parser that compares each attribute of a tag with the others would compare."""
    # A tag that is long enough covers a whole stride without an end of a tag in it.
    strides = range(0, len(html) - _STRIDE, _STRIDE)
    if all(html.find(b">", at, at + _STRIDE) >= 0 for at in strides):
        return 0
    tags = (_QUOTED.sub(b"", found[0]) for found in _LONG_TAG.finditer(html))
    return sum(len(_SEPARATOR.findall(tag)) ** 2 for tag in tags)
