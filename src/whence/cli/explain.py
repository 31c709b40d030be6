"""`whence explain`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from whence.cli.options import add_policy, add_workspace
from whence.cli.text import harmless

if TYPE_CHECKING:
    from whence.gate.explain import Explanation

EXAMPLE = """\
Exit code: 0 if the call would run, 1 if it would be refused or would need a person.

example:
  whence explain fs.write '{"path": ".env", "content": "x", "why": "Store the key"}'
"""
_SIGNS = {"pass": "✓", "fail": "✗", "ask": "?", "unknown": "·"}


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("tool", metavar="TOOL", help="canonical name, wire name or alias")
    parser.add_argument("arguments", metavar="JSON", nargs="?", help="as for `whence call`")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_workspace(parser)
    add_policy(parser)


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
    toolbox = Toolbox(tools_of(options))
    policy = load_policy(root.path, toolbox, policy_of(options, toolbox))
    call = read_call(options.tool, options.arguments)
    found = explain(call, toolbox, policy, Usage(), root.locate)
    if options.json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(_as_json(found)), indent=2).decode())
    else:
        _show(found)
    return 0 if found.verdict == "allowed" else 1


def _show(found: Explanation) -> None:
    for finding in found.findings:
        said = f"  {finding.said}" if finding.said else ""
        print(harmless(f"{_SIGNS[finding.answer]} {finding.check:<11}{said}".rstrip()))
        if finding.suggestion and finding.answer != "pass":
            print(harmless(f"  {'':<11}  {finding.suggestion}"))
    print(harmless(f"{found.verdict}: {found.ruling.reason}" if found.ruling else found.verdict))


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
        }
    return value
