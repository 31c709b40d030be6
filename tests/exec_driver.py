"""Runs code in the sandbox in a process that root has left for good, where it is asked to.

Everything is imported first, since the project may lie where an ordinary user cannot read it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from tests.execute.sandbox.driver import can_leave_root
from whence.errors import WhenceError
from whence.execute.containment import Root
from whence.execute.files import WorkspaceFiles
from whence.execute.http import Http
from whence.execute.ports import Ports
from whence.execute.process import Processes
from whence.execute.sandbox import choose, launcher, proxy, run
from whence.execute.sandbox.ground import NOBODY
from whence.shapes.call import Fault, Reply
from whence.work.exec.javascript import run_javascript
from whence.work.exec.python import run_python
from whence.work.exec.terminal import run_terminal

NEEDED = (run, proxy, choose)
TIMEOUT_MS = 20_000


def drive(who: str, tool: str, runs: Iterable[Any], timeout_ms: int = TIMEOUT_MS) -> list[Any]:
    """What comes of each of the runs, made by root or by somebody else."""
    if who == "user" and not can_leave_root():
        pytest.skip("root cannot become anybody else in this container")
    request = {"who": who, "tool": tool, "runs": list(runs), "timeout_ms": timeout_ms}
    done = subprocess.run(
        [sys.executable, "-m", "tests.exec_driver"],
        input=json.dumps(request).encode(),
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    answers: list[Any] = json.loads(done.stdout)
    return answers


def leave_root() -> None:
    inspect.getsource(launcher)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


async def reply_of(tool: str, asked: Any, ports: Ports, timeout_ms: int) -> Reply:
    if tool == "python":
        return await run_python(ports, asked, {}, timeout_ms)
    if tool == "javascript":
        return await run_javascript(ports, asked, None, timeout_ms)
    return await run_terminal(ports, asked, ".", timeout_ms)


async def told(tool: str, asked: Any, ports: Ports, timeout_ms: int) -> Any:
    try:
        reply = await reply_of(tool, asked, ports, timeout_ms)
    except WhenceError as error:
        return {"error": Fault.of(error).as_json()}
    return msgspec.to_builtins(reply)


async def answers_to(request: Any, ports: Ports) -> list[Any]:
    tool, time = request["tool"], request["timeout_ms"]
    return [await told(tool, asked, ports, time) for asked in request["runs"]]


def main() -> None:
    request = json.load(sys.stdin)
    if os.geteuid() == 0 and request["who"] == "user":
        leave_root()
    with tempfile.TemporaryDirectory(prefix="whence-exec-") as place:
        root = Root(place)
        ports = Ports(WorkspaceFiles(root, {}, (), None), Processes(grace_s=0.2), Http())
        print(json.dumps(asyncio.run(answers_to(request, ports))))


if __name__ == "__main__":
    main()
