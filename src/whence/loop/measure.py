"""What is behind a tool right now: its declaration as text, and the hashes of what it runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any

from whence.chatmd.include import expand
from whence.errors import ParseError, Unavailable
from whence.execute.sandbox.start import BASE_ENVIRONMENT
from whence.loop.agent_file import AgentFile, Reach, read_file
from whence.loop.digest import digest, inside
from whence.shapes.declaration import (
    AgentReference,
    Hole,
    McpServer,
    PythonReference,
    ShellCommand,
    Word,
)
from whence.shapes.pin import Pin
from whence.shapes.tool import Tool

_INTERPRETER = re.compile(
    r"(?:ba|da|k|z)?sh|(?:python|ruby|perl|php|lua|tclsh|pypy)[0-9.]*|node|deno|bun|Rscript"
)

_SCRIPT = re.compile(r".+\.(?:py|pyz|[cm]?js|[cm]?ts|sh|rb|pl|php|lua|jar)")
"""What is run, and not read as data, whichever program is given it."""

_DEFINING = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What a model or a person goes by; the rest of a definition is for display."""


def measure(file: AgentFile, tool: Tool, workspace: str, environ: Mapping[str, str]) -> Pin:
    """What is behind a tool of an agent file that `is_pinned`.

    Raises:
        Unavailable: the program is not there.
        WhenceError: a file that it names cannot be read.
    """
    binding = file.resolved.bindings[tool.name]
    if isinstance(binding, ShellCommand):
        files = program_files(binding, workspace, environ)
        return Pin("shell", _text(_command(binding, tool)), named_inside(files, workspace))
    if isinstance(binding, AgentReference):
        declared = {"agent": binding.path, "description": tool.description}
        sources = {} if binding.remote else _sources(file, binding.path, workspace)
        return Pin("agent", _text(declared), source_hashes(sources, workspace))
    assert isinstance(binding, PythonReference)  # noqa: S101 - the last of those that are pinned
    path = _find(file, binding.path, workspace)
    declared = {"python": f"{binding.path}:{binding.function}"}
    return Pin("python", _text(declared), named_inside({path: digest(path)}, workspace))


def is_pinned(file: AgentFile, tool: Tool) -> bool:
    """Whether something outside this program is behind the tool."""
    binding = file.resolved.bindings.get(tool.name)
    return isinstance(binding, ShellCommand | AgentReference | PythonReference)


def measure_definition(
    server: McpServer, definition: Mapping[str, Any], files: Mapping[str, str]
) -> Pin:
    """What a server says of one of its tools, and the hashes of its own program."""
    stdio = server.transport == "stdio"
    place = {"cwd": server.cwd, "env": list(server.env)} if stdio else {"network": server.networks}
    said = {key: definition[key] for key in _DEFINING if definition.get(key) is not None}
    text = json.dumps(said, indent=2, ensure_ascii=True, sort_keys=True)
    whole = {"server": server.label, **place, "definition": json.loads(text)}
    return Pin("mcp", _text(whole), files)


def pinned_definition(pin: Pin) -> tuple[str, dict[str, Any]]:
    """The server of a tool and what it said of it, as they were pinned.

    Raises:
        ParseError: the pin was edited by hand.
    """
    try:
        whole = json.loads(pin.declaration)
        return str(whole["server"]), dict(whole["definition"])
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(
            f"the pin of a server's tool cannot be read: {error}",
            "Restore the lock, or pin it anew with `whence lock --update FILE`.",
        ) from None


