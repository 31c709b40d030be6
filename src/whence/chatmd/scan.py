"""Letters to marks: tags, attributes, RAW blocks, comments; bytes to text and back.

Everything is found by constant patterns and by `find`; nothing here looks at single characters, and
nothing is searched twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from whence.chatmd.grammar import ELEMENTS

BOM = b"\xef\xbb\xbf"
RAW_OPEN, RAW_CLOSE = b"RAW|", b"|RAW"

_NAME = rb"[A-Za-z0-9_:-]++"
# A backslash keeps the quote after it inside the value, and stays there itself.
_QUOTED = rb'"[^"\\]*+(?:\\"?[^"\\]*+)*+"' + rb"|'[^'\\]*+(?:\\'?[^'\\]*+)*+'"
_BARE = rb"""[^\s"'<>/](?:[^\s"'<>/]|/(?!>))*+|/(?!>)(?:[^\s"'<>/]|/(?!>))*+"""
# An opened quote that never ends must not pass for a name alone.
_NOT_OPENED = rb"(?!\s*+=\s*+[\"'])"
_ANY = (
    rb"(?:" + _NAME + rb"(?:\s*+=\s*+(?:" + _QUOTED + rb"|" + _BARE + rb"))?" + _NOT_OPENED + rb")"
)
_NAMES = b"|".join(name.encode() for name in sorted(ELEMENTS, key=len, reverse=True))

MARK = re.compile(rb"<(?:(/?)(" + _NAMES + rb")(?=[\s/>])|!--)")
"""A tag of the closed set, up to its name, or the start of a comment."""
TAG_REST = re.compile(rb"(?:\s*+" + _ANY + rb")*+\s*+(/?)>")
"""What follows the name in a tag that is well formed; its group is the slash."""
_ATTRIBUTE = re.compile(
    rb"(%s)(?:\s*+=\s*+(?:(%s)|(%s)))?%s" % (_NAME, _QUOTED, _BARE, _NOT_OPENED)
)
_FINE = re.compile(rb"(?:\s*+" + _ANY + rb")*+\s*+")
_ANYTHING = re.compile(rb"(?:\s++|" + _ANY + rb"|[^\sA-Za-z0-9_:<>/-]|/(?!>))*+")
TAG_END = re.compile(rb"\s*+>")
SPACE = re.compile(rb"\s*+")
_ASSIGNED = re.compile(rb"(" + _NAME + rb")\s*+=\s*+([\"'])")
_RAW = re.compile(rb"(?<![A-Za-z0-9_])RAW\|")
_FOREIGN = re.compile(rb"<([A-Za-z_][\w:.-]*+)")
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def to_bytes(text: str) -> bytes:
    """The bytes of any text, lone surrogates included; `to_text` gives it back."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """The text of any bytes; what is not UTF-8 becomes lone surrogates and never an error."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


