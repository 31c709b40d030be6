"""`whence log`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from whence.cli.log_edits import configure_undo, diff, undo
from whence.cli.options import add_session, add_workspace
from whence.cli.text import harmless, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whence.shapes.event import Entry

EXAMPLE = """\
Without --session the newest journal is read.

examples:
  whence log show --last 20
  whence log why src/parser.py
  whence log verify
  whence log stats --format json
  whence log diff | patch -p1 --reverse --dry-run
  whence log undo call-007
"""
SUBCOMMANDS = ("show", "verify", "why", "stats", "diff", "undo")
_SIGNS = {"tool_result": "✓", "tool_error": "✗", "violation": "!", "user_approval": "?"}


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments: one more word, and what belongs to it."""
    commands = parser.add_subparsers(dest="log_command", metavar="|".join(SUBCOMMANDS))
    commands.required = True
    show = _add(commands, "show", "the events of a session, oldest first")
    show.add_argument("--last", metavar="N", type=_positive, help="only the newest N events")
    show.add_argument("--tool", metavar="NAME", help="only events of this tool")
    show.add_argument("--type", metavar="TYPE", help="only events of this type")
    _add(commands, "verify", "check every byte; exit 1 if anything was changed")
    why = _add(commands, "why", "every call that touched a path, with its reason")
    why.add_argument("path", metavar="PATH", help="a file or directory of the workspace")
    _add(commands, "stats", "counts of calls, errors and durations")
    _add(commands, "diff", "the net change of a session, each hunk with its calls and reasons")
    configure_undo(_add(commands, "undo", "take the edits of a call back, if nothing came after"))


