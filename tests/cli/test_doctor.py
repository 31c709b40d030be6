from __future__ import annotations

import pytest

from tests.cli.conftest import Command
from whence.execute.sandbox.choose import best_sandbox

TOPICS = ("filesystem", "network", "processes")


@pytest.mark.requirement("sandbox:doctor")
def test_the_text_says_which_sandbox_is_used_and_what_held(whence: Command) -> None:
    ran = whence("doctor")

    assert f"✓ {best_sandbox().name}" in ran.out
    assert [line.split()[0] for line in ran.out.splitlines() if "attacks held" in line] == list(
        TOPICS
    )
    assert ran.err == ""


@pytest.mark.requirement("sandbox:doctor")
def test_the_json_holds_every_attack_and_the_exit_code_follows_it(whence: Command) -> None:
    ran = whence("doctor", "--format", "json")

    said = ran.json
    assert set(said["isolation"]) == set(TOPICS)
    assert len(said["attacks"]) > 70
    assert said["enforced"] == all(level == "enforced" for level in said["isolation"].values())
    assert ran.code == (0 if said["enforced"] else 1)
    assert said["enforced"] or said["advice"]


def test_every_attack_is_shown_when_asked_for(whence: Command) -> None:
    ran = whence("doctor", "-v")

    assert "A file outside the workspace cannot be written." in ran.out


def test_the_help_has_an_example(whence: Command) -> None:
    ran = whence("doctor", "--help")

    assert "whence doctor --format json" in ran.out
