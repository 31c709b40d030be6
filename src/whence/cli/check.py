"""`whence check`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from whence.cli.options import add_workspace
from whence.cli.text import counted, harmless, print_json, width_of

if TYPE_CHECKING:
    from whence.chatmd.include import Located

EXAMPLE = """\
Exit code: 0 if nothing is wrong (warnings allowed), 1 on errors. Nothing of the files is run;
only --locked asks MCP servers, for the definitions of their tools.

examples:
  whence check agent.chatmd
  whence check --strict --format json prompts/*.chatmd
  whence check --locked prompts/*.chatmd
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="agent files")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print")
    parser.add_argument("--strict", action="store_true", help="warnings fail, too")
    parser.add_argument(
        "--locked",
        action="store_true",
        help="tools that are not as .agent/lock.yaml pins them fail",
    )
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Every problem of every file."""
    from whence.cli.options import workspace_of

    workspace = workspace_of(options)
    errors = warnings = 0
    listed: list[dict[str, Any]] = []
    for path in options.files:
        for located in _problems(path, workspace, locked=options.locked):
            severity = located.diagnostic.severity.value
            errors, warnings = errors + (severity == "error"), warnings + (severity == "warning")
            if options.format == "json":
                listed.append(_as_json(located))
            else:
                _show(located)
    if options.format == "json":
        print_json(listed)
    else:
        files = counted(len(options.files), "file")
        print(f"{files}: {counted(errors, 'error')}, {counted(warnings, 'warning')}")
    return 1 if errors or (options.strict and warnings) else 0


def _problems(path: str, workspace: str, *, locked: bool) -> list[Located]:
    from whence.chatmd.include import Located
    from whence.errors import WhenceError
    from whence.loop.agent_file import load_agent
    from whence.loop.lint import lint
    from whence.shapes.document import NOWHERE, Diagnostic, Severity

    try:
        agent = load_agent(path, workspace, run_python=False)
    except WhenceError as error:
        text = (error.message, error.suggestion, NOWHERE, 1, 1, "")
        return [Located(path, Diagnostic(Severity.ERROR, "unreadable-file", *text))]
    return agent.problems(lint(agent, workspace, locked=locked))


def _show(located: Located) -> None:
    from whence.loop.lint import shown_path

    found = located.diagnostic
    place = f"{shown_path(located.path)}:{found.line}:{found.column}"
    print(harmless(f"{place}: {found.severity}: {found.message}"))
    if found.source_line.strip():
        print(f"    {harmless(found.source_line.expandtabs(1).rstrip())}")
        print(f"    {' ' * width_of(harmless(found.left.expandtabs(1)))}^")
    print(f"    {harmless(found.suggestion)} [{found.code}]")


def _as_json(located: Located) -> dict[str, Any]:
    found = located.diagnostic
    return {
        "path": located.path,
        "line": found.line,
        "column": found.column,
        "start": found.span.start,
        "end": found.span.end,
        "severity": found.severity.value,
        "code": found.code,
        "message": found.message,
        "suggestion": found.suggestion,
    }
