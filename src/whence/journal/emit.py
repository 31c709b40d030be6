"""YAML text for the journal: values come back from any YAML reader as they went in.

A string is written plain where no reader could take it for anything else, as a literal block where
it has lines, and double-quoted otherwise. Three backticks in a row never appear, so that a block
ends where its fence says it does. What YAML cannot carry (half of a surrogate pair) is spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from whence.errors import InvalidArgs
from whence.journal.prose import comment_lines
from whence.shapes.call import Comment

Notes: TypeAlias = "dict[str, tuple[list[str], Notes]]"
"""Comments by key: the texts above it, and those of the keys below."""

MAX_DEPTH = 64
PLENTY = 1 << 62
"""Integers below it are written as they are."""
_TOO_DEEP = '"[left out: nested deeper than 64 levels]"'
_ONE_LINE = frozenset({"type", "tool", "call_id"})
_FLOW_WIDTH = 100
_KEY_WIDTH = 1000  # YAML readers give up on a simple key of more than 1024 characters

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+@-]*").fullmatch
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# Not allowed raw: controls, line breaks other than \n, bidirectional overrides, BOM, surrogates.
_RAW = (
    "\x20-\x7e\xa0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff"
    "\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
)
_ESCAPED = re.compile(f'["\\\\]|`{{3,}}|[^{_RAW}]')
_NOT_LITERAL = re.compile(f"```|[^\t\n{_RAW}]").search
KNOWN: dict[str, str] = {}
"""Scalars of one line as they were written: names of tools, paths and words come again."""
_REMEMBERED = 4096
_NO_NOTES: tuple[list[str], None] = ([], None)
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def emit(
    fields: Mapping[str, Any], comments: Sequence[Comment] = (), *, kind: str | None = None
) -> str:
    """The lines of one mapping, each comment above the key that it is about; `type` comes first."""
    out: list[str] = []
    notes: Notes | None = None
    if comments:
        whole, notes = _arranged(comments, fields)
        out.extend(f"{line}\n" for line in comment_lines(whole))
    if kind is not None:
        out.append(f"type: {scalar(kind)}\n")
    _mapping(out, fields, 0, notes)
    return "".join(out)


def scalar(text: str) -> str:
    """A string on one line: plain where that is safe, else double-quoted."""
    known = KNOWN.get(text)
    if known is not None:
        return known
    written = _scalar(text)
    if len(text) <= 64 and "\n" not in text:
        if len(KNOWN) >= _REMEMBERED:
            KNOWN.clear()
        KNOWN[text] = written
    return written


def _scalar(text: str) -> str:
    if " " not in text and _PLAIN(text) and (len(text) > 5 or text.lower() not in _WORDS):
        return text
    if text.isprintable() and '"' not in text and "\\" not in text and "```" not in text:
        return f'"{text}"'
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    if char[0] == "`":
        return "\\x60" * len(char)
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        return f"\\\\u{code:04x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _literal(text: str, indent: int) -> str:
    """A literal block; quoted where a reader would change its characters."""
    if _NOT_LITERAL(text):
        return scalar(text)
    pad = " " * (indent + 2)
    lines = text.split("\n")
    chomp = "-"
    if not lines[-1]:
        lines.pop()
        chomp = "+" if text == "\n" or text.endswith("\n\n") else ""
    body = "\n".join([pad + line if line else "" for line in lines])
    return f"|2{chomp}\n{body}"


def _number(value: float) -> str:
    text = repr(value)
    if "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(text, text)


def _integer(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # Python neither prints nor parses very long decimals
        return hex(value)


_ATOMS: dict[type, Callable[[Any], str]] = {
    str: scalar,
    int: _integer,
    bool: lambda value: "true" if value else "false",
    float: _number,
    type(None): lambda _: "null",
}


def _atom(value: object) -> str | None:
    """The one-line text of a scalar; None for a container."""
    write = _ATOMS.get(type(value))
    if write is not None:
        return write(value)
    for base in (str, int, float):
        if isinstance(value, base):
            return _ATOMS[base](base(value))
    return None


def simple_key(key: str, pad: str) -> str:
    """A key as it stands before its colon."""
    text = scalar(key)
    return text if len(text) <= _KEY_WIDTH else f"? {text}\n{pad}"


def _mapping(out: list[str], fields: Mapping[str, Any], indent: int, notes: Notes | None) -> None:
    pad = " " * indent
    below = None
    for key, value in fields.items():
        if notes:
            texts, below = notes.get(key, _NO_NOTES)
            out.extend(f"{pad}{line}\n" for line in comment_lines(texts))
        name = KNOWN.get(key) or simple_key(key, pad)
        kind = type(value)
        if kind is str and ("\n" not in value or (indent == 0 and key in _ONE_LINE)):
            out.append(f"{pad}{name}: {KNOWN.get(value) or scalar(value)}\n")
        elif kind is int and -PLENTY < value < PLENTY:
            out.append(f"{pad}{name}: {value}\n")
        elif kind is dict and value and indent < 2 * MAX_DEPTH:
            out.append(f"{pad}{name}:\n")
            _mapping(out, value, indent + 2, below)
        else:
            _node(out, f"{pad}{name}:", value, indent, below)


def _node(out: list[str], lead: str, value: Any, indent: int, notes: Notes | None) -> None:
    """One value after its key or dash."""
    kind = type(value)
    if kind is str and "\n" in value:
        out.append(f"{lead} {_literal(value, indent)}\n")
    elif kind in _ATOMS:
        out.append(f"{lead} {_ATOMS[kind](value)}\n")
    elif indent >= 2 * MAX_DEPTH:
        out.append(f"{lead} {_TOO_DEEP}\n")
    elif kind is list:
        _sequence(out, lead, value, indent, notes)
    elif kind is dict or isinstance(value, Mapping):
        out.append(f"{lead}\n" if value else f"{lead} {{}}\n")
        _mapping(out, value, indent + 2, notes)
    elif (text := _atom(value)) is not None:
        out.append(f"{lead} {text}\n")
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        _sequence(out, lead, value, indent, notes)
    else:
        raise InvalidArgs(
            f"a {kind.__name__} cannot be written to the journal: {value!r:.80}",
            "Pass JSON values only: strings, numbers, booleans, null, lists and objects.",
        )


def _sequence(
    out: list[str], lead: str, items: Sequence[Any], indent: int, notes: Notes | None
) -> None:
    if not notes and (flow := _flow(items, anyhow=indent == 0)) is not None:
        out.append(f"{lead} {flow}\n")
        return
    out.append(f"{lead}\n")
    pad = " " * (indent + 2)
    for index, item in enumerate(items):
        texts, below = (notes or {}).get(str(index), ((), None))
        out.extend(f"{pad}{line}\n" for line in comment_lines(texts))
        if isinstance(item, Mapping) and item and indent + 2 < 2 * MAX_DEPTH:
            start = len(out)
            _mapping(out, item, indent + 4, below)
            out[start] = f"{pad}- {out[start][indent + 4 :]}"
        else:
            _node(out, f"{pad}-", item, indent + 2, below)


def _flow(items: Sequence[Any], *, anyhow: bool) -> str | None:
    """Scalars as `[a, b]`; at column 0 whatever its width, since queries read such lines."""
    texts: list[str] = []
    for item in items:
        write = _ATOMS.get(type(item))
        text = write(item) if write else _atom(item)
        if text is None:
            return None
        texts.append(text)
    flow = f"[{', '.join(texts)}]"
    return flow if anyhow or len(flow) <= _FLOW_WIDTH else None


def _arranged(comments: Iterable[Comment], fields: Mapping[str, Any]) -> tuple[list[str], Notes]:
    """The comments on the whole, and the others by the deepest key that exists."""
    whole: list[str] = []
    notes: Notes = {}
    for comment in comments:
        texts, level = whole, notes
        for key in _existing(comment.at, fields):
            texts, level = level.setdefault(key, ([], {}))
        texts.append(comment.text)
    return whole, notes


def _existing(at: Sequence[str], value: Any) -> Iterable[str]:
    for key in at:
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list | tuple) and key in map(str, range(len(value))):
            value = value[int(key)]
        else:
            return
        yield key
