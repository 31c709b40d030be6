"""Runs one program, or the whole battery of attacks, in a process that root has left for good.

Tests run as whoever runs them. Root runs this to see what an ordinary user would see: everything is
imported first, since the project may lie where an ordinary user cannot read it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from whence.execute.process import Processes
from whence.execute.sandbox import attacks, choose, launched, launcher, probe, proxy, run
from whence.execute.sandbox.bubblewrap import Bubblewrap
from whence.execute.sandbox.ground import NOBODY, Ground
from whence.execute.sandbox.start import Sandbox
from whence.shapes.process import Confinement, Program, Resources

NEEDED = (run, proxy, choose)
SANDBOXES: dict[str, Callable[[], Sandbox]] = {
    "bubblewrap": Bubblewrap,
    "bubblewrap as root": lambda: Bubblewrap(ground=Ground(may_map=False)),
    "landlock": launched.Landlock,
    "limits only": launched.LimitsOnly,
}


def drive(who: str, sandbox: str, **asked: Any) -> Any:
    """What the driver says, run by root or by somebody else."""
    request = json.dumps({"who": who, "sandbox": sandbox, **asked})
    done = subprocess.run(
        [sys.executable, "-m", "tests.execute.sandbox.driver", request],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@lru_cache(maxsize=1)
def can_leave_root() -> bool:
    """Whether an ordinary user can be tried: we are one, or can become one."""
    if os.geteuid() != 0:
        return True
    to_nobody = f"import os; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})"
    tried = subprocess.run([sys.executable, "-c", to_nobody], capture_output=True, check=False)
    return tried.returncode == 0


def leave_root() -> None:
    inspect.getsource(attacks)
    inspect.getsource(launcher)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def show(chunk: bytes) -> None:
    os.write(1, chunk)


def main() -> None:
    request = json.loads(sys.argv[1])
    if os.geteuid() == 0 and request["who"] == "user":
        leave_root()
    sandbox = SANDBOXES[request["sandbox"]]()
    if "script" not in request:
        answer: Any = [asdict(found) for found in asyncio.run(probe.probe(sandbox))]
        print(json.dumps(answer))
        return
    with tempfile.TemporaryDirectory(prefix="whence-drive-") as place:
        limits = Resources(**request.get("resources", {}))
        program = Program(
            ("/usr/bin/python3", "-I", "-S", "-c", request["script"]),
            place,
            Confinement((place,), resources=limits),
            timeout_s=request.get("timeout_s", 60.0),
            keep_bytes=request.get("keep_bytes", 100_000),
        )
        runner = Processes(grace_s=0.2, sandbox=sandbox)
        ended = asyncio.run(runner.run(program, on_output=show if "live" in request else None))
        left = sum(os.stat(os.path.join(place, name)).st_blocks * 512 for name in os.listdir(place))
    print(
        json.dumps(
            {
                "exit_code": ended.exit_code,
                "output": ended.output.decode(errors="replace"),
                "isolation": ended.isolation.as_json(),
                "timed_out": ended.timed_out,
                "dropped": ended.dropped,
                "exceeded": ended.exceeded,
                "left": left,
                "peak_kib": _peak_kib(),
            }
        )
    )


def _peak_kib() -> int:
    """Of this program alone: the usual count begins with what its starter held."""
    with open("/proc/self/status", "rb") as status:
        return int(status.read().partition(b"VmHWM:")[2].split()[0])


if __name__ == "__main__":
    main()
