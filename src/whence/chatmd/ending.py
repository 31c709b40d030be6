"""The end of a transcript on disk: what a broken write left there, and where the next turn goes."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from whence.chatmd.opened import read
from whence.chatmd.parse import structure
from whence.chatmd.payloads import FOLDER, Folder
from whence.chatmd.render import PAYLOADS, Payload, Rendered
from whence.chatmd.tail import tail, torn_at
from whence.errors import Conflict
from whence.shapes.dataclass import dataclass
from whence.shapes.document import Document, Element, Message, item_of

LITTLE = 1 << 12
"""How much of a file is read first."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Torn:
    """The end of a file that a broken write had left."""

    offset: int
    """Where it began; the file ends there now."""
    length: int
    kept: Path
    """The file that holds these bytes."""

    def __str__(self) -> str:
        return (
            f"{self.length} bytes of an unfinished write at offset {self.offset} were moved to"
            f" {self.kept}."
        )


def last(file: int, size: int, items: int, block: int) -> tuple[int, Document] | None:
    """Where the last entries begin, and they; None: only the whole file tells."""
    while block < size:
        found = tail(read(file, size - block, size), items)
        if found:
            return size - block + found[0], found[1]
        block *= 2
    return None


@dataclass(frozen=True, slots=True)
class Ending:
    """The last bytes of a file, from the beginning of an element."""

    start: int
    source: bytes

    @classmethod
    def of(cls, file: int) -> Ending:
        """That of an open file."""
        size = os.fstat(file).st_size
        found = last(file, size, 1, LITTLE)
        return cls(found[0], found[1].source) if found else cls(0, read(file, 0, size))

    def repair(self, path: Path, file: int) -> tuple[Ending, Torn | None]:
        """The end without what a broken write left, and where that was put."""
        at = torn_at(self.source)
        if at is None:
            return self, None
        torn = self.source[at:]
        digest = hashlib.sha256(torn).hexdigest()[:16]
        name = f"torn-{_UNSAFE.sub('_', path.stem)[:64]}-{self.start + at}-{digest}"
        folder = Folder(path.parent)
        try:
            folder.store((Payload(PAYLOADS + name, torn),), durable=True)
        finally:
            folder.close()
        os.ftruncate(file, self.start + at)
        os.fsync(file)
        kept = path.parent / FOLDER / name
        return Ending(self.start, self.source[:at]), Torn(self.start + at, len(torn), kept)

    def place(self, path: Path, turn: Rendered) -> int:
        """Where the turn goes: the end, or the empty block that it replaces."""
        document, findings = structure(self.source, partial=True)
        node = document.nodes[-1] if document.nodes else None
        if not isinstance(node, Element):
            return self.start + len(self.source)
        for found in findings.found:
            if found.code == "unclosed-element" and found.start == node.span.start:
                raise Conflict(
                    f"{path} ends inside <{node.tag}>, which is not closed.",
                    f"Write </{node.tag}> where it ends, and run again.",
                )
        item = item_of(node)
        blank = isinstance(item, Message) and item.role == "user" and item.blank
        replaced = blank and turn.text.startswith(b"<user")
        return self.start + (node.span.start if replaced else len(self.source))