def server_files(server: McpServer, workspace: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The program of a server and the scripts among its arguments; none for an address.

    Raises:
        Unavailable: there is no such program.
    """
    if server.transport != "stdio":
        return {}
    words = tuple((word,) for word in server.argv)
    # It is found as a person's own shell would find it: it does not run in the sandbox.
    command = ShellCommand(words, env=(*server.env, "PATH"), cwd=server.cwd)
    files = program_files(command, workspace, environ)
    for word in server.argv[1:]:
        path = os.path.normpath(os.path.join(_cwd(command, workspace), word))
        if _SCRIPT.fullmatch(word) and os.path.isfile(path):
            files[path] = digest(path)
    return files


def agent_name(path: str, workspace: str) -> str:
    """An agent file as the lock names it: relative to the workspace where it is inside."""
    return path if "://" in path else inside(os.path.abspath(path), workspace)


def program_path(command: ShellCommand, workspace: str, environ: Mapping[str, str]) -> str:
    """The path that a call would start, as the sandbox would find it.

    Raises:
        Unavailable: there is no such program.
    """
    name = _fixed(command.argv[0])
    search = BASE_ENVIRONMENT["PATH"]
    if "PATH" in command.env:
        search = environ.get("PATH", search)
    places = [os.path.join(place, name) for place in search.split(":") if place]
    if "/" in name:
        places = [os.path.normpath(os.path.join(_cwd(command, workspace), name))]
    for path in places:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Unavailable(
        f"cannot run {name!r}: there is no such program",
        "Install the program, or give its path from the workspace, as in .venv/bin/pytest.",
        details={"path": search},
    )


def program_files(
    command: ShellCommand, workspace: str, environ: Mapping[str, str]
) -> dict[str, str]:
    """The program, and the script that an interpreter is given, with their hashes."""
    path = program_path(command, workspace, environ)
    found = {path: digest(path)}
    script = _script(command, workspace)
    if script is not None:
        found[script] = digest(script)
    return found


def source_hashes(sources: Mapping[str, bytes], workspace: str) -> dict[str, str]:
    """The hashes of files that were read."""
    hashes = {path: hashlib.sha256(data).hexdigest() for path, data in sources.items()}
    return named_inside(hashes, workspace)


def _command(command: ShellCommand, tool: Tool) -> dict[str, Any]:
    return {
        "command": [_written(word) for word in command.argv],
        "params": {
            param.name: {**param.schema, "required": param.required} for param in command.params
        },
        "description": tool.description,
        "effects": sorted(tool.effects),
        "hosts": list(command.hosts),
        "env": list(command.env),
        "cwd": command.cwd,
        "timeout_ms": command.timeout_ms,
        "max_output": command.max_output,
        # Only where it is said, so that pins of before stay what they are.
        **({"sandbox": "required"} if command.isolated else {}),
    }


def _text(declared: dict[str, Any]) -> str:
    return json.dumps(declared, indent=2, ensure_ascii=True)


def _written(word: Word) -> str:
    return "".join(f"{{{part.name}}}" if isinstance(part, Hole) else part for part in word)


def _fixed(word: Word) -> str:
    return "".join(part for part in word if isinstance(part, str))


def _cwd(command: ShellCommand, workspace: str) -> str:
    return os.path.join(os.path.abspath(workspace), command.cwd or "")


def _script(command: ShellCommand, workspace: str) -> str | None:
    """The file that an interpreter runs, where the declaration names it."""
    if not _INTERPRETER.fullmatch(os.path.basename(_fixed(command.argv[0]))):
        return None
    for word in command.argv[1:]:
        if any(isinstance(part, Hole) for part in word):
            return None
        if not _fixed(word).startswith("-"):
            path = os.path.normpath(os.path.join(_cwd(command, workspace), _fixed(word)))
            return path if os.path.isfile(path) else None
    return None


def _sources(file: AgentFile, path: str, workspace: str) -> dict[str, bytes]:
    found = _find(file, path, workspace)
    reach = Reach(found, workspace)
    try:
        return expand(read_file(found), found, reach.read).sources
    finally:
        reach.close()


def _find(file: AgentFile, path: str, workspace: str) -> str:
    reach = Reach(file.path, workspace)
    try:
        return reach.find(path, file.path)
    finally:
        reach.close()


def named_inside(files: Mapping[str, str], workspace: str) -> dict[str, str]:
    """Hashes by their paths as the lock names them."""
    return {inside(path, workspace): digest for path, digest in files.items()}
