"""`whence new`."""

from __future__ import annotations

import argparse
import os
import sys

EXAMPLE = """\
At a terminal it asks for what the flags do not say.

examples:
  whence new agent.chatmd
  whence new review.chatmd --tool fs.read --tool search.lexical --system "You review changes."
"""
_DEFAULT_TOOLS = ("fs.ls", "fs.read", "search.lexical")
_DEFAULT_SYSTEM = (
    "You help with the files of this directory. Quote what you found, with file and line."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", metavar="FILE", help="the agent file to write")
    parser.add_argument("--model", metavar="ID", help="provider/name; left out: the default")
    parser.add_argument("--tool", metavar="NAME", action="append", help="a built-in tool")
    parser.add_argument("--system", metavar="TEXT", help="what the agent is to do")
    parser.add_argument("--user", metavar="TEXT", help="the first request")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def run(options: argparse.Namespace) -> int:
    """Write a starter file that `whence check` accepts."""
    from whence.errors import Conflict

    if os.path.lexists(options.file) and not options.force:
        raise Conflict(
            f"{options.file!r} exists", "Choose another name, or replace it with --force."
        )
    text = _text(options)
    with open(options.file, "w" if options.force else "x", encoding="utf-8") as file:
        file.write(text)
    asked = ' "List the files here"' if text.endswith("<user>\n\n</user>\n") else ""
    print(f"{options.file} written; next: whence run {options.file}{asked}")
    return 0


def _text(options: argparse.Namespace) -> str:
    from whence.chatmd.render import render_element
    from whence.shapes.document import Element, Text

    tools = _tools(options)
    system = _asked(options.system, "What is the agent to do?", _DEFAULT_SYSTEM)
    user = _asked(options.user, "Its first request (may be empty)?", "")
    settings: dict[str, str | None] = {"max_turns": "20"}
    if options.model:
        settings = {"model": options.model, **settings}
    blocks = [
        render_element(Element("config", settings)),
        "\n".join(render_element(Element("tool", {"name": name})) for name in tools),
        render_element(Element("system", {}, (Text(f"\n{system}\n"),))),
        render_element(Element("user", {}, (Text(f"\n{user}\n"),))),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _tools(options: argparse.Namespace) -> list[str]:
    from whence.catalogs import load_catalogs
    from whence.cli.options import closest_tools
    from whence.declare.toolbox import Toolbox
    from whence.errors import UsageError

    default = " ".join(_DEFAULT_TOOLS)
    names = options.tool or _asked(None, "Tools, separated by spaces?", default).split()
    toolbox = Toolbox(load_catalogs())
    for name in names:
        if toolbox.find(name) is None:
            raise UsageError(f"there is no built-in tool {name!r}", closest_tools(name, toolbox))
    return names


def _asked(given: str | None, question: str, default: str) -> str:
    if given is not None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return default if given is None else given
    try:
        return input(f"{question} [{default}] " if default else f"{question} ").strip() or default
    except EOFError:  # Ctrl-D: no more answers
        print()
        return default
