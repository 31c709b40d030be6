"""What the tests of declarations share: small catalogs, and files that are only in a dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from whence.catalogs import load_catalog
from whence.chatmd.parse import parse
from whence.declare.function import tool
from whence.declare.python import Loaded, load_function
from whence.declare.resolve import resolve
from whence.errors import NotFound
from whence.shapes.declaration import Resolved
from whence.shapes.document import Diagnostic, Document
from whence.shapes.tool import Effect, Tool


@tool(source="builtin", paths={"file": Effect.READ}, aliases=("get_contents",))
async def read_file(file: Annotated[str, "File to read"], root: str | None = None) -> str:
    """Read a text file."""
    return f"{root}/{file}"


@tool("read_directory", source="builtin", paths={"path": Effect.READ}, aliases=("read_dir",))
async def read_directory(path: str) -> str:
    """List a directory."""
    return path


@tool(source="builtin", effects={Effect.WRITE})
async def apply_patch(input: str) -> str:
    """Apply a patch."""
    return input


@tool(source="builtin", effects={Effect.NETWORK})
async def webpage_to_markdown(url: str) -> str:
    """Read a page."""
    return url


@tool("read_file", source="builtin", paths={"path": Effect.READ})
async def roo_read_file(path: str) -> str:
    """Read a file with line numbers."""
    return path


@tool(source="builtin", paths={"path": Effect.READ})
async def list_files(path: str) -> str:
    """List files."""
    return path


CATALOGS: Mapping[str, Sequence[Tool]] = {
    "chatmd": (read_file, read_directory, apply_patch, webpage_to_markdown),
    "moollm": load_catalog("moollm"),
    "roo": (roo_read_file, list_files),
}


def resolved(
    text: str | bytes,
    *,
    files: Mapping[str, str] | None = None,
    functions: Mapping[tuple[str, str], Loaded] | None = None,
    default_catalogs: Sequence[str] = ("chatmd", "moollm"),
) -> Resolved:
    """What a file declares, where these other files exist."""

    def load_document(path: str) -> Document:
        if path not in (files or {}):
            raise NotFound(f"there is no file {path}", "Correct the path.")
        return parse((files or {})[path])

    def load(path: str, name: str) -> Loaded:
        found = (functions or {}).get((path, name))
        return load_function(path, name) if found is None else found

    return resolve(
        parse(text),
        catalogs=CATALOGS,
        default_catalogs=default_catalogs,
        load_document=load_document,
        load_function=load,
    )


def one_tool(text: str, *, files: Mapping[str, str] | None = None) -> Tool:
    """The only tool of a file that has nothing wrong with it."""
    found = resolved(text, files=files)
    assert found.problems == ()
    (only,) = found.tools
    return only


def one_problem(found: Resolved) -> Diagnostic:
    """The only thing that is wrong."""
    (only,) = found.problems
    return only


def codes(found: Resolved) -> list[str]:
    """What is wrong, in the order of the file."""
    return [each.code for each in found.problems]
