"""The tools that find files and lines."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from whence.declare.function import builtin
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.tool import Effect, Example
from whence.work.grouping import Group
from whence.work.ignored import Ignored
from whence.work.text import in_one_line

READ = Effect.READ
_LONGEST_LINE = 500
_MORE_FILES = (
    "(File list truncated. Use list_files on specific subdirectories if you need to explore "
    "further.)"
)


@builtin(
    category="fs",
    paths={"path": READ},
    examples=[Example({"path": "src", "recursive": True}, why="See how the package is laid out")],
)
async def list_files(
    ports: Ports,
    path: Annotated[str, "Directory, relative to the workspace"],
    recursive: Annotated[bool, "Also what is in its directories"],
) -> Reply:
    """List the files and directories in a directory; what was just written needs no listing."""
    from whence.work.listing import list_tree

    ignored = Ignored.of(ports.files)
    found = await list_tree(
        ports.files,
        path,
        lambda name, is_directory: ignored.covers(name, is_directory=is_directory),
        recursive=recursive,
    )
    lines = [f"{'🔒 ' * entry.locked}{in_one_line(entry.path)}" for entry in found.entries]
    if found.truncated:
        lines += ["", _MORE_FILES]
    return Reply("\n".join(lines) or "No files found.", truncated=found.truncated)


@builtin(
    category="search",
    paths={"path": READ},
    examples=[
        Example(
            {"path": "src", "regex": "def parse_\\w+", "file_pattern": "*.py"},
            why="Find where parsing starts to see how errors are made",
        )
    ],
)
async def search_files(
    ports: Ports,
    path: Annotated[str, "Directory or file to search"],
    regex: Annotated[str, "Regular expression, Rust syntax, for one line"],
    file_pattern: Annotated[str, Meta(description="Which files, as in *.ts")] | None = None,
) -> Reply:
    """Search files by regular expression; each result comes with a line above and below."""
    from whence.work.grouping import find_groups

    found = await find_groups(ports, path, regex, file_pattern)
    if not found.groups:
        return Reply("No results found", warnings=found.warnings)
    results = "1 result" if len(found.groups) == 1 else f"{len(found.groups)} results"
    head = f"Found {results}."
    if found.truncated:
        head = (
            f"Showing first {len(found.groups)} of {len(found.groups)}+ results. "
            "Use a more specific search if necessary."
        )
    pages = [head, *(_page(path, groups) for path, groups in found.by_path())]
    return Reply("\n\n".join(pages), truncated=found.truncated, warnings=found.warnings)


def _page(path: str, groups: list[Group]) -> str:
    lines = [f"# {in_one_line(path)}"]
    for group in groups:
        lines += [f"{number:3d} | {_cut(text)}" for number, text in group.lines]
        lines.append("----")
    return "\n".join(lines)


def _cut(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[:_LONGEST_LINE]} [truncated...]"
