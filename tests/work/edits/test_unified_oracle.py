"""The same diffs in the hands of git and patch."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from whence.errors import Conflict
from whence.work.edits.unified import apply, make, parse

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")

ALPHABETS = [
    ["x", "y"],
    ["", "a", "b", "}"],
    [f"line {number}" for number in range(40)],
    ["ä", "\x0c", "\u2028", "-- a", "++ b", "@@ -1 +1 @@"],
]


def cases(count: int = 300) -> list[tuple[str, str]]:
    """Pairs of different texts; the same at every run."""
    chance = random.Random(20)
    pairs = [pair(chance) for _ in range(count)]
    return [(old, new) for old, new in pairs if old != new]


def pair(chance: random.Random) -> tuple[str, str]:
    alphabet = chance.choice(ALPHABETS)
    end = chance.choice(["\n", "\n", "\r\n"])
    old = [chance.choice(alphabet) for _ in range(chance.randrange(40))]
    new = list(old)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(new) + 1)
        new[at : at + chance.randrange(3)] = chance.choices(alphabet, k=chance.randrange(3))
    return text(old, end, chance), text(new, end, chance)


def text(lines: list[str], end: str, chance: random.Random) -> str:
    last = end if chance.random() < 0.7 else ""
    return end.join(lines) + last if lines else ""


def write(folder: Path, texts: list[str]) -> None:
    folder.mkdir()
    for number, content in enumerate(texts):
        (folder / f"f{number}").write_bytes(content.encode())


def read(folder: Path, count: int) -> list[str]:
    files = [folder / f"f{number}" for number in range(count)]
    return [file.read_bytes().decode() if file.exists() else "" for file in files]


def run(folder: Path, *argv: str, given: str = "", ok: tuple[int, ...] = (0,)) -> str:
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "LC_ALL": "C",
    }
    done = subprocess.run(
        argv, cwd=folder, input=given.encode(), capture_output=True, env=env, check=False
    )
    assert done.returncode in ok, (done.stdout + done.stderr).decode()
    return done.stdout.decode()


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("git", "apply", "--whitespace=nowarn"), marks=needs_git, id="git"),
        pytest.param(("patch", "-p1", "--binary", "-F0", "-s"), marks=needs_patch, id="patch"),
    ],
)
def test_other_programs_apply_made_diffs_to_the_same_effect(
    argv: tuple[str, ...], tmp_path: Path
) -> None:
    pairs = cases()
    write(tmp_path / "files", [old for old, _ in pairs])
    diffs = [make(old, new, f"f{number}") for number, (old, new) in enumerate(pairs)]
    run(tmp_path / "files", *argv, given="".join(diffs))

    assert read(tmp_path / "files", len(pairs)) == [new for _, new in pairs]


@needs_git
@pytest.mark.parametrize("context", [0, 1, 3])
def test_diffs_that_git_makes_are_applied_exactly(context: int, tmp_path: Path) -> None:
    pairs = cases()
    write(tmp_path / "old", [old for old, _ in pairs])
    write(tmp_path / "new", [new for _, new in pairs])
    output = run(
        tmp_path, "git", "diff", "--no-index", "--text", f"-U{context}", "old", "new", ok=(1,)
    )  # fmt: skip
    diffs = re.split(r"^(?=diff --git )", output, flags=re.MULTILINE)[1:]

    assert len(diffs) == len(pairs)
    outcomes = [compared(diff, pairs) for diff in diffs]
    refusals = {outcome for outcome, new in outcomes if outcome != new}
    assert refusals <= ({"exists", "already_applied"} if context == 0 else set())
    assert sum(outcome == new for outcome, new in outcomes) > 0.8 * len(diffs)


def compared(diff: str, pairs: list[tuple[str, str]]) -> tuple[object, str]:
    """What becomes of the old text, or the reason of the refusal; and the new text."""
    patch = parse(diff)
    assert patch.new_path is not None
    old, new = pairs[int(patch.new_path.rpartition("/f")[2])]
    try:
        return apply(patch, old).text, new
    except Conflict as conflict:
        return conflict.details["reason"], new
