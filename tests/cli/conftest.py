"""The installed command line, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

WHENCE = os.path.join(os.path.dirname(sys.executable), "whence")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return self.json["error"]


class Command:
    """Runs `whence` in a workspace."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def __call__(
        self, *arguments: str | bytes, stdin: str | bytes = "", env: dict[str, str] | None = None
    ) -> Ran:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [WHENCE, *arguments],
            cwd=self.workspace,
            input=given,
            capture_output=True,
            env={**os.environ, **(env or {})},
            timeout=60,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in ran.err, ran.err
        return ran

    def call(self, tool: str, *options: str, **arguments: Any) -> Ran:
        arguments.setdefault("why", "Prove it through the command line")
        return self("call", tool, json.dumps(arguments), *options)


@pytest.fixture
def whence(tmp_path: Path) -> Command:
    workspace = tmp_path / "work"
    workspace.mkdir()
    return Command(workspace)
