"""Servers and the capability lock, on the command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.loop.agents import write_agent
from tests.mcp.serving import declared, logged, whence
from tests.mcp.test_lock import POISONED, words


@pytest.mark.requirement("mcp:check")
def test_check_starts_no_server_but_with_locked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    path = os.fspath(write_agent(tmp_path, [], declared("old", "echo", log=log)))
    assert whence(tmp_path, "check", path).returncode == 0
    assert not log.exists()
    unpinned = whence(tmp_path, "check", "--locked", path)
    assert unpinned.returncode == 1
    assert "agent.chatmd:2:1: error: echo: it has no pin." in unpinned.stdout
    assert logged(log)


@pytest.mark.requirement("mcp:lock")
def test_lock_pins_shows_and_accepts_what_a_server_says(tmp_path: Path) -> None:
    path = os.fspath(write_agent(tmp_path, [], declared("old", "echo,fail", words=words(tmp_path))))
    assert "+ agent.chatmd echo: new" in whence(tmp_path, "lock", path).stdout
    assert whence(tmp_path, "check", "--locked", path).returncode == 0
    words(tmp_path, POISONED)
    changed = whence(tmp_path, "lock", path)
    assert changed.returncode == 1
    assert f'+    "description": "{POISONED}"' in changed.stdout
    assert "✓ agent.chatmd fail: pinned" in changed.stdout
    failed = whence(tmp_path, "check", "--locked", path)
    assert failed.returncode == 1
    assert "echo: its declaration changed since .agent/lock.yaml was written" in failed.stdout
    assert whence(tmp_path, "lock", "--update", path).returncode == 0
    assert whence(tmp_path, "check", "--locked", path).returncode == 0


@pytest.mark.requirement("mcp:lock")
def test_a_server_that_cannot_be_asked_fails_the_check(tmp_path: Path) -> None:
    path = os.fspath(write_agent(tmp_path, [], '<tool mcp_server="http://127.0.0.1:9/mcp"/>'))
    done = whence(tmp_path, "check", "--locked", path)
    assert done.returncode == 1
    assert "cannot be reached" in done.stdout