def _entity(found: re.Match[str]) -> str:
    name, decimal, hexadecimal = found.groups()
    if name:
        return _ENTITIES[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code <= 0x10FFFF else found.group()


def unescape(value: str) -> str:
    """An attribute's value with its entities decoded; unknown ones stay as they are."""
    return _ENTITY.sub(_entity, value) if "&" in value else value


class Assigned(NamedTuple):
    """One attribute where it stands."""

    name: str
    value: str | None
    start: int
    end: int


MOST_ATTRIBUTES = 1000
"""How many attributes of one tag count."""


def attributes(source: bytes, start: int, end: int) -> Iterator[Assigned]:
    """The attributes between the name of a tag and its end, up to a sane number."""
    for found in islice(_ATTRIBUTE.finditer(source, start, end), MOST_ATTRIBUTES):
        name, quoted, bare = found.groups(b"")
        yield Assigned(name.decode(), _value(quoted, bare), *found.span())


def values(source: bytes, start: int, end: int) -> list[tuple[str, str | None]]:
    """Names and values of the same attributes, where nobody asks for their places."""
    if end - start < 2:
        return []
    if end - start > 1 << 16:
        return [(one.name, one.value) for one in attributes(source, start, end)]
    found = _ATTRIBUTE.findall(source, start, end)[:MOST_ATTRIBUTES]
    return [(name.decode(), _value(quoted, bare)) for name, quoted, bare in found]


def _value(quoted: bytes, bare: bytes) -> str | None:
    if quoted:
        return unescape(to_text(quoted[1:-1]))
    return to_text(bare) if bare else None


def foreign_tags(source: bytes, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Names and places of everything that looks like an opening tag."""
    for found in _FOREIGN.finditer(source, start, end):
        yield to_text(found.group(1)), *found.span()


def at_line_start(source: bytes, at: int) -> bool:
    """Whether a line begins here."""
    return at == 0 or source[at - 1] == 10 or (at == 3 and source.startswith(BOM))


def raw_opener(source: bytes, start: int, end: int) -> int:
    """Where the first RAW block opens, or -1; the end of a word, as in `DRAW|`, opens none."""
    at = source.find(RAW_OPEN, start, end)
    while at > start and _after_letter(source, at):
        found = _RAW.search(source, at + 4, end)
        at = found.start() if found else -1
    return at


def _after_letter(source: bytes, at: int) -> bool:
    before = source[max(0, at - 4) : at].decode("utf-8", "ignore")[-1:]
    return before.isalnum() or before == "_"


class BadTag(NamedTuple):
    """Why a tag is not well formed, and where reading goes on."""

    code: str
    at: int
    resume: int
    """Behind the tag, as far as it can be told."""
    failed: int
    """How far reading came; going on from here costs nothing twice."""
    tag_end: int
    """Up to here there are attributes."""
    meant: bool
    """An attribute was given a value, so that it is no mere word in angle brackets."""
    words: dict[str, str]


def bad_tag(source: bytes, start: int, name_end: int, limit: int) -> BadTag:
    """What is wrong with a tag that `TAG_REST` refused."""
    odd = _end_of(_FINE, source, name_end, limit)
    if found := _ASSIGNED.match(source, odd, limit):
        return _unquoted(source, found, limit)
    at = _end_of(_ANYTHING, source, odd, limit)
    if swallowing := _swallowing(source, name_end, odd):
        return _unquoted(source, swallowing, limit)._replace(failed=at)
    if at > odd and source.startswith((b">", b"/>"), at, limit):
        end = source.index(b">", at, limit) + 1
        words = {"text": repr(to_text(source[odd : odd + 1]))}
        return BadTag("malformed-tag", odd, end, end, end, meant=True, words=words)
    if found := _ASSIGNED.match(source, at, limit):
        return _unquoted(source, found, limit)
    resume = at if at < limit else _line_or_tag_end(source, start, limit)
    meant = source.find(b"=", name_end, at) >= 0
    return BadTag("unclosed-tag", start, resume, at, at, meant, {})


def _unquoted(source: bytes, found: re.Match[bytes], limit: int) -> BadTag:
    words = {"name": found.group(1).decode(), "quote": found.group(2).decode()}
    resume = _line_or_tag_end(source, found.end(), limit)
    start = found.start()
    return BadTag("unclosed-quote", start, resume, found.end(), start, meant=True, words=words)


def _swallowing(source: bytes, start: int, end: int) -> re.Match[bytes] | None:
    """The first value that holds a whole tag: its quote was probably meant to end before."""
    for found in islice(_ATTRIBUTE.finditer(source, start, end), MOST_ATTRIBUTES):
        if found.group(2) and MARK.search(source, *found.span(2)):
            return _ASSIGNED.match(source, found.start())
    return None


def _end_of(pattern: re.Pattern[bytes], source: bytes, at: int, limit: int) -> int:
    found = pattern.match(source, at, limit)
    return found.end() if found else at


def _line_or_tag_end(source: bytes, at: int, limit: int) -> int:
    line = source.find(b"\n", at, limit)
    line = limit if line < 0 else line
    end = source.find(b">", at, line)
    return line if end < 0 else end + 1
