"""Other projects, each in an environment of its own below `.cache/peers`, with pinned versions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Skipped, environment

HERE = Path(__file__).parent
CACHE = HERE.parent / ".cache"
NOTHING: Mapping[str, str] = {}


class Missing(Exception):
    """A peer cannot be installed here."""

    def instead(self, row: str, what: str) -> Skipped:
        """The line of the table that says so."""
        return Skipped(row, what, str(self))


@dataclass(frozen=True, slots=True)
class Peer:
    """A project to be measured beside."""

    requirement: str
    python: str = sys.executable


LLM = Peer("llm==0.36")
FAST_AGENT = Peer("fast-agent-mcp==0.10.46", "3.13")
PYDANTIC_AI = Peer("pydantic-ai-slim==2.66.0")
PYDANTIC_AI_OPENAI = Peer("pydantic-ai-slim[openai]==2.66.0")
OPENAI_AGENTS = Peer("openai-agents==0.24.0")
MCP = Peer("mcp==2.3.0")
FASTMCP = Peer("fastmcp==4.1.2")


def programs(peer: Peer) -> Path:
    """The directory with the peer's programs, `python` included; installs it where needed.

    Raises:
        Missing: It cannot be installed.
    """
    home = CACHE / "peers" / peer.requirement.partition("==")[0]
    stamp = home / "installed"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != peer.requirement:
        shutil.rmtree(home, ignore_errors=True)
        _make_environment(peer, home)
        python = str(home / "bin" / "python")
        _uv("pip", "install", "--compile-bytecode", "--python", python, peer.requirement)
        stamp.write_text(peer.requirement, encoding="utf-8")
    return home / "bin"


def _make_environment(peer: Peer, home: Path) -> None:
    try:
        _uv("venv", "--no-python-downloads", "--python", peer.python, str(home))
    except Missing as error:
        raise Missing(f"no environment with Python {peer.python} ({error})") from error


def _uv(*arguments: str) -> None:
    uv = Path(sys.executable).parent / "uv"
    try:
        subprocess.run(
            [uv, *arguments, "--quiet"], env=environment(), capture_output=True, check=True
        )
    except OSError as error:
        raise Missing(f"{uv}: {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        said = " ".join(error.stderr.decode(errors="replace").split())
        raise Missing(f"uv {arguments[0]}: {said.removeprefix('error: ')[:60]}…") from error


class Driver:
    """A program in a peer's environment that measures it: a number goes in, a cost comes out."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, amount: int) -> float:
        """What so much of the peer's work cost, in CPU seconds."""
        reader, writer = self._process.stdout, self._process.stdin
        if reader is None or writer is None:
            raise RuntimeError("the driver has no pipes")
        writer.write(f"{amount}\n")
        writer.flush()
        answer = reader.readline()
        if not answer:
            raise RuntimeError("the driver ended; what it said is above")
        return float(answer)


@contextmanager
def driving(peer: Peer, script: str, extra: Mapping[str, str] = NOTHING) -> Iterator[Driver]:
    """A program of `drivers/`, running in the peer's environment.

    Raises:
        Missing: The peer cannot be installed.
    """
    command = [programs(peer) / "python", HERE / "drivers" / script]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env={**environment(), **extra}, stdin=pipe, stdout=pipe, text=True
    ) as process:
        yield Driver(process)
