"""The tools that run a command line, and read what it wrote."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from whence.declare.function import builtin
from whence.declare.shell_grammar import lines_in
from whence.errors import InvalidArgs, NotFound
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.tool import Effect, Example, Sandbox
from whence.work.ignored import Ignored

if TYPE_CHECKING:
    from whence.work.exec.background import Command

PREVIEW = 10_000
_PART = 40 * 1024
_MOST_PART = 90_000
_ID = re.compile(r"cmd-\d{1,20}\.txt")
_UNSUCCESSFUL = "Command execution was not successful, inspect the cause and adjust as needed."


@builtin(
    category="exec",
    effects=[Effect.EXECUTE],
    commands=lines_in("command"),
    sandbox=Sandbox(timeout_ms=600_000),
    examples=[
        Example({"command": "npm test", "cwd": "app"}, why="See whether the patch broke a test"),
        Example({"command": "npm run dev", "timeout": 5}, why="Have the page served while I edit"),
    ],
)
async def execute_command(
    ports: Ports,
    command: Annotated[str, "Command line, for a shell"],
    cwd: Annotated[str, Meta(description="Directory, relative to the workspace")] | None = None,
    timeout: Annotated[  # noqa: ASYNC109 - it is the model's, and ends nothing
        float, Meta(ge=0, description="Seconds to wait; then it goes on in the background")
    ]
    | None = None,
) -> Reply:
    """Run a command line in the workspace; servers and watchers get a timeout and stay running."""
    from whence.work.exec.background import patience, start

    if not command.strip():
        raise InvalidArgs("the command is empty", "Give the line that is to be run.")
    place = cwd or "."
    hidden = Ignored.of(ports.files).covering
    running, program = start(ports, command, place, hidden)
    ended = await running.run(ports, program, patience(timeout, ports))
    return _ended(running, place) if ended else _going_on(running, place, ports)


def _ended(running: Command, place: str) -> Reply:
    from whence.work.commands import warnings_of
    from whence.work.exec.output import preview

    finished = running.ended()
    status, output = _status(finished.exit_code), running.output
    isolation, warnings = finished.isolation.as_json(), warnings_of(finished)
    if len(output) <= PREVIEW:
        text = f"Command executed in '{place}'. {status}\nOutput:\n{preview(output, PREVIEW)}"
        return Reply(text, warnings=warnings, isolation=isolation)
    running.keep()
    text = (
        f"Command executed in '{place}'. {status}\n"
        f"Output ({len(output)} bytes) persisted. Artifact ID: {running.id}\n"
        f"Preview:\n{preview(output, PREVIEW)}\n"
        "Use read_command_output tool to view full output if needed."
    )
    return Reply(text, truncated=True, warnings=warnings, isolation=isolation)


def _going_on(running: Command, place: str, ports: Ports) -> Reply:
    from whence.work.exec.output import preview

    text = (
        f"Command is still running in '{place}', in the background. Artifact ID: {running.id}\n"
        f"Output so far:\n{preview(running.output, PREVIEW)}\n"
        "Use read_command_output tool with this ID to see what it writes; it is stopped when the "
        "session ends."
    )
    return Reply(text, isolation=ports.processes.isolation().as_json())


def _status(code: int) -> str:
    if code < 0:
        return f"Process terminated by signal {_signal_name(-code)}"
    return f"Exit code: {code}" if code == 0 else f"{_UNSUCCESSFUL}\nExit code: {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


@builtin(
    category="exec",
    examples=[
        Example(
            {"artifact_id": "cmd-1706119234567.txt", "search": "error|failed"},
            why="Find the test that failed in the long output",
        )
    ],
)
async def read_command_output(
    ports: Ports,
    artifact_id: Annotated[str, "As execute_command said it: cmd-….txt"],
    search: Annotated[str, Meta(description="Only lines that match; case does not matter")]
    | None = None,
    offset: Annotated[int, Meta(ge=0, description="First byte")] = 0,
    limit: Annotated[int, Meta(ge=1, description="How many bytes at most")] = _PART,
    end: Annotated[bool, Meta(description="End the command first, if it still runs")] = False,
) -> Reply:
    """Read what a command wrote: part of it, or the lines that match; also while it still runs."""
    from whence.work.exec.background import end_command
    from whence.work.exec.output import Matches, part_of
    from whence.work.exec.output import search as find

    if end:
        await end_command(ports, artifact_id)
    output, is_running = _output(ports, artifact_id)
    head = f"[Command Output: {artifact_id}]" + (" (still running)" if is_running else "")
    room = min(limit, _MOST_PART)
    if search is None:
        part = part_of(output, offset, room)
        state = "TRUNCATED" if part.end < part.total or part.start > 0 else "COMPLETE"
        about = f"Total size: {part.total} | Showing bytes {part.start}-{part.end} | {state}"
        truncated, lines = part.end < part.total, part.lines
    else:
        found: Matches = find(output, search, room)
        shown = len(found.lines)
        about = f"Total matches: {shown + found.more} | Showing first {shown}"
        truncated, lines = found.more > 0, found.lines
        if not lines:
            return Reply(f"{head}\nNo matches found for the search pattern.")
    numbered = [f"{number:5d} | {text}" for number, text in lines]
    return Reply("\n".join([head, about, "", *numbered]), truncated=truncated)


def _output(ports: Ports, id: str) -> tuple[bytes, bool]:
    from whence.work.exec.background import output_of

    if not _ID.fullmatch(id):
        raise InvalidArgs(
            f"{id!r} is not an artifact ID", "Give it as execute_command said it: cmd-….txt."
        )
    found = output_of(ports, id)
    if found is None:
        raise NotFound(
            f"there is no command output {id!r} in this session",
            "Only what ran in the background, and output that was too long to show, is kept.",
        )
    return found
