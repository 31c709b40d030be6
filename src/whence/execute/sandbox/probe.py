"""What a sandbox really keeps out: everything that we know is tried, from inside, on decoys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import getsource

from whence.errors import ExecutionFailed
from whence.execute.sandbox import attacks
from whence.execute.sandbox.decoys import Decoys
from whence.execute.sandbox.run import run
from whence.execute.sandbox.start import Sandbox
from whence.execute.sandbox.view import inner_python
from whence.shapes.process import Confinement, Finished, Program

_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one attack."""

    name: str
    topic: str
    """filesystem, network or processes."""
    says: str
    """What is promised."""
    held: bool
    how: str
    """What stopped it, or how it got through."""


async def probe(sandbox: Sandbox) -> list[Finding]:
    """Every attack on a sandbox, and whether it was held."""
    with Decoys() as decoys:
        python, needed = inner_python()
        argv = (python, "-I", "-S", "-", json.dumps(decoys.facts))
        script, place = getsource(attacks).encode(), decoys.workspace
        confinement = Confinement((place,), needed)
        given = Program(argv, place, confinement, stdin=script, timeout_s=_TIMEOUT_S)
        ended = await run(given, sandbox, 2.0, None)
        return [*_findings(ended), *_from_outside(decoys)]


def _findings(ended: Finished) -> list[Finding]:
    try:
        return [Finding(**found) for found in json.loads(ended.stdout)]
    except ValueError as error:
        said = ended.output[-500:].decode(errors="replace")
        raise ExecutionFailed(
            f"the probe ended with {ended.exit_code}: {said}", "Report this as a bug."
        ) from error


def _from_outside(decoys: Decoys) -> Iterator[Finding]:
    """What can only be seen from here."""
    for name, topic, says, broken in (
        ("outside-intact", "filesystem", "All outside is as it was.", decoys.outside_changed()),
        ("journal-intact", "filesystem", "The journal is as it was.", decoys.journal_changed()),
        ("nothing-heard", "network", "No word came out.", decoys.heard()),
    ):
        yield Finding(name, topic, says, not broken, "it was not" if broken else "so it was")
