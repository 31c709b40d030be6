"""What a picture's first bytes say: its format and its size, before anything is decoded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from whence.errors import InvalidArgs

Size: TypeAlias = tuple[int, int]
"""Width and height, in pixels."""


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write pictures."""

    name: str
    """As the imaging library calls it."""
    media_type: str | None = None
    """None: models do not take it, it must be converted."""
    size: Callable[[bytes], Size | None] | None = None
    """Reads the size from the header; None where there is none."""


def format_of(data: bytes, name: str) -> Format:
    """The format of a picture, by its content.

    Raises:
        InvalidArgs: It is no picture, or one that cannot be shown to a model.
    """
    for matches, found in _FORMATS:
        if matches(data):
            return found
    if _MARKUP.match(data) and b"<svg" in data[:10_000]:
        raise _drawing(data, name)
    looks = next((what for magic, what in _OTHERS if data.startswith(magic)), "")
    said = f", it looks like {looks}" if looks else ""
    raise InvalidArgs(
        f"{name!r} is no picture that can be shown{said}",
        "Give a PNG, JPEG, GIF or WebP file, or a BMP, TIFF or AVIF one, which is converted.",
    )


def _drawing(data: bytes, name: str) -> InvalidArgs:
    active = " with scripts" if _ACTIVE.search(data) else ""
    return InvalidArgs(
        f"{name!r} is an SVG drawing{active}, and models take no SVG",
        "Read it as text, or convert it to PNG.",
    )


def _png(data: bytes) -> Size | None:
    return (_big(data, 16, 4), _big(data, 20, 4)) if data[12:16] == b"IHDR" else None


def _gif(data: bytes) -> Size | None:
    return (_little(data, 6, 2), _little(data, 8, 2)) if len(data) >= 10 else None


def _webp(data: bytes) -> Size | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
    if kind == b"VP8L" and data[20:21] == b"\x2f":
        bits = _little(data, 21, 4)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
    return None


def _jpeg(data: bytes) -> Size | None:
    at = 2
    while 0 <= (at := data.find(b"\xff", at)) < len(data) - 1:
        marker = data[at + 1]
        if marker in _FRAMES:
            return _big(data, at + 7, 2), _big(data, at + 5, 2)
        if marker == 0xDA:  # the picture itself begins, and no size was said
            return None
        alone = marker in (0x00, 0x01, 0xFF) or 0xD0 <= marker <= 0xD9
        at += 1 if marker == 0xFF else 2 if alone else 2 + max(_big(data, at + 2, 2), 2)
    return None


def _big(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(data[at : at + count], "big")


def _little(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(data[at : at + count], "little")


def _starts(*magic: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(magic)


_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[?!s]")
_ACTIVE = re.compile(rb"<script|\bon\w+\s*=|javascript:|<foreignObject", re.IGNORECASE)
_FORMATS: tuple[tuple[Callable[[bytes], bool], Format], ...] = (
    (_starts(b"\x89PNG\r\n\x1a\n"), Format("PNG", "image/png", _png)),
    (_starts(b"\xff\xd8\xff"), Format("JPEG", "image/jpeg", _jpeg)),
    (_starts(b"GIF87a", b"GIF89a"), Format("GIF", "image/gif", _gif)),
    (
        lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP",
        Format("WEBP", "image/webp", _webp),
    ),
    (_starts(b"BM"), Format("BMP")),
    (_starts(b"II*\0", b"MM\0*"), Format("TIFF")),
    (lambda data: data[4:12] in (b"ftypavif", b"ftypavis"), Format("AVIF")),
)
_OTHERS = (
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"RIFF", "a sound or a video"),
    (b"\x7fELF", "a program"),
    (b"\0\0\0", "a video or a HEIC photograph"),
)
