"""Pictures and documents as addresses and data URLs."""

from __future__ import annotations

import base64
import binascii
import re

from whence.shapes.item import Inline, Link, Source, Stored

_DATA_URL = re.compile(r"data:([^,;]+/[^,;]+(?:;[^,;]+)*?);base64,", re.IGNORECASE)
_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}
_SUBTYPES = {"mp3": "mpeg"}


def source_of_url(url: str) -> Inline | Link:
    """Data where the address holds them, else a link."""
    found = _DATA_URL.match(url)
    return Link(url) if found is None else Inline(found.group(1), url[found.end() :])


def url_of_source(source: Source) -> str | None:
    """An address that holds or names the data; None where only the provider has them."""
    match source:
        case Inline(media_type, data):
            return f"data:{media_type};base64,{data}"
        case Link(url):
            return url
        case Stored():
            return None


def audio_format(media_type: str) -> str:
    """The short name of a sound format: `mp3` of `audio/mpeg`."""
    subtype = media_type.partition(";")[0].partition("/")[2]
    return _FORMATS.get(subtype, subtype)


def audio_type(short: str) -> str:
    """The media type of a sound format: `audio/mpeg` of `mp3`."""
    return f"audio/{_SUBTYPES.get(short, short)}"


def kind_of(source: Source) -> str:
    """`audio`, `video`, `image` or `document`, as far as the media type tells."""
    media_type = "" if isinstance(source, Stored) else source.media_type or ""
    family = media_type.partition("/")[0]
    return family if family in ("audio", "video", "image") else "document"


def text_of_data(source: Inline) -> str | None:
    """The words of a plain-text document; None where it is something else."""
    if source.media_type != "text/plain":
        return None
    try:
        return base64.b64decode(source.data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def data_of_text(text: str) -> Inline:
    """A plain-text document."""
    return Inline("text/plain", base64.b64encode(text.encode("utf-8", "replace")).decode())
