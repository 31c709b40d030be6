"""What this machine enforces, by trying: each sandbox in turn, and every attack on the best."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from whence.execute.sandbox.choose import SANDBOXES, Trial, trial_of
from whence.execute.sandbox.probe import Finding, probe
from whence.shapes.process import Isolation, Level

_SWITCHES = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0",
     "sysctl kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
     "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap"),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
)  # fmt: skip
"""Where a kernel is told to have no user namespaces, and how to tell it otherwise."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found out."""

    trials: tuple[Trial, ...]
    """Every sandbox, the strongest first."""
    used: Trial
    """The one that programs are run in."""
    findings: tuple[Finding, ...]
    isolation: Isolation
    """What it says of itself, less what did not hold."""
    advice: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether everything is enforced."""
        return self.isolation.full and all(found.held for found in self.findings)


async def examine() -> Examination:
    """Try everything out; takes a second or two."""
    trials = tuple(trial_of(make()) for make in SANDBOXES)
    used = next(trial for trial in trials if not trial.problem)
    findings = tuple(await probe(used.sandbox))
    isolation = _corrected(used.isolation, findings)
    return Examination(trials, used, findings, isolation, tuple(_advice(trials[0], isolation)))


def _corrected(said: Isolation, findings: tuple[Finding, ...]) -> Isolation:
    """A promise of which a part did not hold is partial, whatever the sandbox says."""
    fallen = {found.topic for found in findings if not found.held}
    lowered = {topic: Level.PARTIAL for topic in fallen if getattr(said, topic) is Level.ENFORCED}
    return replace(said, **lowered)


def _advice(strongest: Trial, isolation: Isolation) -> Iterator[str]:
    if "is not installed" in strongest.problem:
        tool = "bubblewrap" if "bwrap" in strongest.problem else "util-linux"
        yield f"install {tool}: apt-get install {tool}, or your system's way"
    elif strongest.problem:
        told = [switch for path, value, switch in _SWITCHES if _holds(path, value)]
        yield from (f"allow user namespaces: {switch}" for switch in told)
        if "Unknown option" in strongest.problem:
            yield "install bubblewrap 0.8 or later: this one does not know all options"
        elif not told:
            yield (
                "allow namespaces: a container must be started with --security-opt "
                "seccomp=unconfined, or with --privileged"
            )
    elif not isolation.full and os.geteuid() == 0:
        yield "run whence as an ordinary user: root could not be left outside the sandbox"


def _holds(path: str, value: str) -> bool:
    try:
        with open(path, encoding="utf-8") as setting:
            return setting.read().strip() == value
    except OSError:
        return False
