"""The tools that change files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from whence.declare.function import builtin
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.dataclass import dataclass
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Example

if TYPE_CHECKING:
    from whence.work.edits.search_replace import Wanted

WRITE = Effect.WRITE
_NOTICE = (
    "This is the file now; there is no need to read it again. Later edits start from this state."
)
_ALL_NOTICE = "These are the files now; there is no need to read them again."
_PATH = "File, relative to the workspace"
_OLD = "The text to replace, exactly as in the file, without line numbers"
_NEW = "The text that takes its place; empty deletes"
_BUT_FOR = {"whitespace": "white space in its lines", "tokens": "all white space"}


class Operation(msgspec.Struct):
    """One replacement."""

    search: Annotated[str, Meta(description="Text that occurs exactly once")]
    replace: Annotated[str, Meta(description=_NEW)]


@dataclass(frozen=True, slots=True)
class FileWritten:
    """A file that was changed."""

    path: str
    operation: Literal["created", "modified"]
    notice: str


@dataclass(frozen=True, slots=True)
class BlockReport:
    """Where a block was applied, by the lines of the file before the call."""

    block: int
    start_line: int
    end_line: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class DiffWritten:
    """A file that was changed block by block."""

    path: str
    operation: Literal["created", "modified"]
    notice: str
    blocks: list[BlockReport]


@dataclass(frozen=True, slots=True)
class FilePatched:
    """What a patch did to one file."""

    path: str
    operation: Literal["created", "modified", "deleted", "moved"]
    added: int
    removed: int
    moved_from: str | None = None


@dataclass(frozen=True, slots=True)
class PatchWritten:
    """Everything that a patch did."""

    files: list[FilePatched]
    notice: str
    changes: str


@builtin(
    category="fs",
    paths={"path": WRITE},
    output=DiffWritten,
    argument_aliases={"file_path": "path"},
    examples=[
        Example(
            {
                "path": "src/app.py",
                "diff": "<<<<<<< SEARCH\n:start_line:12\n-------\nlimit = 10\n=======\n"
                "limit = 20\n>>>>>>> REPLACE",
            },
            why="Allow as many rows as the report needs",
        )
    ],
)
async def apply_diff(
    ports: Ports,
    path: Annotated[str, _PATH],
    diff: Annotated[
        str,
        "Blocks: <<<<<<< SEARCH, :start_line:N, -------, the lines as they are, =======, the lines "
        "as they shall be, >>>>>>> REPLACE; a backslash before lines of the text that look so",
    ],
) -> Reply:
    """Change parts of a file with SEARCH/REPLACE blocks, several in one call: all, or none."""
    from whence.work.editing import replace_blocks

    stored, placed = await replace_blocks(ports.files, path, diff)
    reports = [BlockReport(one.block.number, one.start + 1, one.end, one.note) for one in placed]
    written = DiffWritten(path, "modified", _NOTICE, reports)
    notes = tuple(f"block {one.block.number}: {one.note}" for one in placed if one.note)
    return Reply(written, warnings=notes, bytes_written=stored.bytes_written)


def _patched_paths(arguments: JSONObject) -> Iterable[tuple[Effect, str]]:
    from whence.work.apply_patch import touches

    return touches(str(arguments.get("patch", "")))


@builtin(
    category="fs",
    effects=(WRITE,),
    touches=_patched_paths,
    output=PatchWritten,
    examples=[
        Example(
            {
                "patch": "*** Begin Patch\n*** Update File: src/app.py\n@@ def main():\n"
                "-    limit = 10\n+    limit = 20\n*** End Patch"
            },
            why="Allow as many rows as the report needs",
        )
    ],
)
async def apply_patch(
    ports: Ports,
    patch: Annotated[
        str,
        "*** Begin Patch, then sections *** Add File:, *** Update File: (with *** Move to:) or "
        "*** Delete File:, then *** End Patch. In an update, @@ may name a class or function above "
        "and each line begins with a space, - or +; give three lines of context",
    ],
) -> Reply:
    """Add, change, move and delete files with one patch: all of it, or nothing."""
    from whence.work.apply_patch import apply_patch as apply

    done = await apply(ports.files, patch)
    words: dict[str, Literal["created", "modified", "deleted", "moved"]] = {
        "add": "created", "update": "modified", "delete": "deleted", "move": "moved",
    }  # fmt: skip
    patched = [
        FilePatched(one.path, words[one.deed], one.added, one.removed, one.moved_from)
        for one in done.files
    ]
    written = PatchWritten(patched, _ALL_NOTICE, done.text)
    return Reply(written, warnings=done.warnings, bytes_written=done.bytes_written)


@builtin(
    category="fs",
    paths={"path": WRITE},
    output=FileWritten,
    argument_aliases={"file_path": "path"},
    examples=[
        Example(
            {"path": "a.py", "operations": [{"search": "colour", "replace": "color"}]},
            why="Spell the option as its documentation does",
        )
    ],
)
async def search_and_replace(
    ports: Ports,
    path: Annotated[str, _PATH],
    operations: Annotated[
        list[Operation], Meta(min_length=1, description="Made in order; all of them, or none")
    ],
) -> Reply:
    """Replace texts in a file, each of which occurs exactly once."""
    from whence.work.edits.search_replace import Wanted

    wanted = [
        Wanted(one.search, one.replace, 1, f"operation {number}: search", "replace")
        for number, one in enumerate(operations, 1)
    ]
    return await _replaced(ports, path, *wanted)


@builtin(
    category="fs",
    paths={"file_path": WRITE},
    output=FileWritten,
    argument_aliases={"path": "file_path"},
    examples=[
        Example(
            {"file_path": "a.py", "old_string": "limit = 10", "new_string": "limit = 20"},
            why="Allow as many rows as the report needs",
        )
    ],
)
async def search_replace(
    ports: Ports,
    file_path: Annotated[str, _PATH],
    old_string: Annotated[str, f"{_OLD}; with 3 to 5 lines around it, so that it is there once"],
    new_string: Annotated[str, _NEW],
) -> Reply:
    """Replace one text in a file; it must occur exactly once."""
    from whence.work.edits.search_replace import Wanted

    return await _replaced(ports, file_path, Wanted(old_string, new_string))


@builtin(
    category="fs",
    paths={"file_path": WRITE},
    output=FileWritten,
    argument_aliases={"path": "file_path"},
    examples=[
        Example(
            {"file_path": "notes.md", "old_string": "", "new_string": "# Notes\n"},
            why="Begin the notes that the next steps add to",
        )
    ],
)
async def edit_file(
    ports: Ports,
    file_path: Annotated[str, _PATH],
    old_string: Annotated[str, f"{_OLD}; empty creates the file"],
    new_string: Annotated[str, _NEW],
    expected_replacements: Annotated[
        int, Meta(ge=1, description="How often the text is there; all are replaced")
    ] = 1,
) -> Reply:
    """Replace a text as often as expected, or create a file. White space may differ a little."""
    from whence.work.editing import create
    from whence.work.edits.search_replace import Wanted

    if not old_string:
        made = await create(ports.files, file_path, new_string)
        written = FileWritten(file_path, "created", _NOTICE)
        return Reply(written, bytes_written=made.bytes_written)
    wanted = Wanted(old_string, new_string, expected_replacements, tolerant=True)
    return await _replaced(ports, file_path, wanted)


@builtin(
    category="fs",
    paths={"file_path": WRITE},
    output=FileWritten,
    argument_aliases={"path": "file_path"},
    examples=[
        Example(
            {
                "file_path": "a.py", "old_string": "colour", "new_string": "color",
                "replace_all": True,
            },
            why="Spell the option as its documentation does",
        )
    ],
)  # fmt: skip
async def edit(
    ports: Ports,
    file_path: Annotated[str, _PATH],
    old_string: Annotated[str, _OLD],
    new_string: Annotated[str, _NEW],
    replace_all: Annotated[bool, "Replace every occurrence, not the only one"] = False,
) -> Reply:
    """Replace a text in a file; without replace_all it must occur exactly once."""
    from whence.work.edits.search_replace import Wanted

    times = None if replace_all else 1
    return await _replaced(ports, file_path, Wanted(old_string, new_string, times))


@builtin(
    category="fs",
    paths={"path": WRITE},
    output=FileWritten,
    aliases=("write_file",),
    argument_aliases={"file_path": "path"},
    examples=[
        Example({"path": "notes.md", "content": "# Notes\n"}, why="Begin the notes of this task")
    ],
)
async def write_to_file(
    ports: Ports,
    path: Annotated[str, _PATH],
    content: Annotated[str, "All of the content, without line numbers and left-out parts"],
) -> Reply:
    """Write a new file, or all of an existing one anew; parent directories are made."""
    from whence.work.editing import rewrite

    stored = await rewrite(ports.files, path, content)
    written = FileWritten(path, "created" if stored.created else "modified", _NOTICE)
    return Reply(written, warnings=stored.warnings, bytes_written=stored.bytes_written)


async def _replaced(ports: Ports, path: str, *wanted: Wanted) -> Reply:
    from whence.work.editing import replace_in

    stored, done = await replace_in(ports.files, path, *wanted)
    count = sum(one.count for one in done)
    several = f" ({count} replacements)" if count > 1 else ""
    loose = [_BUT_FOR[one.matched] for one in done if one.matched != "exact"]
    written = FileWritten(path, "modified", f"{_NOTICE}{several}")
    warnings = tuple(f"matched but for {what}" for what in loose)
    return Reply(written, warnings=warnings, bytes_written=stored.bytes_written)
