"""The protocol's tools that run programs and code, with its names, arguments and outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Meta

from whence.declare.function import builtin
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.command import Commands
from whence.shapes.declaration import MAX_OUTPUT
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Example, Sandbox
from whence.work.exec.results import Answered, Evaluated, FromWorkspace, Ran

EXECUTE = Effect.EXECUTE
SANDBOX = Sandbox(timeout_ms=600_000, output_chars=MAX_OUTPUT)
"""The time is that of the whole call; a program has its own, which a call may choose."""


def _program(arguments: JSONObject) -> Commands:
    words: Any = arguments["cmd"]
    return Commands.of(words)


@builtin(
    "terminal.run",
    category="exec",
    effects=[EXECUTE],
    commands=_program,
    sandbox=SANDBOX,
    output=Ran,
    aliases=("run_terminal_cmd", "run_command", "Bash"),
    examples=[
        Example(
            {"cmd": ["python3", "-m", "unittest"], "timeout_ms": 120_000},
            why="See whether the patch broke a test",
        )
    ],
    notes='There is no shell: for pipes and the like, run ["bash", "-c", "a | b"].',
)
async def terminal_run(
    ports: Ports,
    cmd: Annotated[list[str], "Command and arguments"],
    cwd: Annotated[str, "Working directory"] = ".",
    timeout_ms: Annotated[int, Meta(ge=1)] = 30_000,
) -> Reply:
    """Execute shell command (sandboxed)."""
    from whence.work.exec.terminal import run_terminal

    return await run_terminal(ports, cmd, cwd, timeout_ms)


def _files_read(arguments: JSONObject) -> Iterable[tuple[Effect, str]]:
    given: Any = arguments.get("files")
    values = given.values() if isinstance(given, dict) else ()
    paths = (value.get("path") for value in values if isinstance(value, dict))
    return [(Effect.READ, path) for path in paths if isinstance(path, str)]


@builtin(
    "python.exec",
    category="exec",
    effects=[EXECUTE, Effect.READ],
    touches=_files_read,
    sandbox=SANDBOX,
    output=Evaluated,
    examples=[
        Example(
            {
                "code": "import csv\nrows = csv.DictReader(open('a.csv'))\n"
                "sum(float(row['price']) for row in rows)",
                "files": {"a.csv": {"path": "data/prices.csv"}},
            },
            why="Check the total that the report states",
        )
    ],
    notes="Standard library; each call starts afresh in an empty directory, besides its files. "
    "return_value is the value of the last expression.",
)
async def python_exec(
    ports: Ports,
    code: Annotated[str, "The value of its last expression is returned"],
    files: Annotated[
        dict[str, str | FromWorkspace],
        "Virtual files available to script: name to text, or to {path} of the workspace",
    ]
    | None = None,
    timeout_ms: Annotated[int, Meta(ge=1)] = 60_000,
) -> Reply:
    """Execute Python code (sandboxed)."""
    from whence.work.exec.python import run_python

    return await run_python(ports, code, files or {}, timeout_ms)


@builtin(
    "js.exec",
    category="exec",
    effects=[EXECUTE],
    sandbox=SANDBOX,
    output=Answered,
    examples=[
        Example(
            {"code": "input.prices.reduce((a, b) => a + b, 0)", "input_json": {"prices": [1, 2]}},
            why="Check the total that the page shows",
        )
    ],
    notes="No files, no network, no modules. result is the value of the last expression, or what "
    "the code returns; top-level await works with return.",
)
async def js_exec(
    ports: Ports,
    code: Annotated[str, "Its last value, or what it returns, is the result"],
    input_json: Annotated[dict[str, Any], "Available to the code as `input`"] | None = None,
    timeout_ms: Annotated[int, Meta(ge=1)] = 10_000,
) -> Reply:
    """Execute JavaScript (isolate)."""
    from whence.work.exec.javascript import run_javascript

    return await run_javascript(ports, code, input_json, timeout_ms)
