"""The two networks, as whoever uses them sees them."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

import whence
from whence.errors import Unavailable
from whence.provider.local import weights

_NEEDED = ("xllamacpp", "numpy")
_LINE = 1 << 24


class Completed(NamedTuple):
    """Words that the grammar allowed, and what they cost."""

    text: str
    read_tokens: int
    written_tokens: int


class Networks(Protocol):
    """What choosing, filling and answering need."""

    async def rank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How near each text is to the query, from -1 to 1."""
        ...

    async def complete(
        self, prompt: str, grammar: str, limit: int, *, fresh: bool = True
    ) -> Completed:
        """The most likely words after the prompt that the grammar allows.

        Where it is not fresh, the prompt goes on with the one before, and is read faster.
        """
        ...


def problem(place: Path | None = None) -> tuple[str, str] | None:
    """Why the embedded model cannot be used here, and what to do about it; None: it can."""
    absent = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        packages = " and ".join(absent)
        return (
            f"the embedded model needs {packages}",
            "Install them with `pip install 'whence[local]'`.",
        )
    if weights.missing(place or weights.directory()):
        return (
            "the weights of the embedded model are not installed",
            f"`whence models install` fetches them, {weights.DOWNLOAD_BYTES // 10**6} MB.",
        )
    return None


class Engine:
    """Starts the process with the networks when they are first used, and talks to it.

    Belongs to the event loop that it is first used in.
    """

    def __init__(self, first: str = "", place: Path | None = None) -> None:
        self._first = first
        self._place = place or weights.directory()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    async def rank(self, query: str, texts: Sequence[str]) -> list[float]:
        """How near each text is to the query, from -1 to 1."""
        scores: list[float] = await self._ask({"rank": [query, list(texts)]}) if texts else []
        return scores

    async def complete(
        self, prompt: str, grammar: str, limit: int, *, fresh: bool = True
    ) -> Completed:
        """The most likely words after the prompt that the grammar allows."""
        return Completed(*await self._ask({"complete": [prompt, grammar, limit, fresh]}))

    async def aclose(self) -> None:
        """End the process; its memory is free when this returns."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if self._reader is not None:
            await self._reader
        _close_pipes(process)

    async def start(self) -> asyncio.subprocess.Process:
        """Have the process running; loading goes on while other work is done."""
        async with self._starting:
            if self._process is None:
                found = problem(self._place)
                if found is not None:
                    raise Unavailable(*found)
                self._process = await self._spawn()
                self._reader = asyncio.create_task(self._read(self._process))
            return self._process

    async def _spawn(self) -> asyncio.subprocess.Process:
        quiet = None if os.environ.get("WHENCE_DEBUG") else asyncio.subprocess.DEVNULL
        return await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "whence.provider.local.worker",
            os.fspath(self._place), self._first,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=quiet,
            env=_environment(os.environ), start_new_session=True, limit=_LINE,
        )  # fmt: skip

    async def _ask(self, request: dict[str, Any]) -> Any:
        process = await self.start()
        number = next(self._numbers)
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._send(process, {"id": number, **request})
            return await answer
        except asyncio.CancelledError:
            await self._send(process, {"id": number, "stop": True})
            raise
        finally:
            self._waiting.pop(number, None)

    async def _send(self, process: asyncio.subprocess.Process, request: dict[str, Any]) -> None:
        assert process.stdin is not None  # noqa: S101 - it was asked for
        # A process that is gone is noticed by the reader, which answers whoever waits.
        with contextlib.suppress(ConnectionError):
            process.stdin.write(msgspec.json.encode(request) + b"\n")
            await process.stdin.drain()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        async for line in process.stdout:
            answer = msgspec.json.decode(line)
            future = self._waiting.get(answer["id"])
            if future is None or future.done():
                continue
            if "error" in answer:
                future.set_exception(_failed(answer["error"]))
            else:
                future.set_result(answer["value"])
        code = await process.wait()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_failed(f"its process ended with status {code}"))
        if self._process is process:
            self._process = None


def _failed(reason: str) -> Unavailable:
    return Unavailable(
        f"the embedded model failed: {reason}",
        "Try again; `whence models install` checks its files, WHENCE_DEBUG=1 shows what it says.",
    )


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Threads that wait must sleep: spinning ones bring a busy machine to a halt."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(whence.__file__)))
    paths = [root, *filter(None, [environ.get("PYTHONPATH")])]
    return {
        **environ,
        "OMP_WAIT_POLICY": "passive",
        "GOMP_SPINCOUNT": "0",
        "OPENBLAS_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) - 1)),
        "PYTHONPATH": os.pathsep.join(paths),
    }


def _close_pipes(process: asyncio.subprocess.Process) -> None:
    """Close the transport: a killed child's pipes are otherwise reported as leaked at exit."""
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
