"""`whence doctor`."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from whence.cli.text import harmless

if TYPE_CHECKING:
    from whence.execute.sandbox.examine import Examination

EXAMPLE = """\
Every promise is tried out on decoys, by attacks from inside a sandbox; nothing else is touched.
Exit code: 0 if everything is enforced, 1 if not.

examples:
  whence doctor
  whence doctor --format json
"""
_TOPICS = ("filesystem", "network", "processes")


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every attack")


def run(options: argparse.Namespace) -> int:
    """Find out what holds here."""
    from whence.execute.sandbox.examine import examine

    found = asyncio.run(examine())
    if options.format == "json":
        from whence.cli.text import print_json

        print_json(_as_json(found))
    else:
        _show(found, verbose=options.verbose)
    return 0 if found.sound else 1


def _show(found: Examination, *, verbose: bool) -> None:
    for trial in found.trials:
        used = trial is found.used
        state = "in use" if used else trial.problem or "works, not needed"
        print(harmless(f"{'✓' if not trial.problem else '✗'} {trial.sandbox.name:<13}{state}"))
    print()
    for topic in _TOPICS:
        tried = [finding for finding in found.findings if finding.topic == topic]
        held = sum(finding.held for finding in tried)
        print(
            f"{topic:<12}{getattr(found.isolation, topic):<10}{held} of {len(tried)} attacks held"
        )
        for finding in tried:
            if verbose or not finding.held:
                said = f"{finding.says} [{finding.name}: {finding.how}]"
                print(harmless(f"  {'✓' if finding.held else '✗'} {said}"))
    for advice in found.advice:
        print(harmless(f"→ {advice}"))


def _as_json(found: Examination) -> dict[str, Any]:
    return {
        "sandbox": found.used.sandbox.name,
        "enforced": found.sound,
        "isolation": found.isolation.as_json(),
        "sandboxes": [
            {"name": trial.sandbox.name, "works": not trial.problem, "problem": trial.problem}
            for trial in found.trials
        ],
        "attacks": [
            {
                "name": finding.name,
                "topic": finding.topic,
                "says": finding.says,
                "held": finding.held,
                "how": finding.how,
            }
            for finding in found.findings
        ],
        "advice": list(found.advice),
    }
