"""The command line: parse arguments, call one function, show the answer.

`--version` and `--help` import nothing; a command's module is imported when the command is used.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "call": "make one call through the gate; prints the outcome as JSON",
    "check": "every problem of agent files, with line and column",
    "doctor": "what this machine enforces, found out by trying",
    "explain": "which checks a call would pass and which rule decides, without running it",
    "fmt": "lay agent files out, without touching their text",
    "lock": "pin what is behind the tools of agent files, and show what changed since",
    "log": "what happened and why: show, verify, why, stats, diff, undo",
    "mcp": "what an MCP server offers: tools, prompts, resources",
    "merge": "git's merge driver for agent files",
    "models": "which models can be used here; install fetches the embedded one",
    "new": "write a starter agent file",
    "run": "run an agent file to its answer",
    "serve": "offer agent files and tools to other programs over MCP",
    "show": "exactly what a model would be sent",
    "tools": "the tools that can be called, with their schemas",
}

_OPTIONS = ("--version", "--help", "-C", "--session")

_HELP = """\
usage: whence [--version] [--help] [-C DIR] [--session ID] COMMAND …

Agents as text files, whose every tool call says why.

commands:
{commands}

whence COMMAND --help says more. Examples to begin with:
  whence new agent.chatmd
  whence run agent.chatmd "List the files here"
  whence log show
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; exit code 0 fine, 1 failed, 2 wrong usage, 130 interrupted."""
    if argv is None:
        _ready_streams()
    arguments = _command_first(list(sys.argv[1:] if argv is None else argv))
    if arguments in (["--version"], ["-V"]):
        from whence import __version__

        print(f"whence {__version__}")
        return 0
    if arguments[:1] == ["help"] and arguments[1:] and arguments[1] in COMMANDS:
        arguments = [arguments[1], *arguments[2:], "--help"]
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        listed = "\n".join(f"  {name:<9}{text}" for name, text in COMMANDS.items())
        print(_HELP.format(commands=listed), end="")
        return 0 if arguments else 2
    if arguments[0] not in COMMANDS:
        return _unknown(arguments[0])
    from whence.cli.command import run

    if argv is not None:
        return run(arguments[0], arguments[1:])
    # What a command loads stays to its end: looking for garbage there would be in vain.
    gc.set_threshold(20_000)
    code = run(arguments[0], arguments[1:])
    gc.freeze()
    return code


def _ready_streams() -> None:
    """Missing streams lead nowhere, and a terminal need not know every character."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - for as long as we run
        elif mode == "w":
            stream.reconfigure(errors="replace")


def _command_first(arguments: list[str]) -> list[str]:
    """`-C DIR` and `--session ID` may stand before the command, too."""
    before: list[str] = []
    while len(arguments) > 2 and arguments[0] in ("-C", "--session"):
        before += arguments[:2]
        arguments = arguments[2:]
    return arguments + before


def _unknown(name: str) -> int:
    from difflib import get_close_matches

    kind, known = ("option", _OPTIONS) if name.startswith("-") else ("command", tuple(COMMANDS))
    close = get_close_matches(name, known, n=1)
    said, hint = f"there is no {kind} {name!r}", "`whence --help` lists what there is."
    if name in _OPTIONS:
        said = f"{name} needs a value, and a command behind it"
    elif name.endswith((".chatmd", ".md")):
        hint = f"Did you mean `whence run {name}`?"
    elif close:
        hint = f"Did you mean `whence {close[0]}`?"
    print(f"whence: {said}. {hint}", file=sys.stderr)
    return 2
