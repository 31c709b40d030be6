"""Transcripts on disk: append a turn, repair what a crash left, resume from the end.

The only module of this room that touches files. A turn goes to the file in one write under a lock,
after its payloads are safely on disk. A write that was cut off leaves an element without its end;
the next one to open the file moves those bytes to `.chatmd/torn-…` and says so.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from whence.chatmd.grammar import MODEL_SAID
from whence.chatmd.parse import parse, structure
from whence.chatmd.render import PAYLOADS, Payload, Rendered
from whence.chatmd.suggest import shown
from whence.chatmd.tail import tail, torn_at
from whence.errors import Conflict, InvalidArgs, NotFound, PermissionDenied, Unavailable
from whence.shapes.dataclass import dataclass
from whence.shapes.document import Document, Element, Message, Span, item_of

_LITTLE = 1 << 12
_MANY = 16
_PAYLOAD = re.compile(r"(?:\./)?\.chatmd/([A-Za-z0-9_-][A-Za-z0-9_.-]*)\Z")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_FOLDER = ".chatmd"
_CUT_OFF = frozenset(
    {"unclosed-element", "unclosed-raw", "unclosed-comment", "unclosed-tag", "unclosed-quote"}
)


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


@dataclass(frozen=True, slots=True)
class Appended:
    """A turn that is on disk."""

    span: Span
    repaired: Torn | None = None
    """What had to be repaired before."""
    inode: int = 0
    """Which file it is: while it ends here, nobody else has written to it."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A file as far as a run needs it: how it begins and how it ends."""

    head: Document
    """Settings, declarations and what was said before a model first spoke."""
    tail: Document | None
    """The last entries, at least as many as were asked for; None where the head is everything."""
    skipped: int
    """How many bytes between them were not read."""


def append(
    path: Path, turn: Rendered, *, durable: bool = True, after: Appended | None = None
) -> Appended:
    """Add a turn to the end of a transcript, or start one.

    An empty `<user>` block at the end, where a person would have typed, gives way to a turn that
    begins with a user's message.

    Args:
        path: The transcript.
        turn: What to add.
        durable: Wait until the disk has it; otherwise `sync` does, later.
        after: The turn that the same writer added before; if nothing has changed since, the end
            of the file need not be looked at.

    Raises:
        Conflict: The file ends inside an element that a person has not finished.
        Unavailable: The file cannot be written; it is as it was before.
    """
    with _locked(path, create=True) as file:
        found, repaired = os.fstat(file), None
        if after and (found.st_ino, found.st_size) == (after.inode, after.span.end):
            size = found.st_size
        else:
            ending, repaired = _Ending.of(file).repair(path, file)
            size = ending.place(path, turn)
        _store(path.parent, turn.payloads, durable=durable)
        gap = b"" if size == 0 or os.pread(file, 1, size - 1) == b"\n" else b"\n"
        _write(path, file, size, gap + turn.text, durable=durable)
    start = size + len(gap)
    return Appended(Span(start, start + len(turn.text)), repaired, found.st_ino)


def sync(path: Path, payloads: Iterable[Payload]) -> None:
    """Wait until the disk has a transcript and those of its payloads that were not waited for."""
    named = [name[1] for payload in payloads if (name := _PAYLOAD.match(payload.path))]
    with _telling(path):
        if named:
            with _folder(path.parent) as folder:
                _sync_payloads(folder, named)
        _sync(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        _sync_folder(path.parent)


def _sync_payloads(folder: int, named: list[str]) -> None:
    """Each on its own, or where they are many, the whole filesystem at once."""
    if len(named) > _MANY and _sync_filesystem(folder):
        return
    for name in named:
        _sync(os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder))
    os.fsync(folder)


def _sync_filesystem(file: int) -> bool:
    """Whether there is such a call here, and it worked."""
    import ctypes

    call = getattr(ctypes.CDLL(None), "syncfs", None)
    return call is not None and call(file) == 0


def _sync(file: int) -> None:
    try:
        os.fsync(file)
    finally:
        os.close(file)


def repair(path: Path) -> Torn | None:
    """Move what a broken write left at the end of a transcript out of it; None: it was whole."""
    with _locked(path, create=False) as file:
        return _Ending.of(file).repair(path, file)[1]


def resume(path: Path, items: int) -> Resumed:
    """Read the head of a transcript and at least its last `items` entries, not what is between.

    A small file, and one whose end cannot be told from its last bytes, is read as a whole.
    """
    with _reading(path) as file:
        size = os.fstat(file).st_size
        found = _last(file, size, items, max(_LITTLE, items * 1536))
        if found is None:
            return Resumed(parse(_read(file, 0, size)), None, 0)
        start, document = found
        head = _first(file, start)
        if head is None:
            return Resumed(parse(_read(file, 0, size)), None, 0)
        return Resumed(head, document, start - len(head.source))


def load(path: Path, src: str) -> bytes:
    """A payload of a transcript, by the path that the transcript names it with."""
    name = _PAYLOAD.match(src)
    if name is None:
        raise PermissionDenied(
            f"{shown(src)} is not a payload of {path.name}.",
            f"Payloads are regular files in {PAYLOADS}.",
        )
    try:
        with _folder(path.parent) as folder:
            return _load(folder, name[1])
    except FileNotFoundError as error:
        raise NotFound(
            f"The payload {shown(src)} of {path.name} is missing.",
            f"Bring it back from a copy of {PAYLOADS}, or remove the element that names it.",
        ) from error


