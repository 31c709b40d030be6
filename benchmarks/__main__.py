"""`python -m benchmarks [ROW …]`: measure, and print one table."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from importlib import import_module

from benchmarks.measure import Ratio, Result, conditions, version_of

ROWS = (
    "startup", "agent_files", "gate", "search", "patch", "read", "web", "journal", "turn",
    "sandbox", "exec", "serve",
)  # fmt: skip


def main() -> int:
    options = _options()
    rg, patch = version_of("rg", "--version"), version_of("patch", "--version")
    print(f"{conditions()}; {rg}; {patch}")
    print(
        "Cost of whence ÷ cost of the other side; CPU time unless said otherwise, best of several."
    )
    print(f"\n{'row':<4}{'what':<84}{'ratio':>9}{'goal':>9}{'':9}{'load':>5}")
    sound = True
    for name in options.rows or ROWS:
        try:
            for result in import_module(f"benchmarks.{name}").ratios():
                print(_line(result, raw=options.raw), flush=True)
                sound &= not (options.strict and _is_missed(result))
        except Exception:  # noqa: BLE001 - the other rows can still be measured
            print(f"{name} could not be measured:\n{traceback.format_exc()}", file=sys.stderr)
            sound = False
    print(f"\n{conditions()}")
    return 0 if sound else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    # The empty list is there since argparse holds the default to the choices, too.
    parser.add_argument("rows", metavar="ROW", nargs="*", choices=[*ROWS, []], help=", ".join(ROWS))
    parser.add_argument("--strict", action="store_true", help="exit 1 if a goal is not met")
    parser.add_argument("--raw", action="store_true", help="show both sides, too")
    return parser.parse_args()


def _is_missed(result: Result) -> bool:
    return isinstance(result, Ratio) and result.verdict == "NOT MET"


def _line(result: Result, *, raw: bool) -> str:
    lead = f"{result.row:<4}{result.what:<84}"
    if not isinstance(result, Ratio):
        return f"{lead} skipped: {result.reason}"
    goal = "" if result.goal is None else f"≤ {result.goal:g}"
    sides = f"  ({result.ours:.3g} ÷ {result.theirs:.3g})" if raw else ""
    load = os.getloadavg()[0]
    return f"{lead}{_figures(result.value):>9}{goal:>9}  {result.verdict:<7}{load:5.1f}{sides}"


def _figures(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


if __name__ == "__main__":
    sys.exit(main())
