"""Two branches of one conversation, merged by git itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import WHENCE
from whence.chatmd.merge import merge
from whence.chatmd.parse import parse

pytestmark = pytest.mark.requirement("chatmd:merge")
HEAD = '<config model="x"/>\n\n<tool name="fs.read"/>\n\n<user>\nHello\n</user>\n'
TYPING = "\n<user>\n\n</user>\n"


def said(role: str, text: str) -> str:
    return f"\n<{role}>\n{text}\n</{role}>\n"


def git(work: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=work, capture_output=True, text=True, check=False,
    )  # fmt: skip


def commit(work: Path, text: str, branch: str | None = None) -> None:
    if branch:
        git(work, "checkout", "-q", "-b", branch)
    (work / "a.chatmd").write_text(text)
    git(work, "add", "-A")
    assert git(work, "commit", "-q", "-m", "x").returncode == 0


def test_git_merges_two_branches_that_both_went_on_talking(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "config", "merge.chatmd.driver", f"{WHENCE} merge %O %A %B")
    (tmp_path / ".gitattributes").write_text("*.chatmd merge=chatmd\n")
    commit(tmp_path, HEAD + TYPING)
    commit(tmp_path, HEAD + said("assistant", "A1") + said("user", "A2") + TYPING, "other")
    git(tmp_path, "checkout", "-q", "main")
    commit(tmp_path, HEAD + said("assistant", "B1") + TYPING)

    merged = git(tmp_path, "merge", "-q", "other", "-m", "join")

    assert merged.returncode == 0, merged.stdout + merged.stderr
    text = (tmp_path / "a.chatmd").read_text()
    assert [text.count(word) for word in ("Hello", "A1", "A2", "B1")] == [1, 1, 1, 1]
    assert text.index("B1") < text.index("A1") < text.index("A2")
    assert not parse(text.encode()).errors
    assert text.endswith(TYPING)


def test_changes_to_different_elements_are_taken_from_both_sides() -> None:
    ours = HEAD.replace('model="x"', 'model="y"') + said("assistant", "A")
    theirs = HEAD.replace("fs.read", "fs.ls")

    merged = merge(HEAD.encode(), ours.encode(), theirs.encode())

    assert merged.conflicts == 0
    assert b'model="y"' in merged.source
    assert b"fs.ls" in merged.source
    assert b"A" in merged.source


def test_the_same_element_changed_in_two_ways_is_a_conflict_that_check_names() -> None:
    merged = merge(
        HEAD.encode(), HEAD.replace('"x"', '"y"').encode(), HEAD.replace('"x"', '"z"').encode()
    )

    assert merged.conflicts == 1
    assert b"<<<<<<< ours" in merged.source
    assert any("conflict" in found.code for found in parse(merged.source).diagnostics)


def test_a_change_made_on_both_sides_is_taken_once() -> None:
    both = (HEAD + said("assistant", "same")).encode()

    assert merge(HEAD.encode(), both, both).source.count(b"same") == 1


def test_the_driver_exits_1_and_keeps_both_sides(tmp_path: Path) -> None:
    for name, model in (("base", "x"), ("ours", "y"), ("theirs", "z")):
        (tmp_path / name).write_text(HEAD.replace('"x"', f'"{model}"'))
    done = subprocess.run(
        [WHENCE, "merge", "base", "ours", "theirs"], cwd=tmp_path, check=False, env=os.environ
    )

    assert done.returncode == 1
    assert '"y"' in (tmp_path / "ours").read_text()
    assert '"z"' in (tmp_path / "ours").read_text()
