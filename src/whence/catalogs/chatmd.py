"""The built-ins of ochat's agent files, with its names, arguments and outputs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from whence.declare.function import builtin
from whence.errors import Conflict
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Example, Freeform, Sandbox, Tool
from whence.work import files
from whence.work.excerpt import EXCERPT_CAP, Excerpt, below_root, read_excerpt
from whence.work.text import add_line_numbers as numbered
from whence.work.text import in_one_line

READ = Effect.READ
WRITE = Effect.WRITE
_ROOTS = {"enum": ["cwd"]}
"""Where an agent file declares none, the workspace is the only one."""
_SHOWN = 200
"""Characters of a text that an answer repeats."""
_MINUTE = Sandbox(timeout_ms=60_000)
_READING = Sandbox(timeout_ms=60_000, output_chars=EXCERPT_CAP + 5_000)
"""The tool has its own cap, in bytes; what is added to it is the header and the end."""
_AGENT = Sandbox(timeout_ms=600_000)
"""A fork has as much time as an agent that is called."""
_WEB = Sandbox(network=True, hosts=("*",), timeout_ms=60_000)


@builtin(
    category="fs",
    paths={"file": READ},
    sandbox=_READING,
    aliases=("get_contents",),
    argument_aliases={"path": "file"},
    examples=[
        Example(
            {"file": "src/parser.ml", "offset": 120, "line_count": 60},
            why="See how nested elements are closed",
        )
    ],
)
async def read_file(
    ports: Ports,
    file: Annotated[str, "Path of the file"],
    offset: Annotated[
        int, Meta(ge=0, description="Lines to skip; past the end, line_count gives the last lines")
    ]
    | None = None,
    line_count: Annotated[int, Meta(ge=0, description="Lines to read; all if absent")]
    | None = None,
    root: Annotated[str, Meta(description="What file is relative to", extra_json_schema=_ROOTS)]
    | None = None,
) -> Reply:
    """Read a UTF-8 text file, or some of its lines; above it stand its name, lines and length."""
    wanted = below_root(file, root)
    found = await read_excerpt(ports.files, wanted, offset or 0, line_count)
    return Reply(_page(file, found), found.truncated, _go_on(found))


def _page(file: str, found: Excerpt) -> str:
    """The lines under a header, and above a mark where some are missing."""
    if found.first is None:
        span = f"last {len(found.lines)}"
    else:
        span = f"{found.first + 1}-{found.first + max(len(found.lines), 1)}"
    total = "unknown" if found.total is None else found.total
    page = [f"{in_one_line(file)}:{span}:", f"[total_lines={total}]", *found.lines]
    if found.truncated:
        page += ["", "---", "[File truncated]"]
        if found.left is not None:
            page.append(f"[File truncated: {found.left} more lines not shown]")
    return "\n".join(page)


def _go_on(found: Excerpt) -> tuple[str, ...]:
    if not found.truncated or found.first is None:
        return ()
    cut = f"cut after {EXCERPT_CAP} bytes"
    if found.goes_on:
        cut = f"line {found.first + 1} is {cut} and not shown further"
    if found.left == 0:
        return (cut,)
    following = found.first + len(found.lines)
    return (f'{cut}; go on with {{"offset": {following}}}',)


@builtin(
    "read_directory",
    category="fs",
    paths={"path": READ},
    aliases=("read_dir",),
    examples=[Example({"path": "lib"}, why="Find the module that renders tables")],
)
async def read_directory(ports: Ports, path: Annotated[str, "Directory to list"]) -> Reply:
    """List the entries of a directory, one name per line, not its subdirectories' entries."""
    entries, more = await files.list_directory(ports.files, path)
    names = "\n".join(in_one_line(entry.name) for entry in entries)
    return Reply(names, truncated=bool(more), warnings=more)


@builtin(
    category="fs",
    paths={"path": WRITE},
    examples=[
        Example({"path": "notes.md", "content": "- parser: done"}, why="Record what is finished")
    ],
)
async def append_to_file(
    ports: Ports,
    path: Annotated[str, "File to append to; it is made where it is absent"],
    content: Annotated[str, "Added after a newline"],
) -> Reply:
    """Append text to the end of a file, on a new line; not for changing lines that are there."""
    size, _ = await files.append_line(ports.files, path, content)
    return Reply(f"Content appended to {path} successfully.", bytes_written=size)


@builtin(
    category="fs",
    paths={"path": WRITE},
    examples=[
        Example(
            {"path": "dune", "find": "(version 1)", "replace": "(version 2)", "all": False},
            why="Build with the version that the tests need",
        )
    ],
)
async def find_and_replace(
    ports: Ports,
    path: Annotated[str, "File to change"],
    find: Annotated[str, "The text as the file has it; not a pattern"],
    replace: Annotated[str, "What it becomes"],
    all: Annotated[bool, "Whether to replace every occurrence; otherwise there must be only one"],
) -> Reply:
    """Replace an exact text in a file.

    Use apply_patch instead where the text occurs several times and one of them is meant.
    """
    from whence.work.editing import replace_in
    from whence.work.edits.search_replace import Wanted

    wanted = Wanted(find, replace, None if all else 1, "find", "replace")
    try:
        stored, _ = await replace_in(ports.files, path, wanted)
    except Conflict as error:
        raise _not_replaced(error, path, find) from None
    what = _quoted(find) if all else f"first occurrence of {_quoted(find)}"
    said = f"Replaced {what} with {_quoted(replace)} in {path} successfully."
    return Reply(said, bytes_written=stored.bytes_written)


