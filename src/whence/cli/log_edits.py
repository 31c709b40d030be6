"""`whence log undo` and `whence log diff`."""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from whence.cli.options import add_policy
from whence.cli.text import harmless, print_json

if TYPE_CHECKING:
    from whence.loop.netdiff import Cause, NetChange
    from whence.shapes.call import Outcome


def configure_undo(parser: argparse.ArgumentParser) -> None:
    """The arguments of `undo`."""
    parser.add_argument("call", metavar="CALL", help="the id of the call, as in `whence log show`")
    parser.add_argument(
        "--force",
        action="store_true",
        help="put the old content back even where a file has changed since; undo takes that back",
    )
    parser.add_argument("--reason", metavar="TEXT", help="the why of this call, for the journal")
    add_policy(parser)


def undo(options: argparse.Namespace, directory: str) -> int:
    """Take a call's edits back, as a call of its own in the same session."""
    outcome = asyncio.run(_undo(options, directory))
    if options.format == "json":
        from whence.cli.call import print_outcome

        print_outcome(outcome)
    elif outcome.fault is not None:
        said = harmless(outcome.fault.message), harmless(outcome.fault.suggestion)
        print("whence log: {}\n{}".format(*said), file=sys.stderr)
    else:
        _print_undone(outcome, options.call)
    return 0 if outcome.ok else 1


async def _undo(options: argparse.Namespace, directory: str) -> Outcome:
    from whence.catalogs import load_catalogs
    from whence.cli.approve import terminal_approver
    from whence.cli.options import policy_of, workspace_of
    from whence.declare.toolbox import Toolbox
    from whence.journal.read import last_entries
    from whence.loop.session import Session
    from whence.loop.undo import NAME, plan, undo_tool

    recorded = plan(directory, options.call)
    tools = (*load_catalogs(), undo_tool(directory, recorded))
    ended = last_entries(directory, 1)[0].type == "session_end"
    session = Session(
        workspace_of(options),
        tools,
        policy=policy_of(options, Toolbox(tools)),
        session=os.path.basename(directory),
        approver=terminal_approver(),
    )
    reason = options.reason or f"Take back {options.call} ({recorded.tool}): {recorded.why}"
    try:
        return await session.call(NAME, reason, call=options.call, force=options.force)
    finally:
        # A session that somebody still uses goes on; one that had ended ends again.
        session.close("done" if ended else None)


def _print_undone(outcome: Outcome, call: str) -> None:
    result: Any = outcome.result
    for word in ("restored", "removed"):
        for path in result[word]:
            print(f"{word} {harmless(path)}")
    for warning in outcome.warnings:
        print(f"# {harmless(warning)}")
    if not result["restored"] and not result["removed"]:
        print(f"nothing to take back: the files are as they were before {call}")
        return
    print(f"✓ {call} was taken back by {outcome.call_id}")


def diff(options: argparse.Namespace, directory: str) -> int:
    """Print the net change of a session, to programs in UTF-8 whatever the locale says."""
    from whence.cli.options import workspace_of
    from whence.loop.netdiff import net_changes

    if not sys.stdout.isatty() and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    found = 0
    for change in net_changes(directory, workspace_of(options)):
        found += 1
        if options.format == "json":
            print_json(asdict(change))
        else:
            _print_change(change)
    if not found and options.format == "text":
        print(f"whence log: {os.path.basename(directory)} left no file changed", file=sys.stderr)
    return 0


def _print_change(change: NetChange) -> None:
    """A piece that `patch` takes as it is: what it need not know stands behind `#` and `@@`."""
    since = " (changed by somebody since)" if change.changed_since else ""
    lines = [f"# {_one_line(change.path)}{since}"]
    lines += [f"#   {cause.call_id} {cause.tool}: {_why(cause)}" for cause in change.causes]
    if change.note:
        lines.append(f"#   no diff: {change.note}; {change.before} → {change.after}")
    sys.stdout.write("\n".join(map(harmless, lines)) + "\n" + _shown(change.header))
    for hunk in change.hunks:
        head, _, body = hunk.text.partition("\n")
        whose = "; ".join(f"{cause.call_id}: {_why(cause)}" for cause in hunk.causes)
        sys.stdout.write(f"{head} {harmless(whose or 'between the calls')}\n{_shown(body)}")


def _why(cause: Cause) -> str:
    return _one_line(cause.why) or "(no reason)"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shown(text: str) -> str:
    """The text as it is for a program, and harmless for a terminal."""
    if not sys.stdout.isatty():
        return text
    return "".join(harmless(line) + "\n" for line in text.split("\n")[:-1])
