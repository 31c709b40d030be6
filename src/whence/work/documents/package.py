"""Office documents: zip packages of XML parts, read with little trust.

A part is unpacked up to a limit, whatever the package says about its size. XML with a document type
is refused, so that there are no entities; nothing outside of the package is ever looked at.
"""

from __future__ import annotations

import io
import posixpath
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from whence.errors import ExecutionFailed, InvalidArgs, QuotaExceeded

MOST_PARTS = 10_000
MOST_BYTES = 30_000_000
"""Of all parts that are read, unpacked."""
MOST_ELEMENTS = 4_000_000
"""Of all of them."""
_DEEPEST = 500
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How the files of before 2007 begin, and everything that Office encrypts."""
_ENTRY = b"PK\x01\x02"
_NAMESPACES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "s",
    "http://purl.oclc.org/ooxml/spreadsheetml/main": "s",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel",
}


class Handler(Protocol):
    """What reads the elements of a part; their names are like `w:p`, foreign ones are empty."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins; before the name of an attribute may be its namespace and a space."""

    def end(self, tag: str) -> None:
        """It ends."""

    def text(self, text: str) -> None:
        """Text inside the element that was begun last and has not ended."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Where a part points to."""

    kind: str
    """The last word of its type, such as `worksheet`."""
    target: str
    """The name of another part."""


class Package:
    """The parts of one document.

    Raises, here and in every method:
        InvalidArgs: The document is encrypted, or no document of this kind.
        ExecutionFailed: It is damaged.
        QuotaExceeded: It is larger, unpacked, than anybody would read.
    """

    def __init__(self, data: bytes) -> None:
        if data.startswith(_OLE):
            raise _encrypted("it has a password, or the format of before 2007")
        if data.count(_ENTRY) > MOST_PARTS:
            raise _too_large(f"it has more than {MOST_PARTS} parts")
        self._bytes_left = MOST_BYTES
        self._elements_left = MOST_ELEMENTS
        with _told_as_damage():
            self._zip = ZipFile(io.BytesIO(data))

    def main(self) -> str:
        """The name of the part that everything else belongs to."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument":
                return relation.target
        raise _damaged("it does not say which part is the document")

    def relations(self, source: str) -> dict[str, Relation]:
        """What a part points to, by id."""
        folder, name = posixpath.split(source)
        place = posixpath.join(folder, "_rels", f"{name}.rels")
        found = _Relations(folder)
        if place in self._zip.NameToInfo:
            self.read(place, found)
        return found.relations

    def read(self, name: str, handler: Handler) -> None:
        """Hand the elements of a part to a handler."""
        data = self._unpacked(name)
        with _told_as_damage():
            self._parse(data, handler)

    def _unpacked(self, name: str) -> bytes:
        with _told_as_damage():
            info = self._zip.NameToInfo.get(name)
            if info is None:
                raise _damaged(f"its part {name!r} is missing")
            if info.flag_bits & 1:
                raise _encrypted("its parts have a password")
            if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise _damaged(f"its part {name!r} is packed in an unusual way")
            with self._zip.open(info) as part:
                data = part.read(self._bytes_left + 1)
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise _too_large(f"it unpacks to more than {MOST_BYTES} bytes")
        return data

    def _parse(self, data: bytes, handler: Handler) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        tags, depth = _Tags(), 0

        def start(name: str, attributes: Mapping[str, str]) -> None:
            nonlocal depth
            depth += 1
            self._elements_left -= 1
            if depth > _DEEPEST or self._elements_left < 0:
                raise _too_large("its elements are too many, or nest too deeply")
            handler.start(tags[name], attributes)

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1
            handler.end(tags[name])

        parser.buffer_text = True
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = handler.text
        parser.StartDoctypeDeclHandler = _refuse_type
        # At once: in pieces, a very long token would be read again and again.
        parser.Parse(data, True)


def _refuse_type(*_: object) -> None:
    raise _damaged("its XML has a document type")


class _Relations:
    def __init__(self, folder: str) -> None:
        self.relations: dict[str, Relation] = {}
        self._folder = folder

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "rel:Relationship" and attributes.get("TargetMode") != "External":
            kind = attributes.get("Type", "").rpartition("/")[2]
            path = posixpath.join("/", self._folder, attributes.get("Target", ""))
            target = posixpath.normpath(path).lstrip("/")
            self.relations[attributes.get("Id", "")] = Relation(kind, target)

    def end(self, tag: str) -> None:
        pass

    def text(self, text: str) -> None:
        pass


class _Tags(dict[str, str]):
    """Short names for full ones."""

    def __missing__(self, full: str) -> str:
        space, _, name = full.rpartition(" ")
        short = self[full] = f"{_NAMESPACES[space]}:{name}" if space in _NAMESPACES else ""
        return short


@contextmanager
def _told_as_damage() -> Iterator[None]:
    """Turns what zip, inflate and XML say about broken input into one error."""
    try:
        yield
    except (
        BadZipFile, expat.ExpatError, zlib.error, struct.error, EOFError, OSError, ValueError,
        LookupError, ArithmeticError, NotImplementedError, RuntimeError,
    ) as error:  # fmt: skip
        raise _damaged(f"{type(error).__name__}: {error}") from error


def _damaged(why: str) -> ExecutionFailed:
    return ExecutionFailed(f"the document is damaged: {why}", "Find another copy of it.")


def _encrypted(why: str) -> InvalidArgs:
    return InvalidArgs(
        f"the document is encrypted or no Office Open XML: {why}",
        "Ask for a copy without a password, saved as .docx or .xlsx.",
    )


def _too_large(why: str) -> QuotaExceeded:
    return QuotaExceeded(f"the document is too large: {why}", "Ask for a smaller part of it.")
