"""`python -m benchmarks.embedded`: how often the embedded model is right, and what it costs."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable

from tests.provider.local.evaluation import HALVES, Tried, evaluate

from benchmarks.measure import conditions
from whence.provider.local.engine import Engine
from whence.provider.local.fill import EXAMPLES
from whence.provider.local.model import LocalModel


def main() -> None:
    print(conditions())
    asyncio.run(_main())
    print(conditions())


async def _main() -> None:
    engine = Engine(EXAMPLES)
    started = time.perf_counter()
    process = await engine.start()
    await engine.rank("read a file", ["Read file contents"])
    ranked = time.perf_counter()
    await engine.complete(EXAMPLES, 'root ::= "Tool"', 4)
    ready = time.perf_counter()
    print(f"start: MiniLM after {ranked - started:.2f} s, SmolLM2 after {ready - started:.2f} s")
    tried: dict[str, list[Tried]] = defaultdict(list)
    async for one in evaluate(LocalModel(engine)):
        tried[one.half].append(one)
    took = time.perf_counter() - ready
    for half in HALVES:
        print(f"{half:<5} {_figures(tried[half])}")
    everything = [one for half in HALVES for one in tried[half]]
    print(f"all   {_figures(everything)}")
    print(f"time per request: {took / len(everything):.2f} s; memory: {_memory(process.pid)} MB")
    for one in everything:
        if not one.right:
            print(f"  {one.half:<5}{one.say}\n       {one.calls}")
    await engine.aclose()


def _figures(tried: Iterable[Tried]) -> str:
    listed = list(tried)
    asked = [one.right for one in listed if one.expected]
    chatted = [one.right for one in listed if not one.expected]
    return (
        f"right tool and arguments {sum(asked)}/{len(asked)} = {sum(asked) / len(asked):.0%}, "
        f"no tool on chit-chat {sum(chatted)}/{len(chatted)} = {sum(chatted) / len(chatted):.0%}"
    )


def _memory(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    main()
