from __future__ import annotations

import errno
import os
from collections.abc import Iterator

import pytest

from whence.errors import Unavailable
from whence.execute.sandbox import examine, landlock, tools, wrap
from whence.execute.sandbox.bubblewrap import Bubblewrap
from whence.execute.sandbox.choose import Trial, best_sandbox, trial_of
from whence.execute.sandbox.launched import Landlock, LimitsOnly
from whence.execute.sandbox.probe import Finding
from whence.shapes.process import Isolation, Level

pytestmark = pytest.mark.anyio
FULL = Isolation(Level.ENFORCED, Level.ENFORCED, Level.ENFORCED)


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which bubblewrap was never installed."""
    real = tools.system_tool

    def found(name: str) -> str:
        if name == "bwrap":
            raise Unavailable("'bwrap' is not installed", "Install the package bubblewrap.")
        return real(name)

    monkeypatch.setattr(wrap, "system_tool", found)


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """What is found out here must not be remembered by the other tests."""
    best_sandbox.cache_clear()
    yield
    best_sandbox.cache_clear()


@pytest.mark.requirement("sandbox:fallback")
@pytest.mark.usefixtures("no_bubblewrap")
def test_without_bubblewrap_landlock_is_taken() -> None:
    if not landlock.version():
        pytest.skip("this kernel has no Landlock")

    assert isinstance(best_sandbox(), Landlock)


@pytest.mark.requirement("sandbox:fallback")
@pytest.mark.usefixtures("no_bubblewrap")
def test_without_either_there_are_limits_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)

    chosen = best_sandbox()

    assert isinstance(chosen, LimitsOnly)
    assert not trial_of(chosen).isolation.full


@pytest.mark.requirement("sandbox:fallback")
@pytest.mark.usefixtures("no_bubblewrap")
def test_where_nothing_can_be_started_nothing_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(landlock, "version", lambda: 0)
    monkeypatch.setattr(LimitsOnly, "start", start)
    trial_of.cache_clear()
    try:
        chosen = best_sandbox()

        assert isinstance(chosen, LimitsOnly)
        assert "Too many open files" in trial_of(chosen).problem
        assert not trial_of(chosen).isolation.full
    finally:
        trial_of.cache_clear()


@pytest.mark.usefixtures("no_bubblewrap")
def test_a_sandbox_that_cannot_be_used_says_why() -> None:
    assert trial_of(Bubblewrap()).problem == "'bwrap' is not installed"


@pytest.mark.requirement("sandbox:doctor")
@pytest.mark.usefixtures("no_bubblewrap")
async def test_what_is_missing_is_said_with_what_to_do() -> None:
    found = await examine.examine()

    assert not found.sound
    assert found.advice == ("install bubblewrap: apt-get install bubblewrap, or your system's way",)


def test_a_promise_that_did_not_hold_is_partial_whatever_the_sandbox_says() -> None:
    fallen = (Finding("a", "network", "", False, ""), Finding("b", "processes", "", True, ""))

    corrected = examine._corrected(FULL, fallen)

    assert corrected == Isolation(Level.ENFORCED, Level.PARTIAL, Level.ENFORCED)


@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        ("bwrap: Unknown option --disable-userns", "0.8 or later"),
        ("bwrap: No permissions to create new namespace", "allow"),
        ("'unshare' is not installed", "install util-linux"),
    ],
    ids=["old", "forbidden", "no unshare"],
)
def test_advice_fits_the_problem(problem: str, advice: str) -> None:
    given = " ".join(examine._advice(Trial(Bubblewrap(), problem=problem), Isolation()))

    assert advice in given
