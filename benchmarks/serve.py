"""Rows 4, 5 and 6: `whence serve` beside bare servers that only echo.

Ours lists a directory with one file, the cheapest that it offers, through the whole gate, with a
journal that is on disk before the directory is read. Waiting for the disk takes no CPU, but it
takes time, so what is measured on the wall is measured again where the disk is memory.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks import peers
from benchmarks.mcp_load import Cost, Program, Serving
from benchmarks.measure import Ratio, Result

WHENCE = Path(sys.executable).parent / "whence"
MEMORY = "/dev/shm"
TOKEN = "WHENCE_BENCH_TOKEN"
CALLS, ROUNDS, STARTS = 160, 9, 7
TOGETHER = 16
ECHO = {"name": "echo", "arguments": {"text": "hello there, everybody"}}
READ = {
    "name": "read_directory",
    "arguments": {"why": "Find out where the settings are read", "path": "src"},
}
PLACES = ("", " (RAM disk)")
LOWLEVEL, UPPER, FAST = "mcp low-level", "mcp MCPServer", "fastmcp"
DRIVERS = {
    LOWLEVEL: (peers.MCP, "mcp_lowlevel.py"),
    UPPER: (peers.MCP, "mcp_mcpserver.py"),
    FAST: (peers.FASTMCP, "mcp_fastmcp.py"),
}


def ratios() -> Iterator[Result]:
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())
        disk = stack.enter_context(_workspace(None))
        memory = stack.enter_context(_workspace(MEMORY)) if os.path.isdir(MEMORY) else None
        try:
            yield from _on_pipes(runner, disk, memory)
            yield from _on_ports(runner, disk, memory)
            yield from _starting(runner, disk)
        except peers.Missing as missing:
            yield missing.instead("4", "whence serve ÷ other servers")


def _on_pipes(runner: asyncio.Runner, disk: str, memory: str | None) -> Iterator[Result]:
    programs = [_ours(disk)] + [_theirs(name, "stdio") for name in DRIVERS]
    if memory is not None:
        programs.append(_ours(memory))
    with ExitStack() as stack:
        servers = [stack.enter_context(Serving(program, runner)) for program in programs]
        for at_once, goal in ((1, 1.11), (TOGETHER, 0.5)):
            ours, bare, upper, fast, *quick = _alternately(servers, at_once)
            what = f"stdio, {at_once} in flight: gated, durable call ÷"
            for name, theirs, most in ((LOWLEVEL, bare, goal), (UPPER, upper, 1), (FAST, fast, 1)):
                yield from _both("4", f"{what} {name} echo", (ours, *quick), theirs, most)
        held = [server.memory() for server in servers]
        yield Ratio("6", f"memory while serving ÷ {LOWLEVEL}", held[0], held[1], 1.15)


def _on_ports(runner: asyncio.Runner, disk: str, memory: str | None) -> Iterator[Result]:
    os.environ[TOKEN] = "a secret of this benchmark"
    kinds = ((LOWLEVEL, "json"), (LOWLEVEL, "sse"), (UPPER, "sse"), (FAST, "sse"))
    programs = [_ours(disk, listens=True)] + [_theirs(name, how) for name, how in kinds]
    if memory is not None:
        programs.append(_ours(memory, listens=True))
    with ExitStack() as stack:
        servers = [stack.enter_context(Serving(one, runner, TOGETHER)) for one in programs]
        for at_once in (1, TOGETHER):
            ours, *others = _alternately(servers, at_once)
            quick = others[len(kinds) :]
            for (name, how), theirs in zip(kinds, others, strict=False):
                what = f"HTTP, {at_once} in flight: gated, durable call ÷ {name} echo, {how}"
                yield from _both("5", what, (ours, *quick), theirs, 1)
                if at_once == TOGETHER:
                    for place, one in zip(PLACES, (ours, *quick), strict=False):
                        yield Ratio("5", f"{what}, p99{place}", one.p99, theirs.p99, 1)


def _both(row: str, what: str, ours: Sequence[Cost], theirs: Cost, goal: float) -> Iterator[Result]:
    for place, one in zip(PLACES, ours, strict=False):
        yield Ratio(row, f"{what}, CPU{place}", one.cpu, theirs.cpu, goal)
        yield Ratio(row, f"{what}, time{place}", one.elapsed, theirs.elapsed, goal)


def _starting(runner: asyncio.Runner, disk: str) -> Iterator[Result]:
    programs = [_ours(disk)] + [_theirs(name, "stdio") for name in DRIVERS]
    rounds = [[_start(program, runner) for program in programs] for _ in range(STARTS)]
    ours, bare, upper, fast = (_best(one) for one in zip(*rounds, strict=True))
    what = "start → initialize → tools/list ÷"
    yield Ratio("6", f"{what} {LOWLEVEL}, CPU", ours.cpu, bare.cpu, 1.1)
    yield Ratio("6", f"{what} {LOWLEVEL}, time", ours.elapsed, bare.elapsed, 1.1)
    yield Ratio("6", f"{what} {UPPER}, CPU", ours.cpu, upper.cpu)
    yield Ratio("6", f"{what} {FAST}, CPU", ours.cpu, fast.cpu)


def _start(program: Program, runner: asyncio.Runner) -> Cost:
    with Serving(program, runner) as server:
        return server.start


def _alternately(servers: Sequence[Serving], at_once: int) -> list[Cost]:
    """The least that calls cost each server, in rounds of which each has one turn of every one."""
    for server in servers:
        server.load(CALLS // 2, at_once)
    rounds = [[server.load(CALLS, at_once) for server in servers] for _ in range(ROUNDS)]
    return [_best(costs) for costs in zip(*rounds, strict=True)]


def _best(costs: Sequence[Cost]) -> Cost:
    best, *others = costs
    for other in others:
        best = best.least(other)
    return best


def _ours(workspace: str, *, listens: bool = False) -> Program:
    command = [str(WHENCE), "serve", "-C", workspace, "--catalog", "chatmd"]
    if listens:
        command += ["--token-env", TOKEN, "--http"]
    return Program(command, READ, os.environ.get(TOKEN, ""))


def _theirs(name: str, how: str) -> Program:
    peer, script = DRIVERS[name]
    return Program([peers.programs(peer) / "python", peers.HERE / "drivers" / script, how], ECHO)


def _workspace(within: str | None) -> tempfile.TemporaryDirectory[str]:
    """A directory with a small one in it."""
    made = tempfile.TemporaryDirectory(dir=within)
    Path(made.name, "src").mkdir()
    Path(made.name, "src", "hello there, everybody").touch()
    return made
