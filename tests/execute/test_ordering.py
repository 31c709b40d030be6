"""Writers of one file take turns."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.loop.editing import opened
from whence.execute.containment import Root
from whence.execute.ordering import alone_with
from whence.execute.ports import Ports
from whence.shapes.tool import Effect, Tool

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("edits:ordered")]
WHY = "See who comes first"


async def _count_up(arguments: object, ports: object) -> int:
    """Read, think, write: the way in which updates get lost."""
    assert isinstance(ports, Ports)
    with ports.files.open("count") as file:
        number = int(file.read()) + 1
    for _ in range(3):
        await asyncio.sleep(0)
    with ports.files.replacing("count") as out:
        out.write(str(number).encode())
    return number


COUNT_UP = Tool(
    "test.count",
    "Count up",
    {"type": "object"},
    _count_up,
    effects=frozenset({Effect.WRITE}),
    touches=lambda _: [(Effect.WRITE, "count")],
)


async def test_calls_of_one_process_lose_no_update(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    with opened(tmp_path, COUNT_UP) as session:
        outcomes = await asyncio.gather(*(session.call("test.count", WHY) for _ in range(30)))

    assert {str(outcome.result) for outcome in outcomes} == {str(n) for n in range(1, 31)}
    assert (tmp_path / "count").read_text() == "30"


async def test_calls_of_several_processes_lose_no_update(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")

    async def many() -> None:
        with opened(tmp_path, COUNT_UP) as session:
            outcomes = await asyncio.gather(*(session.call("test.count", WHY) for _ in range(10)))
        assert all(outcome.ok for outcome in outcomes)

    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                # The parent's event loop is not the child's.
                asyncio.events._set_running_loop(None)
                asyncio.new_event_loop().run_until_complete(many())
                code = 0
            finally:
                os._exit(code)
        children.append(child)

    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "30"


async def test_whoever_wants_two_files_never_waits_forever(tmp_path: Path) -> None:
    root = Root(tmp_path)
    turns: list[int] = []

    async def want(number: int, *paths: str) -> None:
        async with alone_with(root, paths):
            await asyncio.sleep(0)
            turns.append(number)

    pairs = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")] * 8
    tasks = (want(number, *pair) for number, pair in enumerate(pairs))
    await asyncio.wait_for(asyncio.gather(*tasks), 30)

    assert sorted(turns) == list(range(32))
    root.close()


async def test_whoever_gives_up_waiting_holds_nobody_up(tmp_path: Path) -> None:
    root = Root(tmp_path)
    async with alone_with(root, ["a"]):
        waiting = asyncio.create_task(_enter(root, "b", "a"))
        for _ in range(5):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(_enter(root, "b"), 10)
    await asyncio.wait_for(_enter(root, "a", "b"), 10)
    root.close()


async def _enter(root: Root, *paths: str) -> None:
    async with alone_with(root, paths):
        pass
