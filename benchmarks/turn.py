"""Rows 7, 8 and 12: what a turn costs beside the least loop and beside peers, and idle memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

from benchmarks import peers
from benchmarks.measure import Ratio, Result, Side, alternately, environment
from benchmarks.peers import HERE, Driver

SHORT, LONG = 10, 200
SOME, MANY = -10, -100
_TEN = "ten tools of 100 ms in a turn"
PEERS = (
    (peers.PYDANTIC_AI_OPENAI, "turns_pydantic_ai.py"),
    (peers.OPENAI_AGENTS, "turns_openai_agents.py"),
)
_IDLE = "import {0}\nprint(open('/proc/self/status').read().partition('VmRSS:')[2].split()[0])"
OURS = "whence, whence.loop.agent"
FLOOR = "asyncio, orjson, jsonschema_rs"


def ratios() -> Iterator[Result]:
    with ExitStack() as stack:
        port = stack.enter_context(serving())
        whence = stack.enter_context(own_driver("turns_whence.py", port))
        hand = stack.enter_context(own_driver("turns_by_hand.py", port))
        yield from _beside_the_floor(whence, hand)
        yield from _beside_peers(whence, port)
    yield from _memory()


def _beside_the_floor(whence: Driver, hand: Driver) -> Iterator[Result]:
    short, long, floor_short, floor_long = alternately(
        lambda: whence(SHORT), lambda: whence(LONG), lambda: hand(SHORT), lambda: hand(LONG)
    )
    what = "turn with one call ÷ hand-written loop on httpx2,"
    yield Ratio("7", f"{what} {SHORT} turns", short, floor_short, 1.5)
    yield Ratio("7", f"{what} {LONG} turns", long, floor_long, 1.5)
    yield Ratio("7", f"turn of {LONG} ÷ turn of {SHORT}", long, short, 1.5)
    some, many, floor = alternately(
        lambda: whence(SOME), lambda: whence(MANY), lambda: hand(SOME), rounds=7
    )
    yield Ratio("8", f"{_TEN} ÷ hand-written loop (wall)", some, floor, 1.15)
    yield Ratio("8", "a hundred of them ÷ ten (wall)", many, some, 2.5)


def _beside_peers(whence: Driver, port: int) -> Iterator[Result]:
    rows = ((SHORT, "7", 0.35, 3), (LONG, "7", 0.06, 2), (SOME, "8", 0.75, 5))
    for peer, script in PEERS:
        begin = partial(peers.driving, peer, script, {"BENCH_PORT": str(port)})
        try:
            with begin() as driver:
                for amount, row, goal, rounds in rows:
                    kind = f"{amount} turns" if amount > 0 else f"{_TEN}, later runs (wall)"
                    what = f"{kind} ÷ {peer.requirement}"
                    sides = (partial(whence, amount), partial(driver, amount))
                    ours, theirs = alternately(*sides, rounds=rounds)
                    yield Ratio(row, what, ours, theirs, goal)
                    if amount == SOME:
                        yield Ratio(row, "  the least possible: the sleeping alone", 0.1, theirs)
                with busy():
                    ours, theirs = alternately(partial(whence, SOME), partial(driver, SOME))
                what = f"{_TEN}, every core busy (wall) ÷ {peer.requirement}"
                yield Ratio("8", what, ours, theirs, 0.75)
            own = partial(own_driver, "turns_whence.py", port)
            ours, theirs = alternately(_from_start(own), _from_start(begin), rounds=3)
            what = f"{_TEN}, from the start of the program (wall) ÷ {peer.requirement}"
            yield Ratio("8", what, ours, theirs, 0.75)
        except peers.Missing as missing:
            yield missing.instead("7", peer.requirement)


def _from_start(begin: Callable[[], AbstractContextManager[Driver]]) -> Side:
    """Seconds until a program that is started for it has made its one run."""

    def side() -> float:
        started = time.perf_counter()
        with begin() as driver:
            driver(SOME)
            return time.perf_counter() - started

    return side


def _memory() -> Iterator[Result]:
    ours, floor = alternately(lambda: _idle(OURS), lambda: _idle(FLOOR))
    yield Ratio("12", f"memory after importing the agent ÷ after {FLOOR}", ours, floor, 1.3)


def _idle(modules: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _IDLE.format(modules)], env=environment(), capture_output=True,
        check=True,
    )  # fmt: skip
    return float(done.stdout)


@contextmanager
def busy() -> Iterator[None]:
    """Twice as many programs that compute as there are cores.

    On idle cores a peer takes less than 133 ms, of which 0.75 is less than the sleeping; the goal
    was set on cores that other programs shared, where the best peer took 168 ms.
    """
    command = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


@contextmanager
def serving() -> Iterator[int]:
    """The port of a server that answers from a script."""
    command = [sys.executable, str(HERE / "drivers" / "model_server.py")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        if server.stdout is None or server.stdin is None:
            raise RuntimeError("the server has no pipes")
        yield int(server.stdout.readline())
        server.stdin.close()


@contextmanager
def own_driver(script: str, port: int) -> Iterator[Driver]:
    """A driver in this environment."""
    command = [sys.executable, str(HERE / "drivers" / script)]
    pipe = subprocess.PIPE
    env = {**environment(), "BENCH_PORT": str(port)}
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True) as process:
        yield Driver(process)
