"""Documents that are no text, read as text: PDF, Word, Excel."""

from __future__ import annotations

import os

from whence.errors import QuotaExceeded, WhenceError
from whence.execute.ports import Files
from whence.work.documents.extracted import Extracted
from whence.work.files import open_file

ENDINGS = (".pdf", ".docx", ".xlsx")
"""Of the files that are read as documents."""
LARGEST = 50_000_000
"""Bytes of a document."""
_SECONDS = 30.0
_SHORTER = "Ask for a smaller part of the document, or convert it with a program."


async def document_text(files: Files, path: str) -> Extracted:
    """The text of a document; its ending says what it is.

    Raises:
        InvalidArgs: It is encrypted, scanned, or not what its ending says.
        ExecutionFailed: It is damaged.
        QuotaExceeded: It is too large, as it is or unpacked.
        TimedOut: It takes too long.
        Unavailable: The library for PDF is not installed.
    """
    from whence.work.apart import apart

    data = _data(files, path)
    try:
        found = await apart(
            lambda: _extracted(data, path), seconds=_SECONDS, what="it", hint=_SHORTER
        )
    except WhenceError as error:
        raise type(error)(
            f"{path!r} cannot be read: {error.message}",
            error.suggestion,
            recoverable=error.recoverable,
        ) from error
    return Extracted(found.text.encode(errors="replace").decode(), found.warnings)


def _data(files: Files, path: str) -> bytes:
    with open_file(files, path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST:
            raise QuotaExceeded(
                f"{path!r} has {size} bytes, more than the {LARGEST} of the largest document",
                _SHORTER,
                details={"limit": LARGEST, "used": size},
            )
        return file.read(LARGEST)


def _extracted(data: bytes, path: str) -> Extracted:
    match os.path.splitext(path)[1].lower():
        case ".docx":
            from whence.work.documents.docx import docx_text

            return docx_text(data)
        case ".xlsx":
            from whence.work.documents.xlsx import xlsx_text

            return xlsx_text(data)
        case _:
            from whence.work.web.pdf import pdf_text

            pages = pdf_text(data)
            return Extracted(pages.markdown, pages.warnings)
