"""Row 10, for unified diffs: two hundred hunks on a file of twenty thousand lines."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from benchmarks.measure import Result, Skipped, compare, of_command, of_function
from whence.errors import Conflict
from whence.work.edits import unified

LINES = 20_000
HUNKS = 200
TIMES = 10


def ratios() -> Iterator[Result]:
    old, diff, new = _example()
    stale = diff.replace(f"-{_changed(HUNKS - 1, old)}\n", "-a line that is not there\n")
    if _applied(old, diff) != new or _floor(old, diff) != new or stale == diff:
        raise RuntimeError("the example is wrong: the sides do not do the same work")
    ours = of_function(lambda: _applied(old, diff), TIMES)
    floor = of_function(lambda: _floor(old, diff), TIMES)
    failing = of_function(lambda: _refused(old, stale), TIMES)
    what = f"unified diff of {HUNKS} hunks"
    yield compare("10", f"{what} ÷ str.find from a moving cursor", ours, floor, goal=3)
    yield compare("10", f"{what} that cannot apply ÷ one that can", failing, ours, goal=2)
    patch = shutil.which("patch")
    if patch is None:
        yield Skipped("10", f"{what} ÷ the patch process", "patch is not installed")
        return
    with tempfile.TemporaryDirectory() as directory:
        source, change, result = (Path(directory, name) for name in ("old", "diff", "new"))
        source.write_text(old, encoding="utf-8")
        change.write_text(diff, encoding="utf-8")
        process = of_command(patch, "--silent", "--output", result, source, change)
        yield compare("10", f"{what} ÷ the patch process", ours, process, goal=1)
        if result.read_text(encoding="utf-8") != new:
            raise RuntimeError("patch did not do the same work")
        whole = of_function(lambda: _rewritten(source, change, result), TIMES)
        also = f"{what}, files read and written ÷ the patch process"
        yield compare("10", also, whole, process, goal=None)


def _rewritten(source: Path, change: Path, result: Path) -> None:
    text = _applied(source.read_bytes().decode(), change.read_bytes().decode())
    result.write_bytes((text or "").encode())


def _example() -> tuple[str, str, str]:
    """A file, a diff that changes one line in a hundred, and the file after it."""
    words = random.Random(10)
    old = [f"    value_{n % 977} = compute({words.random():.9f})  # line {n}" for n in range(LINES)]
    new = list(old)
    for hunk in range(HUNKS):
        new[_row(hunk)] += " changed"
    before, after = "\n".join(old) + "\n", "\n".join(new) + "\n"
    return before, unified.make(before, after, "old.py"), after


def _row(hunk: int) -> int:
    return hunk * (LINES // HUNKS) + 50


def _changed(hunk: int, old: str) -> str:
    return old.split("\n")[_row(hunk)]


def _applied(old: str, diff: str) -> str | None:
    return unified.apply(unified.parse(diff), old).text


def _refused(old: str, diff: str) -> None:
    with suppress(Conflict):
        unified.apply(unified.parse(diff), old)
        raise RuntimeError("a diff that cannot apply was applied")


def _floor(old: str, diff: str) -> str:
    """The least that does the work for this one diff: no check but that the old lines are there."""
    pieces, cursor = [], 0
    for hunk in diff.split("\n@@ ")[1:]:
        lines = hunk.split("\n")[1:]
        before = "".join([line[1:] + "\n" for line in lines if line[:1] in (" ", "-")])
        after = "".join([line[1:] + "\n" for line in lines if line[:1] in (" ", "+")])
        found = old.index(before, cursor)
        pieces += [old[cursor:found], after]
        cursor = found + len(before)
    return "".join([*pieces, old[cursor:]])
