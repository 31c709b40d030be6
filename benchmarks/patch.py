"""Row 10, for unified diffs and V4A: two hundred hunks on a file of twenty thousand lines."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from benchmarks import peers
from benchmarks.measure import Result, Skipped, compare, of_command, of_function
from whence.errors import Conflict
from whence.work.edits import unified, v4a

LINES = 20_000
HUNKS = 200
TIMES = 10


def ratios() -> Iterator[Result]:
    yield from _of_unified_diffs()
    yield from _of_v4a()


def _of_unified_diffs() -> Iterator[Result]:
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
    return _replaced(old, [hunk.split("\n")[1:] for hunk in diff.split("\n@@ ")[1:]])


def _replaced(old: str, hunks: list[list[str]]) -> str:
    """The least that does the work for this one patch: the old lines must be there, no more."""
    pieces, cursor = [], 0
    for lines in hunks:
        before = "".join([line[1:] + "\n" for line in lines if line[:1] in (" ", "-")])
        after = "".join([line[1:] + "\n" for line in lines if line[:1] in (" ", "+")])
        found = old.index(before, cursor)
        pieces += [old[cursor:found], after]
        cursor = found + len(before)
    return "".join([*pieces, old[cursor:]])


def _of_v4a() -> Iterator[Result]:
    old, diff, new = _example()
    hunks = _as_v4a(diff)
    stale = hunks.replace(f"-{_changed(HUNKS - 1, old)}\n", "-a line that is not there\n")
    if _patched(old, hunks) != new or _v4a_floor(old, hunks) != new or stale == hunks:
        raise RuntimeError("the example is wrong: the sides do not do the same work")
    ours = of_function(lambda: _patched(old, hunks), TIMES)
    floor = of_function(lambda: _v4a_floor(old, hunks), TIMES)
    failing = of_function(lambda: _v4a_refused(old, stale), TIMES)
    what = f"V4A patch of {HUNKS} hunks"
    yield compare("10", f"{what} ÷ str.find from a moving cursor", ours, floor, goal=3)
    yield compare("10", f"{what} that cannot apply ÷ one that can", failing, ours, goal=2)
    against = f"{what} ÷ openai-agents' apply_diff"
    with tempfile.TemporaryDirectory() as directory:
        for name, text in (("old", old), ("diff", hunks), ("new", new)):
            Path(directory, name).write_text(text, encoding="utf-8")
        extra = {"BENCH_PATCH": directory}
        try:
            with peers.driving(peers.OPENAI_AGENTS, "openai_agents_patch.py", extra) as driver:
                yield compare("10", against, ours, lambda: driver(TIMES), goal=0.25)
        except peers.Missing as missing:
            yield missing.instead("10", against)


def _as_v4a(diff: str) -> str:
    """The hunks of a unified diff, without its header and its line numbers."""
    hunks = [hunk.partition("\n")[2] for hunk in diff.split("\n@@ ")[1:]]
    return "".join([f"@@\n{hunk.removesuffix(chr(10))}\n" for hunk in hunks])


def _patched(old: str, hunks: str) -> str:
    patch = f"*** Begin Patch\n*** Update File: old.py\n{hunks}*** End Patch\n"
    (update,) = v4a.parse(patch).sections
    if not isinstance(update, v4a.Update):
        raise TypeError("the patch changes no file")
    return v4a.apply(update, old).text


def _v4a_refused(old: str, hunks: str) -> None:
    with suppress(Conflict):
        _patched(old, hunks)
        raise RuntimeError("a patch that cannot apply was applied")


def _v4a_floor(old: str, hunks: str) -> str:
    return _replaced(old, [hunk.split("\n") for hunk in hunks.split("@@\n")[1:]])
