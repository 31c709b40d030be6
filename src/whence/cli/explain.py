"""`whence explain`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from whence.cli.options import add_file, add_policy, add_tools, add_workspace
from whence.cli.text import print_json
from whence.shapes.glyph import visible, visible_lines

if TYPE_CHECKING:
    from whence.declare.toolbox import Mounted
    from whence.gate.explain import Explanation
    from whence.shapes.policy import Policy
    from whence.shapes.tool import Tool

EXAMPLE = """\
Exit code: 0 if the call would run, 1 if it would be refused or would need a person.

examples:
  whence explain fs.write '{"path": ".env", "content": "x", "why": "Store the key"}'
  whence explain -f agent.chatmd git_log '{"arguments": ["-3"], "why": "See what was done"}'
"""
_SIGNS = {"pass": "✓", "fail": "✗", "ask": "?", "unknown": "·"}


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("tool", metavar="TOOL", help="canonical name, wire name or alias")
    parser.add_argument("arguments", metavar="JSON", nargs="?", help="as for `whence call`")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_workspace(parser)
    add_policy(parser)
    add_tools(parser)
    add_file(parser)


def run(options: argparse.Namespace) -> int:
    """Explain the call; nothing is run and nothing is recorded."""
    from whence.cli.arguments import read_call
    from whence.cli.options import policy_of, tools_of, workspace_of
    from whence.declare.toolbox import Toolbox
    from whence.execute.containment import Root
    from whence.gate.explain import explain
    from whence.gate.quota import Usage
    from whence.loop.settings import load_policy

    root = Root(workspace_of(options))
    toolbox = Toolbox(tools_of(options) if options.file is None else _declared(options))
    policy = load_policy(root.path, toolbox, policy_of(options, toolbox))
    policy = _with_isolation(policy, toolbox.find(options.tool))
    call = read_call(options.tool, options.arguments)
    found = explain(call, toolbox, policy, Usage(), root.locate)
    if options.json:
        print_json(_as_json(found), indent=2)
    else:
        _show(found)
    return 0 if found.verdict == "allowed" else 1


def _declared(options: argparse.Namespace) -> tuple[Tool, ...]:
    from whence.cli.options import load_connected, workspace_of

    return load_connected(options.file, workspace_of(options)).resolved.tools


def _with_isolation(policy: Policy, mounted: Mounted | None) -> Policy:
    """What this machine enforces is part of the answer, where the tool runs programs."""
    from dataclasses import replace

    from whence.execute.process import Processes
    from whence.loop.session import runs_programs

    if mounted is None or not runs_programs(mounted.tool):
        return policy
    return replace(policy, isolated=Processes().isolation().full)


def _show(found: Explanation) -> None:
    for finding in found.findings:
        said = f"  {finding.said}" if finding.said else ""
        print(visible(f"{_SIGNS[finding.answer]} {finding.check:<11}{said}".rstrip()))
        if finding.suggestion and finding.answer != "pass":
            print(visible(f"  {'':<11}  {finding.suggestion}"))
    for line in visible_lines(found.ruling.shown or "") if found.ruling else ():
        print(f"runs: │ {line}")
    print(visible(f"{found.verdict}: {_reason(found)}"))


def _reason(found: Explanation) -> str:
    """What decided: the first check that fails, else the rule or default."""
    for finding in found.findings:
        if finding.answer == "fail" and not (found.ruling and finding.check == "permission"):
            return finding.said
    return found.ruling.reason if found.ruling else ""


def _as_json(found: Explanation) -> dict[str, Any]:
    ruling = found.ruling
    value: dict[str, Any] = {
        "verdict": found.verdict,
        "checks": [
            {"check": f.check, "answer": f.answer, "said": f.said, "suggestion": f.suggestion}
            for f in found.findings
        ],
    }
    if ruling is not None:
        rule = ruling.rule
        value["decided_by"] = {
            "verdict": ruling.verdict.value,
            "reason": ruling.reason,
            "rule": f"{rule.verdict} {rule}" if rule else None,
            "source": rule.source if rule else "default",
            "would_allow": ruling.would_allow,
            "runs": ruling.shown,
        }
    return value
