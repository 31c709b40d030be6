"""The protocol's own tools, with its names, arguments and outputs."""

from __future__ import annotations

from typing import Annotated

import msgspec

from whence.catalogs.moollm_exec import js_exec, python_exec, terminal_run
from whence.declare.function import builtin
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.dataclass import dataclass
from whence.shapes.tool import Effect, Example, Tool
from whence.work import files

READ = Effect.READ
WRITE = Effect.WRITE


class Range(msgspec.Struct, forbid_unknown_fields=True):
    """Lines of a file."""

    start: Annotated[int, msgspec.Meta(ge=1, description="First line, counted from 1")] | None = (
        None
    )
    end: Annotated[int, msgspec.Meta(ge=1, description="Last line, included")] | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """What fs.read returns."""

    content: str
    lines: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class Appended:
    """What fs.append returns."""

    bytes_written: int
    created: bool


@dataclass(frozen=True, slots=True)
class Patched:
    """What fs.patch returns."""

    hunks_applied: int
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Made:
    """What fs.mkdir returns."""

    created: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that matches."""

    path: str
    line: int
    content: str
    context: list[str]


@builtin(
    "fs.ls",
    category="fs",
    paths={"path": READ},
    output=list[files.Listed],
    aliases=("list_dir", "list_directory", "LS"),
    examples=[Example({"path": "."}, why="See which folders hold the parser before reading it")],
)
async def fs_ls(ports: Ports, path: Annotated[str, "Directory to list"]) -> Reply:
    """List directory contents."""
    entries, more = await files.list_directory(ports.files, path)
    return Reply(entries, truncated=bool(more), warnings=more)


@builtin(
    "fs.read",
    category="fs",
    paths={"path": READ},
    output=Content,
    aliases=("view_file", "View", "Read"),
    examples=[
        Example(
            {"path": "src/parser.ts", "range": {"start": 1, "end": 80}},
            why="Check if recursive descent handles nested expressions",
        )
    ],
)
async def fs_read(
    ports: Ports, path: Annotated[str, "File to read"], range: Range | None = None
) -> Reply:
    """Read file contents."""
    wanted = range or Range()
    found = await files.read(ports.files, path, wanted.start, wanted.end)
    content = Content(found.content, found.lines, found.truncated)
    if not found.counted:
        large = f"lines counts up to this range: over {files.WHOLE_CAP} bytes nothing more is read"
        return Reply(content, truncated=found.truncated, warnings=(large,))
    if not found.truncated:
        return Reply(content)
    more = (
        f'cut after {files.READ_CAP} bytes; go on with {{"range": {{"start": {found.next_line}}}}}'
    )
    return Reply(content, truncated=True, warnings=(more,))


@builtin(
    "fs.append",
    category="fs",
    paths={"path": WRITE},
    output=Appended,
    aliases=("append_file",),
    examples=[
        Example({"path": "notes.md", "text": "- done\n"}, why="Record that the audit is finished")
    ],
)
async def fs_append(
    ports: Ports,
    path: Annotated[str, "File to append to"],
    text: Annotated[str, "Added exactly as given; no newline is inserted"],
) -> Reply:
    """Append text to file (creates if missing)."""
    size, created = await files.append(ports.files, path, text)
    return Reply(Appended(size, created), bytes_written=size)


@builtin(
    "fs.patch",
    category="fs",
    paths={"path": WRITE},
    output=Patched,
    examples=[
        Example(
            {"path": "a.txt", "diff": "@@ -1 +1 @@\n-old\n+new\n"},
            why="Correct the greeting that the test expects",
        )
    ],
)
async def fs_patch(
    ports: Ports,
    path: Annotated[str, "File to change"],
    diff: Annotated[str, "Unified diff format"],
) -> Reply:
    """Apply unified diff to file."""
    from whence.work.patching import patch

    done = await patch(ports.files, path, diff)
    counts = Patched(done.hunks_applied, done.added, done.removed)
    return Reply(counts, warnings=done.warnings, bytes_written=done.bytes_written)


@builtin(
    "fs.write",
    category="fs",
    paths={"path": WRITE},
    output=files.Written,
    aliases=("write_file", "Write"),
    examples=[Example({"path": "a.txt", "content": "hello\n"}, why="Give the test a file to read")],
    notes="Prefer append or patch when possible",
)
async def fs_write(
    ports: Ports, path: Annotated[str, "File to write"], content: Annotated[str, "The new content"]
) -> Reply:
    """Write/overwrite file (use with caution)."""
    done = await files.write(ports.files, path, content)
    return Reply(done, bytes_written=done.bytes_written)


@builtin(
    "fs.mkdir",
    category="fs",
    paths={"path": WRITE},
    aliases=("make_dir", "create_directory"),
    examples=[Example({"path": "docs/img"}, why="Make room for the pictures of the manual")],
)
async def fs_mkdir(ports: Ports, path: Annotated[str, "Directory to make"]) -> Made:
    """Create directory (and parents)."""
    return Made(ports.files.make_directories(path))


@builtin(
    "fs.copy",
    category="fs",
    paths={"src": READ, "dst": WRITE},
    output=files.Copied,
    examples=[Example({"src": "template", "dst": "site"}, why="Start the site from the template")],
)
async def fs_copy(
    ports: Ports,
    src: Annotated[str, "File or directory to copy"],
    dst: Annotated[str, "Where to; a name that is free"],
) -> Reply:
    """Copy file or directory."""
    done = await files.copy(ports.files, src, dst)
    return Reply(done, bytes_written=done.bytes_written)


@builtin(
    "search.lexical",
    category="search",
    paths={"scope": READ},
    output=list[Hit],
    aliases=("grep_search", "grep", "Grep"),
    examples=[
        Example(
            {"query": "def parse_\\w+", "scope": "src", "glob": "*.py"},
            why="Find where parsing starts to see how errors are made",
        )
    ],
)
async def search_lexical(
    ports: Ports,
    query: Annotated[str, "Search pattern (regex supported)"],
    scope: Annotated[str, "Directory to search in"] = ".",
    glob: Annotated[str, "File pattern (e.g., '*.md')"] | None = None,
) -> Reply:
    """Full-text search with regex support."""
    from whence.work import lexical

    root = ports.files.real(".")
    found = await lexical.search(
        query,
        root=root,
        scope=ports.files.real(scope),
        glob=glob,
        runner=ports.processes,
        rg=lexical.installed(root),
        closed=ports.closed,
    )
    hits = [Hit(hit.path, hit.line, hit.content, list(hit.context)) for hit in found.hits]
    return Reply(hits, truncated=found.truncated, warnings=found.warnings)


TOOLS: tuple[Tool, ...] = (
    fs_ls, fs_read, fs_append, fs_patch, fs_write, fs_mkdir, fs_copy, search_lexical,
    terminal_run, python_exec, js_exec,
)  # fmt: skip
"""The catalog `moollm`."""