def _not_replaced(error: Conflict, path: str, find: str) -> Conflict:
    """The same in the words that this tool has always used."""
    if error.details.get("reason") == "ambiguous":
        message = (
            f"Error Found multiple occurrences of {_quoted(find)} in {path}, but all set to false. "
            "Use apply_patch instead."
        )
        where = error.message.rpartition(": ")[2]
        hint = f"It is in {where}. Use apply_patch with lines around the one that is meant."
        return Conflict(message, hint, details=error.details)
    if error.details.get("reason") != "missing":
        return error
    message = f"No occurrences of {_quoted(find)} found in {path}."
    return Conflict(message, f"{error.suggestion} ({error.message}.)", details=error.details)


def _quoted(words: str) -> str:
    if len(words) <= _SHOWN:
        return f"'{words}'"
    return f"'{words[: _SHOWN // 2]}…{words[-_SHOWN // 2 :]}'"


_PATCH_MANUAL = """\
Change text files with one patch: all of it is applied, or nothing.
The patch begins with `*** Begin Patch`, ends with `*** End Patch`, and has a section for each \
file: `*** Add File: PATH` (every line with +), `*** Delete File: PATH`, or \
`*** Update File: PATH`, after which `*** Move to: PATH` may stand.
An update is hunks of lines that begin with a space (context), - (removed) or + (added).
Give three lines of context around each change; where they occur more than once, put \
`@@ LINE` before the hunk, with a line above it such as that of its function.
`*** End of File` after a hunk holds it to the end. Paths are relative. No line numbers."""


def _patch_grammar() -> str:
    from whence.work.edits.v4a.grammar import APPLY_PATCH_GRAMMAR

    return APPLY_PATCH_GRAMMAR


def _patched_paths(arguments: JSONObject) -> list[tuple[Effect, str]]:
    from whence.work.apply_patch import touches

    return touches(str(arguments.get("input", "")))


@builtin(
    description=_PATCH_MANUAL,
    category="repo",
    effects=(READ, WRITE),
    touches=_patched_paths,
    freeform=Freeform(_patch_grammar),
    sandbox=_MINUTE,
    argument_aliases={"patch": "input"},
    examples=[
        Example(
            {
                "input": "*** Begin Patch\n*** Update File: a.py\n@@ def greet():\n"
                '-    return "hi"\n+    return "hello"\n*** End Patch'
            },
            why="Greet as the test expects",
        )
    ],
)
async def apply_patch(
    ports: Ports, input: Annotated[str, "*** Begin Patch … *** End Patch"]
) -> Reply:
    """Apply a patch."""
    from whence.work.apply_patch import apply_patch

    done = await apply_patch(ports.files, input)
    return Reply(done.text, warnings=done.warnings, bytes_written=done.bytes_written)


@builtin(
    category="web",
    effects=(Effect.NETWORK,),
    sandbox=_WEB,
    examples=[
        Example(
            {"url": "https://github.com/ocaml/dune/blob/main/src/dune_rules/rule.ml#L10-L80"},
            why="See how dune orders its rules before imitating it",
        )
    ],
)
async def webpage_to_markdown(
    ports: Ports, url: Annotated[str, "Address; #L10-L80 names lines of a file on GitHub"]
) -> Reply:
    """Read a web page, a file on GitHub, a PDF or data from the web as Markdown."""
    return await _web_document(ports, url, "markdown")


async def _web_document(ports: Ports, url: str, form: Literal["markdown", "text"]) -> Reply:
    from whence.work.web.page import Form, recent_pages, web_document

    page = await web_document(
        url, Form(form), http=ports.http, cache=recent_pages(), allow=ports.hosts
    )
    return Reply(page.markdown, warnings=page.warnings)


@builtin(
    category="vision",
    paths={"path": READ},
    sandbox=_MINUTE,
    examples=[Example({"path": "shots/login.png"}, why="See where the button overlaps the field")],
)
async def import_image(ports: Ports, path: Annotated[str, "Path of the picture"]) -> Reply:
    """Look at a local picture: PNG, JPEG, GIF, WebP, BMP, TIFF or AVIF."""
    from whence.work.images import read_picture

    picture = await read_picture(ports.files, path)
    return Reply(picture.as_result(), warnings=picture.notes)


fork = Tool(
    name="fork",
    description="Do a long task apart: a copy of you, which knows all that was said, reports back",
    input_schema={
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "What to do"},
            "arguments": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What it needs to know besides",
            },
        },
        "required": ["command", "arguments"],
        "additionalProperties": False,
    },
    handler=None,
    category="misc",
    sandbox=_AGENT,
    source="builtin",
)
"""Only a run can fork itself, and gives it its handler."""

TOOLS: tuple[Tool, ...] = (
    apply_patch, read_directory, read_file, append_to_file, find_and_replace, webpage_to_markdown,
    import_image, fork,
)  # fmt: skip
"""The catalog `chatmd`."""


@builtin(category="fs", paths={"path": WRITE})
async def mkdir(ports: Ports, path: Annotated[str, "Directory to make"]) -> str:
    """Make a directory and its parents."""
    ports.files.make_directories(path)
    return f"Directory {path} created successfully."


@builtin(category="web", effects=(Effect.NETWORK,), sandbox=_WEB)
async def get_url_content(ports: Ports, url: Annotated[str, "Address of a page"]) -> Reply:
    """Read the visible text of a web page, a line for each piece of it."""
    return await _web_document(ports, url, "text")


@builtin(category="text")
async def add_line_numbers(text: Annotated[str, "Any text"]) -> str:
    """Number the lines of a text."""
    return numbered(text)


HELPERS: tuple[Tool, ...] = (mkdir, get_url_content, add_line_numbers)
"""For programs that mount them: no agent file can name these."""