def _add(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print")
    add_workspace(parser)
    add_session(parser)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 1 or more")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Answer from the journal; only `undo` writes."""
    directory = _session_directory(options)
    answers = {
        "show": _show,
        "verify": _verify,
        "why": _why,
        "stats": _stats,
        "diff": diff,
        "undo": undo,
    }
    return answers[options.log_command](options, directory)


def _session_directory(options: argparse.Namespace) -> str:
    from whence.cli.options import workspace_of
    from whence.errors import NotFound
    from whence.journal.sessions import SESSIONS, newest_session

    sessions = os.path.join(workspace_of(options), SESSIONS)
    name = options.session or newest_session(sessions)
    if name is None:
        raise NotFound(
            f"no session was recorded below {sessions!r}",
            "Make a call first, or choose with -C DIR.",
        )
    directory = os.path.join(sessions, name)
    if not os.path.isdir(directory):
        newest = newest_session(sessions)
        hint = f"The newest is {newest}; " if newest else ""
        raise NotFound(f"there is no session {name!r}", f"{hint}`ls {sessions}` lists them all.")
    return directory


def _show(options: argparse.Namespace, directory: str) -> int:
    from whence.journal.read import last_entries, read_entries

    wanted = [key for key in ("tool", "type") if getattr(options, key)]
    entries: Iterable[Entry]
    if options.last and not wanted:
        entries = last_entries(directory, options.last)
    else:
        entries = (e for e in read_entries(directory) if _matches(e, options))
        if options.last:
            from collections import deque

            entries = deque(entries, maxlen=options.last)
    found = False
    for entry in entries:
        found = True
        print_json(_entry_json(entry)) if options.format == "json" else print(_line(entry))
    if not found:
        sought = " and ".join(f"{key} {getattr(options, key)!r}" for key in wanted)
        said = f"there is no event of the {sought}" if sought else "the journal has no events"
        print(f"whence log: {said}", file=sys.stderr)
    return 0


def _matches(entry: Entry, options: argparse.Namespace) -> bool:
    if options.type and entry.type != options.type:
        return False
    return not options.tool or entry.fields.get("tool") == options.tool


def _entry_json(entry: Entry) -> dict[str, Any]:
    comments = [{"at": list(note.at), "text": note.text} for note in entry.comments]
    value = {**entry.fields, "title": entry.title, "part": entry.part, "line": entry.line}
    return {**value, "comments": comments} if comments else value


def _line(entry: Entry) -> str:
    """One line for a person: when, how it went, what it was about."""
    fields = entry.fields
    clock = entry.timestamp[11:19] or "--:--:--"
    sign = _SIGNS.get(entry.type, "·")
    call = str(fields.get("call_id") or "")
    lines = [f"{clock} {sign} {entry.type!s:<13} {call:<9} {_about(entry)}".rstrip()]
    lines += [f"{'':<9}# {note.text}" for note in entry.comments]
    return "\n".join(map(harmless, lines))


def _reason(args: object) -> str:
    """Why a call was made; a tool that has a `why` of its own is told it beside that."""
    given = (args.get("_why") or args.get("why")) if _is_map(args) else None
    return str(given or "(no reason)")


def _is_map(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Others write logs, too, and people edit them."""
    return isinstance(value, Mapping)


def _about(entry: Entry) -> str:
    fields = entry.fields
    tool = str(fields.get("tool", ""))
    if entry.type == "tool_call":
        touched = fields.get("paths")
        paths = " ".join(map(str, touched if isinstance(touched, list | tuple) else ()))
        return f"{tool} {paths}".rstrip() + f" — {_reason(fields.get('args'))}"
    if entry.type == "tool_result":
        return f"{tool} ({fields.get('duration_ms')} ms)"
    if entry.type == "tool_error":
        error = fields.get("error")
        return f"{error.get('code')}: {error.get('message')}" if _is_map(error) else str(error)
    return str(fields.get("reason") or fields.get("purpose") or entry.narrative or entry.title)


def _verify(options: argparse.Namespace, directory: str) -> int:
    from whence.journal.verify import verify

    report = verify(directory)
    if options.format == "json":
        from dataclasses import asdict

        print_json(asdict(report))
        return 0 if report.ok else 1
    name = os.path.basename(directory)
    for problem in report.problems:
        line = f":{problem.line}" if problem.line else ""  # 0: it is about the whole part
        print(f"{name}/{problem.part}{line}: {problem.what}\n  {problem.suggestion}")
    if not report.ok:
        print(f"✗ {name}: {len(report.problems)} problems in {report.events} events")
        return 1
    state = "ended" if report.ended else f"open, {len(report.open_calls)} calls without an outcome"
    print(f"✓ {name}: {report.events} events, unchanged ({state})\n  {report.last_hash}")
    return 0


def _why(options: argparse.Namespace, directory: str) -> int:
    from whence.journal.query import why

    found = 0
    for touched in why(directory, _relative(options)):
        found += 1
        if options.format == "json":
            from dataclasses import asdict

            print_json(asdict(touched))
            continue
        sign = "✓" if touched.outcome == "ok" else "✗"
        outcome = "" if touched.outcome == "ok" else f" ({touched.outcome})"
        head = f"{touched.timestamp[:19]} {sign} {touched.call_id} {touched.tool}{outcome}"
        print(f"{harmless(head)}\n  {harmless(touched.why) or '(no reason)'}")
    if not found:
        print(f"whence log: no call touched {options.path!r}", file=sys.stderr)
    return 0 if found else 1


def _relative(options: argparse.Namespace) -> str:
    from whence.execute.containment import Root

    root = Root(options.workspace)
    try:
        return root.locate(options.path).path
    finally:
        root.close()


def _stats(options: argparse.Namespace, directory: str) -> int:
    from dataclasses import asdict

    from whence.journal.query import stats

    found = stats(directory)
    if options.format == "json":
        print_json(asdict(found))
        return 0
    print(f"{os.path.basename(directory)}: {found.events} events, {found.open_calls} open calls")
    for tool, count in sorted(found.tools.items(), key=lambda item: (-item[1], item[0])):
        times = found.durations.get(tool)
        spent = f"  p50 {times.p50:.1f} ms, p95 {times.p95:.1f} ms" if times else ""
        print(f"  {tool:<20} {count:>6}{spent}")
    for code, count in sorted(found.errors.items()):
        print(f"  ✗ {code:<18} {count:>6}")
    print(f"  weak reasons: {found.weak_whys}, violations: {found.violations}")
    return 0
