"""Bytes of the web to text."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]+)""")
_META_WITHIN = 1024
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "utf-16": "utf-16-le",
}
"""Browsers read these labels as the larger code, because pages mean it."""
_KNOWN = frozenset(
    "utf-8 utf-16-le utf-16-be cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp866"
    " cp874 cp932 cp949 gb18030 big5 big5hkscs euc_jp iso2022_jp koi8-r koi8-u mac-roman"
    " mac-cyrillic iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8"
    " iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16".split()
)
"""Python knows codecs that are no charset of a page, and some that take quadratic time."""


def to_text(body: bytes, header: str | None, *, markup: bool) -> tuple[str, tuple[str, ...]]:
    """The text of a document, and warnings about what was guessed or could not be read.

    The charset is the byte order mark's, else the header's, else the one that markup declares,
    else UTF-8.
    """
    warnings: list[str] = []
    charset = _marked(body)
    for label in (header, _declared(body) if markup else None):
        if charset is None and label:
            charset = _codec(label)
            if charset is None:
                warnings.append(f"The charset {label!r} is unknown.")
    text = body.decode(charset or "utf-8", "replace").removeprefix("\ufeff")
    lost = text.count("\ufffd") - body.count("\ufffd".encode())
    if lost > 0:
        read = charset or "utf-8, which was assumed"
        warnings.append(f"{lost} characters could not be read as {read}.")
    return text, tuple(warnings)


def _marked(body: bytes) -> str | None:
    return next((name for mark, name in _MARKS if body.startswith(mark)), None)


def _declared(body: bytes) -> str | None:
    found = _XML.search(body[:_META_WITHIN]) or _META.search(body[:_META_WITHIN])
    label = found[1].decode("ascii", "replace") if found else None
    # Whoever could read this declaration byte by byte was not reading UTF-16.
    return "utf-8" if label and label.lower().startswith("utf-16") else label


def _codec(label: str) -> str | None:
    try:
        name = codecs.lookup(label.strip().lower()).name
    except (LookupError, ValueError):
        return None
    name = _SUPERSETS.get(name, name)
    return name if name in _KNOWN else None
