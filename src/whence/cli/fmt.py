"""`whence fmt`."""

from __future__ import annotations

import argparse
import sys

EXAMPLE = """\
Tags and the space between blocks are laid out; text is never touched. A file with errors is left
as it is.

examples:
  whence fmt agent.chatmd
  whence fmt --check prompts/*.chatmd     exit 1 if a file would change, for CI
  whence fmt - < agent.chatmd             to standard output
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="agent files; - is standard input")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if one would")
    parser.add_argument("--diff", action="store_true", help="show what would change")


def run(options: argparse.Namespace) -> int:
    """Lay the files out."""
    from whence.errors import WhenceError

    changed = failed = 0
    for path in options.files:
        try:
            changed += _format(path, options)
        except WhenceError as error:
            failed += 1
            print(f"{path}: {error.message}\n  {error.suggestion}", file=sys.stderr)
    return 1 if failed or (changed and (options.check or options.diff)) else 0


def _format(path: str, options: argparse.Namespace) -> bool:
    from whence.chatmd.layout import layout
    from whence.loop.agent_file import read_file, replace_file

    if path == "-":
        sys.stdout.buffer.write(layout(sys.stdin.buffer.read()))
        return False
    before = read_file(path)
    after = layout(before)
    if after == before:
        return False
    if options.diff:
        _show_diff(path, before, after)
    elif options.check:
        print(f"{path} would change")
    else:
        replace_file(path, after)
        print(f"{path} changed")
    return True


def _show_diff(path: str, before: bytes, after: bytes) -> None:
    from difflib import unified_diff

    from whence.chatmd.scan import to_text

    old, new = (to_text(text).splitlines(keepends=True) for text in (before, after))
    for line in unified_diff(old, new, path, path):
        sys.stdout.write(line if line.endswith("\n") else f"{line}\n")
