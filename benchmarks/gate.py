"""Row 3: one call through everything, from its JSON text to its outcome in the journal."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import orjson

from benchmarks import peers
from benchmarks.measure import Ratio, Result, Side, alternately, compare, of_function
from whence.declare.function import tool
from whence.loop.session import Session
from whence.shapes.call import Call
from whence.shapes.policy import Policy, Quotas
from whence.shapes.tool import Effect

CALLS = 100
IN_TURN = 20
SYNCED = 20
UNLIMITED = Policy(quotas=Quotas(calls=None, calls_per_turn=None, repeats=None))
PEERS = (
    (peers.PYDANTIC_AI, "pydantic_ai_turn.py", 0.25),
    (peers.OPENAI_AGENTS, "openai_agents_turn.py", 0.08),
)


@tool("bench.read", paths={"path": Effect.READ})
async def read(path: str, limit: int) -> str:
    """Read a file."""
    return path


def ratios() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as workspace, asyncio.Runner() as runner:
        os.mkdir(f"{workspace}/src")
        Path(workspace, "src", "a.txt").touch()
        with Session(workspace, [read], policy=UNLIMITED, durable=False) as session:
            yield from _not_durable(session, runner)
        with Session(workspace, [read], policy=UNLIMITED, durable=True) as session:
            yield from _durable(session, runner, Path(workspace, ".agent", "sessions", session.id))


def _not_durable(session: Session, runner: asyncio.Runner) -> Iterator[Result]:
    ours = _per_call(runner, lambda texts: _one_by_one(session, texts), CALLS)
    together = _per_call(runner, lambda texts: _together(session, texts), IN_TURN, turns=10)
    floor = _per_call(runner, _least(), CALLS, turns=10)
    what = "gated call ÷ orjson + jsonschema-rs + function"
    yield compare("3", what, ours, floor, goal=32, rounds=50)
    for peer, script, goal in PEERS:
        what = f"gated call ÷ added cost of one of {IN_TURN} calls in a turn, {peer.requirement}"
        try:
            with peers.driving(peer, script) as driver:
                yield from _beside(what, goal, (ours, together), driver)
        except peers.Missing as missing:
            yield missing.instead("3", what)


def _beside(
    what: str, goal: float, sides: tuple[Side, Side], driver: peers.Driver
) -> Iterator[Result]:
    ours, together, none, one, many = alternately(
        *sides, lambda: driver(0), lambda: driver(1), lambda: driver(IN_TURN), rounds=15
    )
    added, further = (many - none) / IN_TURN, (many - one) / (IN_TURN - 1)
    yield Ratio("3", what, ours, added, goal)
    yield Ratio("3", f"  the same, ours in flight together ({IN_TURN})", together, added, goal)
    yield Ratio("3", "  the same ÷ each call after the first", together, further)


def _durable(session: Session, runner: asyncio.Runner, journal: Path) -> Iterator[Result]:
    """Waiting for the disk is not CPU time, so here the clock on the wall is compared."""
    numbers = count()
    before = _size(journal)
    runner.run(_one_by_one(session, _texts(numbers, SYNCED)))
    record = b"x" * ((_size(journal) - before) // SYNCED)

    def ours() -> float:
        texts = _texts(numbers, SYNCED)
        start = time.perf_counter()
        runner.run(_one_by_one(session, texts))
        return (time.perf_counter() - start) / SYNCED

    def together() -> float:
        texts = _texts(numbers, SYNCED)
        start = time.perf_counter()
        runner.run(_together(session, texts))
        return time.perf_counter() - start

    with open(journal / "bench.tmp", "ab", buffering=0) as file:

        def floor() -> float:
            start = time.perf_counter()
            for _ in range(SYNCED):
                file.write(record)
                os.fdatasync(file.fileno())
            return (time.perf_counter() - start) / SYNCED

        one, many, least = alternately(ours, together, floor, rounds=15)
    yield Ratio("3", "durable call ÷ append and fdatasync of its bytes (elapsed)", one, least, 2)
    what = f"{SYNCED} durable calls in flight ÷ one alone (elapsed)"
    yield Ratio("3", what, many, one)
    syncs = _count_syncs(lambda: runner.run(_together(session, _texts(numbers, SYNCED))))
    yield Ratio("3", f"syncs of {SYNCED} durable calls in flight ÷ calls", syncs, SYNCED, 0.1)


async def _one_by_one(session: Session, texts: Sequence[bytes]) -> None:
    for text in texts:
        await _perform(session, text)
    session.next_turn()


async def _together(session: Session, texts: Sequence[bytes]) -> None:
    async with asyncio.TaskGroup() as group:
        for text in texts:
            group.create_task(_perform(session, text))
    session.next_turn()


async def _perform(session: Session, text: bytes) -> None:
    outcome = await session.perform(Call("bench.read", msgspec.json.decode(text)))
    if outcome.fault is not None:
        raise RuntimeError(f"the call was not answered: {outcome.fault}")


def _least() -> Callable[[Sequence[bytes]], Awaitable[None]]:
    """Parse, validate, call: nothing else."""
    text, number = {"type": "string"}, {"type": "integer"}
    properties = {"path": text, "limit": number, "why": text}
    validator = jsonschema_rs.Draft202012Validator(
        {"type": "object", "properties": properties, "required": [*properties]}
    )

    async def function(path: str, limit: int, why: str) -> str:
        return path

    async def run(texts: Sequence[bytes]) -> None:
        for text in texts:
            arguments = orjson.loads(text)
            if validator.is_valid(arguments):
                await function(**arguments)

    return run


def _per_call(
    runner: asyncio.Runner,
    run: Callable[[Sequence[bytes]], Awaitable[None]],
    calls: int,
    *,
    turns: int = 1,
) -> Side:
    """CPU seconds of one call; no two calls are alike."""
    numbers = count()

    async def several(batches: Sequence[Sequence[bytes]]) -> None:
        for texts in batches:
            await run(texts)

    def side() -> float:
        batches = [_texts(numbers, calls) for _ in range(turns)]
        return of_function(lambda: runner.run(several(batches)))() / (calls * turns)

    return side


def _texts(numbers: Iterator[int], calls: int) -> list[bytes]:
    why = "Find out where the settings are read"
    return [
        orjson.dumps({"path": "src/a.txt", "limit": next(numbers), "why": why})
        for _ in range(calls)
    ]


def _size(directory: Path) -> int:
    return sum(part.stat().st_size for part in directory.glob("session-log*.md"))


def _count_syncs(work: Callable[[], object]) -> int:
    seen = 0
    real = os.fdatasync

    def counting(fd: Any) -> None:
        nonlocal seen
        seen += 1
        real(fd)

    os.fdatasync = counting
    try:
        work()
    finally:
        os.fdatasync = real
    return seen
