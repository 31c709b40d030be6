"""Letters to marks: tags, attributes, RAW blocks, comments; bytes to text and back.

Everything is found by constant patterns and by `find`; nothing here looks at single characters, and
nothing is searched twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
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


def attributes(source: bytes, start: int, end: int) -> Iterator[Assigned]:
    """The attributes between the name of a tag and its end."""
    for found in _ATTRIBUTE.finditer(source, start, end):
        name, quoted, bare = found.groups()
        value: str | None = None
        if quoted is not None:
            value = unescape(to_text(quoted[1:-1]))
        elif bare is not None:
            value = to_text(bare)
        yield Assigned(name.decode(), value, *found.span())


def foreign_tags(source: bytes, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Names and places of everything that looks like an opening tag."""
    for found in _FOREIGN.finditer(source, start, end):
        yield to_text(found.group(1)), *found.span()


def at_line_start(source: bytes, at: int) -> bool:
    """Whether a line begins here."""
    return at == 0 or source[at - 1] == 10 or (at == 3 and source.startswith(BOM))


def after_word(source: bytes, at: int) -> bool:
    """Whether the character before is one of a word, as in `DRAW|`."""
    before = source[max(0, at - 4) : at].decode("utf-8", "ignore")[-1:]
    return before.isalnum() or before == "_"


@dataclass(frozen=True, slots=True)
class BadTag:
    """Why a tag is not well formed, and where reading goes on."""

    code: str
    message: str
    suggestion: str
    at: int
    resume: int
    """Behind the tag, as far as it can be told."""
    failed: int
    """How far reading came; going on from here costs nothing twice."""
    meant: bool
    """An attribute was given a value, so that it is no mere word in angle brackets."""


def bad_tag(source: bytes, start: int, name_end: int, limit: int) -> BadTag:
    """What is wrong with a tag that `TAG_REST` refused."""
    tag = to_text(source[start:name_end])
    odd = _end_of(_FINE, source, name_end, limit)
    if found := _ASSIGNED.match(source, odd, limit):
        return _unquoted(source, tag, found, limit)
    at = _end_of(_ANYTHING, source, odd, limit)
    if at > odd and source.startswith((b">", b"/>"), at):
        return _odd(source, tag, odd, source.index(b">", at) + 1)
    if found := _ASSIGNED.match(source, at, limit):
        return _unquoted(source, tag, found, limit)
    meant = source.find(b"=", name_end, at) >= 0
    return _unended(source, tag, start, at, limit, meant=meant)


def _end_of(pattern: re.Pattern[bytes], source: bytes, at: int, limit: int) -> int:
    found = pattern.match(source, at, limit)
    return found.end() if found else at


def _line_or_tag_end(source: bytes, at: int, limit: int) -> int:
    line = source.find(b"\n", at, limit)
    line = limit if line < 0 else line
    end = source.find(b">", at, line)
    return line if end < 0 else end + 1


def _unended(source: bytes, tag: str, start: int, at: int, limit: int, *, meant: bool) -> BadTag:
    return BadTag(
        "unclosed-tag",
        f"The tag {tag} has no end.",
        "End it with `>` or `/>`.",
        start,
        min(at, _line_or_tag_end(source, start, limit)),
        at,
        meant,
    )


def _odd(source: bytes, tag: str, odd: int, end: int) -> BadTag:
    return BadTag(
        "malformed-tag",
        f"{to_text(source[odd : odd + 1])!r} has no place in the tag {tag}.",
        'Write attributes as name="value", separated by spaces; look for a quote too many.',
        odd,
        end,
        end,
        True,
    )


def _unquoted(source: bytes, tag: str, found: re.Match[bytes], limit: int) -> BadTag:
    name, quote = found.group(1).decode(), found.group(2).decode()
    return BadTag(
        "unclosed-quote",
        f"The value of {name} in {tag} is never closed (expected {quote}).",
        f"Close it with {quote}; write {quote} inside a value as an entity, a last \\ as &#92;.",
        found.start(),
        _line_or_tag_end(source, found.end(), limit),
        found.end(),
        True,
    )
