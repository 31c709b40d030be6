"""Reading, listing, writing and copying files. What a catalog calls these is its own affair."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import BinaryIO, Literal

from whence.errors import Conflict, InvalidArgs, NotFound, PermissionDenied, QuotaExceeded
from whence.execute.ports import Change, Files, Info, Kind
from whence.shapes.dataclass import dataclass
from whence.work import text
from whence.work.pause import pause

READ_CAP = 1_000_000
"""Bytes of one reading; more is cut at a line's end."""
WHOLE_CAP = 50_000_000
"""Bytes of a file that is read or edited without a range."""
LIST_CAP = 1_000
_CHUNK = 1 << 20
_DEEPEST = 100
"""Levels of directories that are copied."""
_TAIL = 1 << 16
"""Where the last line ending is looked for."""
_SHORT = 2
_LAST = 256
"""Enough to see whether a file is text where something is to be added."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of a directory."""

    name: str
    type: Literal["file", "directory"]
    size: int
    modified: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Part of a file, or all of it."""

    content: str
    lines: int
    """Of the whole file."""
    truncated: bool
    """Less than what was asked for."""
    next_line: int | None = None
    """Where to go on, when truncated."""
    counted: bool = True
    """Whether `lines` counts the whole file; of a very large one, only up to the range's end."""
    damaged: bool = False
    """Whether bytes that are not UTF-8 are shown as U+FFFD."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file with new content."""

    bytes_written: int
    created: bool
    sha256_before: str | None
    sha256_after: str


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied."""

    files: int
    bytes_written: int


async def list_directory(files: Files, path: str) -> tuple[list[Listed], tuple[str, ...]]:
    """The entries by name, at most LIST_CAP, and a warning where there are more."""
    total = 0

    def counted() -> Iterator[Info]:
        nonlocal total
        for entry in _entries(files, path):
            total += 1
            yield entry

    first = heapq.nsmallest(LIST_CAP, counted(), key=lambda entry: entry.name)
    more = f"{total} entries, the first {LIST_CAP} by name are shown"
    listed = [_listed(files, path, entry) for entry in first]
    return listed, (more,) if total > LIST_CAP else ()


def _entries(files: Files, path: str) -> Iterator[Info]:
    try:
        yield from files.entries(path)
    except NotFound as error:
        raise _with_neighbours(files, path, error) from None


def _listed(files: Files, path: str, entry: Info) -> Listed:
    if entry.kind is Kind.LINK:
        with suppress(PermissionDenied, InvalidArgs):  # one that leads outside stays a link
            entry = files.info(f"{path}/{entry.name}") or entry
    kind: Literal["file", "directory"] = "directory" if entry.kind is Kind.DIRECTORY else "file"
    moment = datetime.fromtimestamp(entry.modified, UTC)
    return Listed(entry.name, kind, entry.size, moment.strftime("%Y-%m-%dT%H:%M:%SZ"))


async def read(
    files: Files, path: str, start: int | None, end: int | None, *, lossy: bool = False
) -> Reading:
    """Lines start to end, counted from 1, both included; the whole file without them."""
    first = 1 if start is None else start
    if end is not None and end < first:
        raise InvalidArgs(f"range ends at {end}, before it starts at {first}", "Give start ≤ end.")
    with open_file(files, path) as file:
        size = os.fstat(file.fileno()).st_size
        if start is None and end is None and size > WHOLE_CAP:
            raise QuotaExceeded(
                f"{path!r} has {size} bytes, more than the {WHOLE_CAP} that are read whole",
                'Read part of it: {"range": {"start": 1, "end": 200}}.',
                details={"limit": WHOLE_CAP, "used": size},
            )
        counted = size <= WHOLE_CAP
        begin, stop, lines = await text.line_span(file, first, end, to_the_end=counted)
        if first > max(lines, 1):
            raise InvalidArgs(
                f"range starts at line {first}, but {path!r} has {lines} lines",
                f"Choose a range within 1 to {lines}.",
            )
        file.seek(begin)
        data = file.read(min(stop - begin, READ_CAP))
    truncated = stop - begin > READ_CAP
    if truncated:
        data = _whole_lines(data)
    content = text.decode(data, path, line=first, lossy=lossy)
    following = first + data.count(b"\n") if truncated else None
    damaged = lossy and text.was_damaged(content, data)
    return Reading(content, lines, truncated, following, counted, damaged)


def _whole_lines(data: bytes) -> bytes:
    end = data.rfind(b"\n") + 1
    if end:
        return data[:end]
    return data.decode(errors="ignore").encode()


async def read_whole(files: Files, path: str) -> bytes:
    """All bytes of a file that is to be edited."""
    with open_file(files, path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > WHOLE_CAP:
            raise QuotaExceeded(
                f"{path!r} has {size} bytes, more than the {WHOLE_CAP} that can be edited",
                "Edit a smaller file.",
                details={"limit": WHOLE_CAP, "used": size},
            )
        return file.read()


async def write(files: Files, path: str, content: str) -> Written:
    """Replace a file's content, making it and its parents where they are absent."""
    from hashlib import sha256

    data = content.encode()
    before = await fingerprint(files, path)
    files.change([Change(path, data)])
    return Written(len(data), before is None, before, sha256(data).hexdigest())


async def append(files: Files, path: str, content: str) -> tuple[int, bool]:
    """Add text to the end of a file, exactly as given; the bytes, and whether it is new."""
    return _append(files, path, content, _tail(files, path, _LAST))


