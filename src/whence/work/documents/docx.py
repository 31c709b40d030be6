"""The text of a Word document: a line for each paragraph, and for each row of a table."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from whence.errors import InvalidArgs
from whence.work.documents.extracted import Enough, Extracted, Lines
from whence.work.documents.package import Package

_JOINED = {"w:p": "", "w:tc": " ", "w:tr": " | ", "w:txbxContent": "\n"}
"""What stands between the pieces of an element."""
_SIGNS = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-"}
_SKIPPED = frozenset({"w:pPr", "w:moveFrom", "mc:Fallback"})
"""Properties, and what stands somewhere else as well."""


def docx_text(data: bytes) -> Extracted:
    """The words of the body, without headers, footnotes and what was deleted; raises as `Package`.

    Raises:
        InvalidArgs: It is no Word document.
    """
    package, body = Package(data), _Body()
    with suppress(Enough):
        package.read(package.main(), body)
    if not body.is_word:
        raise InvalidArgs("it is no Word document", "Give the file the ending that fits it.")
    return body.lines.extracted()


class _Body:
    def __init__(self) -> None:
        self.lines = Lines()
        self.is_word = False
        self._open: list[list[str]] = []
        """The pieces of each element that is open and joined at its end."""
        self._skipping = 0
        self._in_text = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._skipping or tag in _SKIPPED:
            self._skipping += 1
        elif tag in _JOINED:
            self._open.append([])
        elif tag in _SIGNS:
            self._take(_SIGNS[tag])
        elif tag == "w:document":
            self.is_word = True
        self._in_text = tag == "w:t" and not self._skipping

    def end(self, tag: str) -> None:
        self._in_text = False
        if self._skipping:
            self._skipping -= 1
        elif tag in _JOINED:
            joined = _JOINED[tag].join(self._open.pop())
            self._take(" ".join(joined.split()) if tag == "w:tc" else joined)

    def text(self, text: str) -> None:
        if self._in_text:
            self._take(text)

    def _take(self, piece: str) -> None:
        if self._open:
            self._open[-1].append(piece)
        else:
            self.lines.add(piece)
