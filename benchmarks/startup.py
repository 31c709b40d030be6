"""Row 1: how long the command line takes before it does anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import peers
from benchmarks.measure import Result, compare, of_command

WHENCE = Path(sys.executable).parent / "whence"


def ratios() -> Iterator[Result]:
    version, help_text = of_command(WHENCE, "--version"), of_command(WHENCE, "--help")
    nothing = of_command(sys.executable, "-c", "pass")
    for name, ours, goal in (("--version", version, 1.6), ("--help", help_text, 2.2)):
        yield compare("1", f"whence {name} ÷ python -c pass", ours, nothing, goal=goal, rounds=15)
    for peer, program, goal in ((peers.LLM, "llm", 0.03), (peers.FAST_AGENT, "fast-agent", 0.1)):
        what = f"whence --version ÷ {program} --version ({peer.requirement})"
        try:
            theirs = of_command(peers.programs(peer) / program, "--version")
        except peers.Missing as missing:
            yield missing.instead("1", what)
        else:
            yield compare("1", what, version, theirs, goal=goal)
