"""Which sandbox this machine can give, found out by trying."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from whence.errors import WhenceError
from whence.execute.sandbox.bubblewrap import Bubblewrap
from whence.execute.sandbox.launched import Landlock, LimitsOnly
from whence.execute.sandbox.spawner import submit
from whence.execute.sandbox.start import PATIENCE_S, Sandbox
from whence.shapes.process import Confinement, Isolation, Program

SANDBOXES: tuple[Callable[[], Sandbox], ...] = (Bubblewrap, Landlock, LimitsOnly)
"""The strongest first."""
_NO_ISOLATION = Isolation()


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of running a trifle in a sandbox."""

    sandbox: Sandbox
    isolation: Isolation = _NO_ISOLATION
    problem: str = ""
    """Why it cannot be used; empty if it can."""


@lru_cache(maxsize=1)
def best_sandbox() -> Sandbox:
    """Bubblewrap where it works; Landlock where the kernel has it; else limits only.

    Where not even those can start a program, a call that runs one is told why.
    """
    trials = (trial_of(make()) for make in SANDBOXES)
    working = (trial.sandbox for trial in trials if not trial.problem)
    return next(working, None) or SANDBOXES[-1]()


def isolation_of(sandbox: Sandbox) -> Isolation:
    """What a sandbox enforces here."""
    return trial_of(sandbox).isolation


@lru_cache(maxsize=16)
def trial_of(sandbox: Sandbox) -> Trial:
    """Try a sandbox out, once."""
    with tempfile.TemporaryDirectory(prefix="whence-") as place:
        script = 'echo kept > written && test "$(cat written)" = kept'
        trifle = Program(("sh", "-c", script), place, Confinement(writable=(place,)))
        return submit(partial(_try, sandbox, trifle)).result()


def _try(sandbox: Sandbox, program: Program) -> Trial:
    try:
        running = sandbox.start(program)
    except (WhenceError, OSError) as error:
        return Trial(sandbox, problem=str(error))
    try:
        _, said = running.process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        running.kill()
        running.process.communicate()
        said = b"it did not end"
    finally:
        running.release()
    if running.process.returncode == 0:
        return Trial(sandbox, running.isolation)
    last = said.decode(errors="replace").strip().rpartition("\n")[2]
    return Trial(sandbox, problem=last or f"exit status {running.process.returncode}")
