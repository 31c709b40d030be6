"""`read_file`, in both forms: one file and a part of it, or several files with line ranges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from whence.declare.function import builtin
from whence.errors import InvalidArgs, WhenceError
from whence.execute.ports import Files, Ports
from whence.shapes.call import Reply
from whence.shapes.dataclass import dataclass
from whence.shapes.json import JSONObject, JSONValue
from whence.shapes.tool import Effect, Example, Sandbox, Tool
from whence.work import slices
from whence.work.documents import ENDINGS, document_text
from whence.work.ignored import Ignored
from whence.work.indentation import Around
from whence.work.slices import Part, Slice, numbered
from whence.work.text import in_one_line

READ = Effect.READ
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".tiff", ".tif", ".avif")
_PICTURE_BYTES = 5_000_000
_ALL_PICTURE_BYTES = 20_000_000
_BETWEEN = "\n\n---\n\n"
_MINUTE = Sandbox(timeout_ms=60_000)
_EXAMPLES = (
    Example(
        {"path": "src/app.py", "offset": 120, "limit": 60},
        why="See how the request is checked before it is sent",
    ),
)
_FILE = "File, relative to the workspace"
_FILE_TAG = re.compile(r"<file>(.*?)</file>", re.DOTALL)
_PATH_TAG = re.compile(r"<path>(.*?)</path>", re.DOTALL)
_RANGE_TAG = re.compile(r"<line_range>\s*(\d{1,9})\s*-\s*(\d{1,9})\s*</line_range>")
_Lines = Annotated[list[int], Meta(min_length=2, max_length=2)]


class Whole(msgspec.Struct, forbid_unknown_fields=True):
    """A file."""

    path: Annotated[str, Meta(description=_FILE)]


class Ranges(Whole, forbid_unknown_fields=True):
    """A file, or parts of it."""

    line_ranges: (
        Annotated[list[_Lines], Meta(description="[first, last] lines; all if absent")] | None
    ) = None


class Indentation(msgspec.Struct, forbid_unknown_fields=True):
    """The block around a line."""

    anchor_line: Annotated[int, Meta(description="A line of it")] | None = None
    max_levels: Annotated[int, Meta(ge=0, description="Enclosing blocks; 0: all")] | None = None
    include_siblings: Annotated[bool, Meta(description="Its neighbours")] | None = None
    include_header: Annotated[bool, Meta(description="The imports")] | None = None
    max_lines: Annotated[int, Meta(ge=1, description="At most")] | None = None


@dataclass(slots=True)
class _Answer:
    """What is put together for one call."""

    words: list[str] = field(default_factory=list)
    pictures: list[JSONValue] = field(default_factory=list)
    failures: list[WhenceError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    picture_bytes: int = 0
    truncated: bool = False

    def reply(self) -> Reply:
        if len(self.failures) == len(self.words):
            raise self.failures[0]
        text = _BETWEEN.join(self.words)
        value = [text, *self.pictures] if self.pictures else text
        return Reply(value, self.truncated, tuple(self.warnings))


def reader(*, partial_reads: bool, most_files: int, images: bool) -> Tool:
    """The tool `read_file`, with the options of the catalog."""
    several = f"Give path for one file, or files for up to {most_files}"
    shows = "; pictures are shown" if images else ""
    about = (
        "Read files, PDF, Word and Excel as text; each line comes with its number, `12 | text`. "
        f"{several}{shows}"
    )
    make = builtin(
        "read_file",
        description=about,
        category="fs",
        paths={"path": READ},
        touches=_files,
        sandbox=_MINUTE,
        examples=_EXAMPLES if partial_reads else (),
        legacy=_older,
    )

    async def read(ports: Ports, wanted: Sequence[Part]) -> Reply:
        if len(wanted) > most_files:
            raise InvalidArgs(
                f"{len(wanted)} files were asked for; one call reads at most {most_files}",
                f"Read them in batches of {most_files} or fewer.",
            )
        return await _read(ports.files, wanted, images=images)

    async def whole(
        ports: Ports, path: str | None = None, files: list[Whole] | None = None
    ) -> Reply:
        return await read(ports, [Part(name) for name in _named(path, files)])

    async def parts(  # noqa: PLR0913, PLR0917 - the arguments of the tool
        ports: Ports,
        path: Annotated[str, Meta(description=_FILE)] | None = None,
        mode: Annotated[
            Literal["slice", "indentation"],
            Meta(description="Lines from offset on, or the block around a line"),
        ]
        | None = None,
        offset: Annotated[int, Meta(description="First line, counted from 1")] | None = None,
        limit: Annotated[int, Meta(ge=1, description=f"Lines; default {slices.LINES}")]
        | None = None,
        indentation: Indentation | None = None,
        files: Annotated[list[Ranges], Meta(min_length=1)] | None = None,
    ) -> Reply:
        names = _named(path, files)
        if files is not None:
            return await read(ports, [_ranges(each) for each in files])
        if mode == "indentation":
            return await read(ports, [_block(names[0], offset, limit, indentation)])
        return await read(ports, [Part(names[0], first=_line("offset", offset), limit=limit)])

    return make(parts if partial_reads else whole)


def _older(written: Mapping[str, str]) -> JSONObject:
    """`<args>` with a `<file>` for each file, or `<start_line>` and `<end_line>` of a `<path>`."""
    files = [_older_file(found[1]) for found in _FILE_TAG.finditer(written.get("args", ""))]
    if files:
        return {"files": files}
    first, last = (written.get(name, "").strip() for name in ("start_line", "end_line"))
    if not (first or last) or not f"{first}{last}".isdecimal():
        return {}
    start = int(first or 1)
    return {"offset": start, "limit": int(last) - start + 1} if last else {"offset": start}


def _older_file(text: str) -> JSONObject:
    from html import unescape

    named = _PATH_TAG.search(text)
    path = unescape(named[1].strip()) if named else ""
    ranges: list[JSONValue] = [[int(first), int(last)] for first, last in _RANGE_TAG.findall(text)]
    return {"path": path, "line_ranges": ranges} if ranges else {"path": path}


def _files(arguments: JSONObject) -> Iterable[tuple[Effect, str]]:
    files: Any = arguments.get("files")
    listed = files if isinstance(files, list) else []
    paths = [each.get("path") for each in listed if isinstance(each, dict)]
    return [(READ, path) for path in paths if isinstance(path, str)]


def _named(path: str | None, files: Sequence[Whole] | None) -> list[str]:
    if (path is None) == (files is None):
        given = "neither path nor files is" if path is None else "path and files are both"
        raise InvalidArgs(f"{given} given", "Give path for one file, or files for several.")
    return [path] if path is not None else [each.path for each in files or ()]


def _line(name: str, number: int | None) -> int:
    if number is not None and number < 1:
        raise InvalidArgs(
            f"{name} is {number}, and lines are counted from 1", f"Give {name} as 1 or more."
        )
    return number or 1


def _ranges(wanted: Ranges) -> Part:
    ranges = [(first, last) for first, last in wanted.line_ranges or ()]
    for first, last in ranges:
        if first < 1 or last < first:
            raise InvalidArgs(
                f"{wanted.path}: [{first}, {last}] is no range of lines",
                "Lines are counted from 1, and the last is not before the first.",
            )
    return Part(wanted.path, ranges=tuple(ranges))


def _block(path: str, offset: int | None, limit: int | None, wanted: Indentation | None) -> Part:
    how = wanted or Indentation()
    anchor = _line("anchor_line", how.anchor_line or _line("offset", offset))
    around = Around(
        anchor - 1,
        how.max_levels or 0,
        bool(how.include_siblings),
        how.include_header is not False,
    )
    most = min(limit or slices.LINES, how.max_lines or slices.LINES)
    return Part(path, around=around, limit=most)


async def _read(files: Files, wanted: Sequence[Part], *, images: bool) -> Reply:
    answer, ignored = _Answer(), Ignored.of(files)
    for part in wanted:
        try:
            ignored.refuse(files, part.path)
            room = slices.MOST_CHARS // len(wanted)
            await _add(answer, files, part, room, images=images)
        except WhenceError as error:
            answer.failures.append(error)
            answer.words.append(
                f"File: {in_one_line(part.path)}\nError: {error.message}. {error.suggestion}"
            )
    return answer.reply()


async def _add(answer: _Answer, files: Files, part: Part, room: int, *, images: bool) -> None:
    if part.path.lower().endswith(PICTURES):
        said = await _picture(answer, files, part, images)
    elif part.path.lower().endswith(ENDINGS):
        said = await _document(answer, files, part, room)
    else:
        found = await slices.read_part(files, part, room)
        answer.truncated |= any(one.cut for one in found)
        if any(one.damaged for one in found):
            answer.warnings.append(f"{part.path} is not valid UTF-8; � stands for other bytes")
        said = _page(part, found)
    answer.words.append(f"File: {in_one_line(part.path)}\n{said}")


async def _document(answer: _Answer, files: Files, part: Part, room: int) -> str:
    document = await document_text(files, part.path)
    found = slices.part_of(document.text, part, room)
    answer.truncated |= any(one.cut for one in found)
    answer.warnings += document.warnings
    return f"Note: the text of a document; edits need a program\n{_page(part, found)}"


async def _picture(answer: _Answer, files: Files, part: Part, images: bool) -> str:
    from whence.work.images import ImageLimits, read_picture

    if not images:
        return "Note: this is a picture, and pictures are not shown here."
    limits = ImageLimits(file_bytes=_PICTURE_BYTES)
    picture = await read_picture(files, part.path, limits)
    if answer.picture_bytes + len(picture.data) > _ALL_PICTURE_BYTES:
        return f"Note: left out; one call shows at most {_ALL_PICTURE_BYTES} bytes of pictures."
    answer.picture_bytes += len(picture.data)
    answer.pictures.append(picture.as_result())
    answer.warnings += picture.notes
    return f"Note: Image file ({len(picture.data) / 1000:.0f} KB)"


def _page(part: Part, found: Sequence[Slice]) -> str:
    if not found[0].total:
        return "Note: File is empty"
    if part.around is not None:
        return f"{_included(found)}\n\n" + "\n...\n".join(map(numbered, found))
    if part.ranges or part.first is None:
        return "\n\n".join(
            f"Lines {one.first}-{one.last}:\n{numbered(one)}{_rest(one)}" for one in found
        )
    return _go_on(part, found[0]) + numbered(found[0])


def _included(found: Sequence[Slice]) -> str:
    ranges = ", ".join(f"{one.first}-{one.last}" for one in found)
    return f"Included ranges: {ranges} (total: {found[0].total} lines)"


def _rest(one: Slice) -> str:
    if not one.cut or one.next_line is None:
        return ""
    shown = f"{one.first}-{one.last} of {_total(one)}"
    return f"\n\nShowing only lines {shown}. Use line_ranges from line {one.next_line} on for more."


def _go_on(part: Part, one: Slice) -> str:
    if one.next_line is None:
        return ""
    limit = part.limit or slices.LINES
    return (
        "IMPORTANT: File content truncated.\n"
        f"\tStatus: Showing lines {one.first}-{one.last} of {_total(one)} total lines.\n"
        f"\tTo read more: Use the read_file tool with offset={one.next_line} and limit={limit}.\n\n"
    )


def _total(one: Slice) -> str:
    return str(one.total) if one.counted else "more than can be counted quickly"
