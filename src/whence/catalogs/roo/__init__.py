"""The tools of Roo Code, with its names, arguments and outputs.

Every one of them keeps away from what the workspace's `.rooignore` covers.
"""

from __future__ import annotations

from whence.catalogs.roo.commands import execute_command, read_command_output
from whence.catalogs.roo.edits import (
    apply_diff,
    apply_patch,
    edit,
    edit_file,
    search_and_replace,
    search_replace,
    write_to_file,
)
from whence.catalogs.roo.reading import reader
from whence.catalogs.roo.searches import list_files, search_files
from whence.shapes.tool import Tool
from whence.work.ignored import guarded

MOST_FILES = 5
"""How many files one call of read_file may name."""


def tools(
    *, partial_reads: bool = True, most_files: int = MOST_FILES, images: bool = False
) -> tuple[Tool, ...]:
    """The catalog, with the options that its reader has.

    Args:
        partial_reads: Whether lines of a file can be asked for, besides all of it.
        most_files: How many files one call may name.
        images: Whether pictures are shown; otherwise a note stands in their place.
    """
    read_file = reader(partial_reads=partial_reads, most_files=most_files, images=images)
    guards = apply_diff, apply_patch, list_files
    others = search_and_replace, search_replace, edit_file, edit, search_files, write_to_file
    commands = execute_command, read_command_output
    return (*map(guarded, guards), read_file, *map(guarded, others), *commands)


TOOLS: tuple[Tool, ...] = tools()
"""The catalog `roo`."""