def _load(folder: int, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise PermissionDenied(
            f"The payload {name} cannot be read: {error.strerror}.", "It must be a regular file."
        ) from error
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionDenied(
                f"The payload {name} is not a regular file.", "Replace it by one."
            )
        return _read(file, 0, status.st_size)
    finally:
        os.close(file)


@contextmanager
def _locked(path: Path, *, create: bool) -> Iterator[int]:
    """The open file, which nobody else appends to meanwhile."""
    with _telling(path):
        file = _lock(path, os.O_CREAT if create else 0)
        try:
            yield file
        finally:
            os.close(file)


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Errors of the system as errors that say what to do."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"There is no file or folder for {path}.", "Check the name.") from error
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be used: {error.strerror or error}.",
            "Check that it is a file in a folder that may be written, and that the disk has room.",
        ) from error


def _lock(path: Path, create: int) -> int:
    while True:
        file = os.open(path, os.O_RDWR | os.O_APPEND | create | os.O_CLOEXEC, 0o600)
        try:
            _check_regular(path, file)
            fcntl.flock(file, fcntl.LOCK_EX)
            # An editor may have put another file in its place while we waited.
            if _is_at(path, file):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _check_regular(path: Path, file: int) -> None:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise InvalidArgs(f"{path} is not a regular file.", "Name a file.")


@contextmanager
def _reading(path: Path) -> Iterator[int]:
    with _telling(path):
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _check_regular(path, file)
            yield file
        finally:
            os.close(file)


def _read(file: int, start: int, end: int) -> bytes:
    pieces = []
    while start < end:
        piece = os.pread(file, end - start, start)
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _last(file: int, size: int, items: int, block: int) -> tuple[int, Document] | None:
    """Where the last entries begin, and they; None: only the whole file tells."""
    while block < size:
        found = tail(_read(file, size - block, size), items)
        if found:
            return size - block + found[0], found[1]
        block *= 2
    return None


def _first(file: int, end: int) -> Document | None:
    """What stands before a model first spoke; None where that is not before `end`."""
    block = _LITTLE
    while True:
        read = _read(file, 0, min(block, end))
        document, findings = structure(read, partial=True)
        spoken = next(document.nodes.where(*MODEL_SAID), None)
        if spoken is not None:
            head = document.nodes[spoken].span.start
            if not any(found.start < head and found.code in _CUT_OFF for found in findings.found):
                return parse(read[:head], partial=True)
        if block >= end:
            return None
        block *= 2


@dataclass(frozen=True, slots=True)
class _Ending:
    """The last bytes of a file, from the beginning of an element."""

    start: int
    source: bytes

    @classmethod
    def of(cls, file: int) -> _Ending:
        size = os.fstat(file).st_size
        found = _last(file, size, 1, _LITTLE)
        return cls(found[0], found[1].source) if found else cls(0, _read(file, 0, size))

    def repair(self, path: Path, file: int) -> tuple[_Ending, Torn | None]:
        at = torn_at(self.source)
        if at is None:
            return self, None
        torn = self.source[at:]
        digest = hashlib.sha256(torn).hexdigest()[:16]
        name = f"torn-{_UNSAFE.sub('_', path.stem)[:64]}-{self.start + at}-{digest}"
        _store(path.parent, (Payload(PAYLOADS + name, torn),), durable=True)
        os.ftruncate(file, self.start + at)
        os.fsync(file)
        kept = path.parent / _FOLDER / name
        return _Ending(self.start, self.source[:at]), Torn(self.start + at, len(torn), kept)

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


def _write(path: Path, file: int, size: int, data: bytes, *, durable: bool) -> None:
    """Put bytes at the end of a file, or leave it as it was."""
    before = os.pread(file, os.fstat(file).st_size - size, size)
    try:
        os.ftruncate(file, size)
        _write_all(file, data)
        if durable:
            os.fsync(file)
    except BaseException:
        os.ftruncate(file, size)
        _write_all(file, before)
        raise
    if durable and size == 0:
        _sync_folder(path.parent)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def _folder(parent: Path) -> Iterator[int]:
    """The folder of payloads; never what a link of that name points to."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        folder = os.open(parent / _FOLDER, flags)
    except NotADirectoryError as error:
        raise PermissionDenied(
            f"{parent / _FOLDER} is not a folder, or a link to one.", "Make it a folder."
        ) from error
    try:
        yield folder
    finally:
        os.close(folder)


def _store(parent: Path, payloads: Iterable[Payload], *, durable: bool) -> None:
    """Write payloads; nothing is left half written."""
    payloads = tuple(payloads)
    if not payloads:
        return
    try:
        os.mkdir(parent / _FOLDER, 0o700)
        _sync_folder(parent)
    except FileExistsError:
        pass
    with _folder(parent) as folder:
        for payload in payloads:
            _store_one(folder, payload, durable=durable)
        if durable:
            os.fsync(folder)


def _store_one(folder: int, payload: Payload, *, durable: bool) -> None:
    name = _PAYLOAD.match(payload.path)
    if name is None:
        raise InvalidArgs(
            f"{shown(payload.path)} is no place for a payload.", f"Name a file in {PAYLOADS}."
        )
    try:
        if _load(folder, name[1]) == payload.data:
            return
    except FileNotFoundError:
        pass
    part = f".{name[1]}.{os.urandom(6).hex()}"
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        _write_all(file, payload.data)
        if durable:
            os.fsync(file)
        os.replace(part, name[1], src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(part, dir_fd=folder)
        raise
    finally:
        os.close(file)