async def append_line(files: Files, path: str, content: str) -> tuple[int, bool]:
    """Add text on a line of its own; the bytes, and whether the file is new.

    Lines end as the file's last one does. A file that is new or empty gets no empty line first.
    """
    tail = _tail(files, path, _TAIL)
    added = f"\n{content}" if tail else content
    if tail and tail.rfind(b"\r\n") >= 0 and tail.rfind(b"\r\n") == tail.rfind(b"\n") - 1:
        added = added.replace("\r\n", "\n").replace("\n", "\r\n")
    return _append(files, path, added, tail)


def _append(files: Files, path: str, content: str, tail: bytes | None) -> tuple[int, bool]:
    data = content.encode()
    try:
        files.append(path, data)
    except NotFound:
        files.make_directories(os.path.dirname(path.rstrip("/")))
        files.append(path, data)
    return len(data), tail is None


def _tail(files: Files, path: str, most: int) -> bytes | None:
    """The last bytes of a file that text can be added to; None: there is no file."""
    known = files.info(path)
    if known is None:
        return None
    with files.open(path) as file:
        head = file.read(2)
        file.seek(max(known.size - most, 0))
        tail = file.read(most)
    text.refuse_wide(head, tail, path)
    return tail


async def fingerprint(files: Files, path: str) -> str | None:
    """The sha256 of a file, None where there is none."""
    from hashlib import sha256

    if files.info(path) is None:
        return None
    digest = sha256()
    with files.open(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            if len(chunk) == _CHUNK:
                await pause()
    return digest.hexdigest()


async def copy(files: Files, src: str, dst: str) -> Copied:
    """Copy a file or a directory to a name that is free: all of it, or nothing."""
    source = files.info(src)
    if source is None:
        raise _with_neighbours(files, src, _missing(src))
    if files.info(dst, follow=False) is not None:
        raise Conflict(f"{dst!r} exists", "Copy to a name that is free, or write the file instead.")
    if f"{files.real(dst)}/".startswith(f"{files.real(src)}/"):
        raise InvalidArgs(f"{dst!r} lies inside {src!r}", "Copy to a place outside the source.")
    if parent := os.path.dirname(dst.rstrip("/")):
        with suppress(PermissionDenied):  # outside only the copy was admitted, not what is above it
            files.make_directories(parent)
    if source.kind is not Kind.DIRECTORY:
        return Copied(1, await _copy_file(files, src, dst))
    return await _copy_directory(files, src, dst)


async def _copy_directory(files: Files, src: str, dst: str) -> Copied:
    staged = f"{dst.rstrip('/')}.whence-copy-{os.getpid()}"
    files.make_directories(staged)
    try:
        copied = await _copy_entries(files, src, staged)
        files.rename(staged, dst.rstrip("/"))
    except BaseException:
        files.remove(staged)
        raise
    return copied


async def _copy_entries(files: Files, src: str, dst: str, depth: int = 1) -> Copied:
    if depth > _DEEPEST:
        raise InvalidArgs(
            f"{src[:80]!r}… is nested more than {_DEEPEST} levels deep",
            "Copy the parts that are needed.",
        )
    count = size = 0
    for entry in sorted(files.entries(src), key=lambda entry: entry.name):
        old, new = f"{src}/{entry.name}", f"{dst}/{entry.name}"
        if entry.kind is Kind.DIRECTORY:
            files.make_directories(new)
            below = await _copy_entries(files, old, new, depth + 1)
            count, size = count + below.files, size + below.bytes_written
        elif entry.kind is Kind.LINK:
            files.make_link(new, files.read_link(old))
            count += 1
        else:
            count, size = count + 1, size + await _copy_file(files, old, new)
    return Copied(count, size)


async def _copy_file(files: Files, src: str, dst: str) -> int:
    size = 0
    with files.open(src) as file, files.replacing(dst, like=src) as out:
        while chunk := file.read(_CHUNK):
            out.write(chunk)
            size += len(chunk)
            await pause()
    return size


def refuse_link(files: Files, path: str, deed: str) -> None:
    """Let a path pass that is no link.

    Raises:
        InvalidArgs: It is one, and what leads there cannot be meant by what is to be done.
    """
    found = files.info(path, follow=False)
    if found is not None and found.kind is Kind.LINK:
        raise InvalidArgs(
            f"{path!r} is a link, and {deed}",
            f"Name the file that it leads to, {files.shown(path)!r}.",
        )


def open_file(files: Files, path: str) -> BinaryIO:
    """A file for reading; names that are close to it where it is missing."""
    try:
        return files.open(path)
    except NotFound as error:
        raise _with_neighbours(files, path, error) from None


def _missing(path: str) -> NotFound:
    return NotFound(
        f"no such file or directory: {path!r}", "Check the path, or list its directory."
    )


def _with_neighbours(files: Files, path: str, error: NotFound) -> NotFound:
    """The error, with names beside the missing one that look like it."""
    from rapidfuzz import process

    parent, _, name = path.rstrip("/").rpartition("/")
    try:
        names = [entry.name for entry, _ in zip(files.entries(parent or "."), range(5000))]  # noqa: B905
    except (NotFound, InvalidArgs, PermissionDenied):
        return error
    found = process.extract(name, names, scorer=_likeness, limit=3, score_cutoff=60)
    close = [match[0] for match in found if match[0] not in (name, ".agent")]
    if not close:
        return error
    shown = ", ".join(f"{parent}/{item}" if parent else item for item in close)
    return NotFound(error.message, f"Did you mean {shown}?", details={"closest": close})


def _likeness(one: str, other: str, *, score_cutoff: float | None = None) -> float:
    """How alike two names are, of 100 points."""
    from rapidfuzz import fuzz

    # Parts count, too, but a letter is part of any name.
    measure = fuzz.ratio if min(len(one), len(other)) <= _SHORT else fuzz.WRatio
    return measure(one, other, score_cutoff=score_cutoff)
