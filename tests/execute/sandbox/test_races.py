"""A workspace that changes between the moment it is looked at and the moment a program runs."""

from __future__ import annotations

import pytest

from tests.execute.sandbox.races import RACES, SECRET, raced


@pytest.mark.requirement("sandbox:races")
@pytest.mark.parametrize("race", [race for race in RACES if race != "no race"])
def test_no_race_shows_a_secret(race: str, who: str, level: str) -> None:
    seen = raced(who, level, race)
    assert seen
    assert not [text for text in seen if SECRET in text]


@pytest.mark.requirement("sandbox:races")
def test_programs_run_beside_one_that_is_busy_elsewhere(who: str, level: str) -> None:
    seen = raced(who, level, "no race")
    assert len(seen) > 1
    assert not [text for text in seen if ".git/config" not in text or "deep/.env" in text]
    assert all("Permission denied" in text for text in seen)


@pytest.mark.requirement("sandbox:races")
def test_a_working_directory_that_leads_out_is_refused(who: str, level: str) -> None:
    assert raced(who, level, "replaced directory") == ["PERMISSION_DENIED"]
