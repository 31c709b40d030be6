"""Everything that we know is tried, as root and as an ordinary user, at every level.

What a weaker level does not hold is data here, not silence: it must be reported as not enforced.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.execute.sandbox.driver import can_leave_root, drive
from whence.execute.sandbox.attacks import ATTACKS
from whence.execute.sandbox.choose import best_sandbox, trial_of
from whence.execute.sandbox.landlock import version
from whence.execute.sandbox.launched import Landlock

NAMES = [function.__name__.replace("_", "-") for _, function in ATTACKS]
FROM_OUTSIDE = ["outside-intact", "journal-intact", "nothing-heard"]
LANDLOCK_GAPS = {
    "root": {"read-key-directory", "see-parent", "become-root"},
    "user": {"read-key-directory", "see-parent"},
}
"""Names can be listed and processes be seen; root stays root, without any of its powers."""
ROOT_INSIDE_GAPS = {"overwrite-sandbox", "become-root"}
"""What falls where root cannot be left outside, so that this level is called partial."""


@pytest.fixture(scope="session", name="level")
def best_level() -> str:
    """The level at which this machine runs programs."""
    return best_sandbox().name


@pytest.fixture(scope="session")
def battery(who: str, level: str) -> dict[str, Any]:
    print(f"attacks as {who} on {level}")
    return {found["name"]: found for found in drive(who, level)}


@pytest.fixture(scope="session")
def at_landlock(who: str) -> dict[str, Any]:
    if version() < 6:
        pytest.skip(f"this kernel has Landlock {version()}, and the list is that of 6")
    return {found["name"]: found for found in drive(who, "landlock")}


@pytest.mark.requirement("sandbox:attacks")
@pytest.mark.parametrize("name", [*NAMES, *FROM_OUTSIDE])
def test_an_attack_is_held(name: str, battery: dict[str, Any], who: str, level: str) -> None:
    if level != "bubblewrap":
        pytest.skip(f"this machine runs programs at the level {level!r}; `whence doctor` says why")
    if who == "root" and name in ROOT_INSIDE_GAPS and not trial_of(best_sandbox()).isolation.full:
        pytest.skip("root cannot be left outside the sandbox here, and the level says so")
    assert battery[name]["held"], battery[name]


def test_there_are_more_attacks_than_the_known_batteries_have() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 42


@pytest.mark.requirement("sandbox:landlock")
def test_landlock_holds_all_but_what_it_is_known_not_to(
    at_landlock: dict[str, Any], who: str
) -> None:
    fallen = {name for name, found in at_landlock.items() if not found["held"]}

    assert fallen == LANDLOCK_GAPS[who], {name: at_landlock[name] for name in fallen}


@pytest.mark.requirement("sandbox:honest")
def test_landlock_does_not_call_itself_enforced_where_something_falls() -> None:
    if not version():
        pytest.skip("this kernel has no Landlock")
    said = trial_of(Landlock()).isolation.as_json()

    assert said == {"filesystem": "partial", "network": "enforced", "processes": "partial"}


@pytest.mark.requirement("sandbox:root-inside")
def test_where_root_cannot_be_left_outside_the_level_is_partial(who: str, level: str) -> None:
    if who != "root" or level != "bubblewrap":
        pytest.skip("needs root and bubblewrap")
    found = drive(who, "bubblewrap as root")
    said = drive(who, "bubblewrap as root", script="pass")["isolation"]

    assert {one["name"] for one in found if not one["held"]} <= ROOT_INSIDE_GAPS
    assert said == {"filesystem": "partial", "network": "enforced", "processes": "partial"}


def test_without_walls_the_attacks_do_get_through() -> None:
    """Else the battery would prove nothing."""
    who = "user" if can_leave_root() else "root"
    fallen = {found["name"] for found in drive(who, "limits only") if not found["held"]}

    assert {"write-outside", "read-outside", "read-environment-file", "write-journal",
            "write-git-hook", "connect-by-tcp", "connect-by-path", "see-parent",
            "outside-intact", "journal-intact", "nothing-heard"} <= fallen  # fmt: skip
