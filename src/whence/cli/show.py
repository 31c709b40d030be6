"""`whence show`."""

from __future__ import annotations

import argparse
import sys

from whence.cli.options import PROTOCOLS, add_workspace
from whence.cli.text import counted, harmless_json

EXAMPLE = """\
The request goes to standard output, the estimate of its tokens to standard error.

examples:
  whence show agent.chatmd --as anthropic
  whence show agent.chatmd --as responses 2>/dev/null | jq .tools
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", metavar="FILE", help="an agent file")
    parser.add_argument(
        "--as",
        dest="protocol",
        choices=PROTOCOLS,
        default="openai",
        help="the protocol (default: openai, i.e. chat completions)",
    )
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Print exactly what a model would be sent; nothing is sent."""
    import msgspec

    from whence.cli.options import load_connected, workspace_of
    from whence.loop.request import show

    workspace = workspace_of(options)
    shown = show(load_connected(options.file, workspace), workspace, options.protocol)
    sys.stdout.buffer.write(harmless_json(msgspec.json.format(shown.body, indent=2)) + b"\n")
    for note in shown.notes:
        print(f"note: {note}", file=sys.stderr)
    tools = sum(shown.tool_tokens.values())
    print(
        f"about {shown.message_tokens} tokens in {counted(shown.messages, 'message')}, "
        f"{tools} in {counted(len(shown.tool_tokens), 'tool')}",
        file=sys.stderr,
    )
    for name, size in sorted(shown.tool_tokens.items(), key=lambda item: -item[1]):
        print(f"  {name:<24}{size:>6}", file=sys.stderr)
    return 0
