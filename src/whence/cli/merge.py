"""`whence merge`: git's merge driver for agent files."""

from __future__ import annotations

import argparse
import sys

EXAMPLE = """\
The result replaces OURS; the exit code is 1 where a person must decide. Set it up once:

  git config merge.chatmd.driver "whence merge %O %A %B"
  echo "*.chatmd merge=chatmd" >> .gitattributes

example:
  whence merge base.chatmd ours.chatmd theirs.chatmd
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("base", metavar="BASE", help="the common ancestor (%%O)")
    parser.add_argument("ours", metavar="OURS", help="our version, replaced by the result (%%A)")
    parser.add_argument("theirs", metavar="THEIRS", help="the other version (%%B)")


def run(options: argparse.Namespace) -> int:
    """Merge; two branches that both went on talking are no conflict."""
    from whence.chatmd.merge import merge
    from whence.loop.agent_file import read_file, replace_file

    merged = merge(*(read_file(path) for path in (options.base, options.ours, options.theirs)))
    replace_file(options.ours, merged.source)
    if merged.conflicts:
        print(f"whence merge: {merged.conflicts} conflicts in {options.ours}", file=sys.stderr)
    return 1 if merged.conflicts else 0
