"""The text of a PDF."""

from __future__ import annotations

import io
import logging
import time
from typing import TYPE_CHECKING

from whence.errors import ExecutionFailed, InvalidArgs
from whence.work.web.extras import web_extra
from whence.work.web.markdown import Converted

if TYPE_CHECKING:
    from pypdf import PdfReader

MOST_PAGES = 500
MOST_CHARS = 2_000_000
_SECONDS = 20.0
_STREAM_BYTES = 30_000_000


def pdf_text(
    data: bytes, *, most_pages: int = MOST_PAGES, most_chars: int = MOST_CHARS
) -> Converted:
    """The text of each page under a comment with its number.

    Raises:
        InvalidArgs: It is encrypted, or has no text.
        ExecutionFailed: It is damaged.
        Unavailable: The library is not installed.
    """
    with web_extra():
        from pypdf import PdfReader, apply_configuration
        from pypdf.errors import DependencyError, FileNotDecryptedError
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # it warns about every flaw
    try:
        with apply_configuration(
            zlib_maximum_output_length=_STREAM_BYTES, lzw_maximum_output_length=_STREAM_BYTES
        ):
            return _read(PdfReader(io.BytesIO(data)), most_pages, most_chars)
    except (InvalidArgs, ExecutionFailed):
        raise
    except (DependencyError, FileNotDecryptedError) as error:
        hint = "Find a version of the document without a password."
        raise InvalidArgs(f"the PDF is encrypted: {error}", hint) from error
    except Exception as error:  # damaged files make the library fail in any way
        raise ExecutionFailed(
            f"the PDF is damaged: {type(error).__name__}: {error}",
            "Find another copy of the document.",
        ) from error


def _read(reader: PdfReader, most_pages: int, most_chars: int) -> Converted:
    pages: list[str] = []
    size, missing = 0, ""
    total = len(reader.pages)
    deadline = time.monotonic() + _SECONDS
    for number, page in enumerate(reader.pages, 1):
        if number > most_pages or size > most_chars or time.monotonic() > deadline:
            missing = f"Only {number - 1} of the {total} pages of the PDF were read."
            break
        text = page.extract_text().strip()
        if text:
            pages.append(f"<!-- page {number} -->\n\n{text}")
        size += len(text)
    if not pages:
        raise InvalidArgs(
            f"the PDF has {total} pages without text",
            "It is probably scanned; find a version with text.",
        )
    title = reader.metadata.title if reader.metadata is not None else None
    return Converted("\n\n".join(pages), str(title or ""), (missing,) if missing else ())
