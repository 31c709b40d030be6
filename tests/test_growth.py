"""How the work grows with what is there already: counted at two sizes, never timed."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from whence.declare.function import tool
from whence.declare.toolbox import Toolbox
from whence.errors import Conflict
from whence.execute.process import Processes
from whence.journal.comments import load_with_comments
from whence.journal.query import stats, why
from whence.journal.read import last_entries
from whence.journal.verify import verify
from whence.journal.write import Journal
from whence.loop.session import Session
from whence.shapes.call import Call
from whence.shapes.event import Event
from whence.shapes.json import JSONObject
from whence.shapes.policy import Policy, Quotas
from whence.shapes.tool import Effect, Tool
from whence.work import lexical
from whence.work.edits import unified, v4a

PART = 100_000
"""Bytes after which a journal with parts begins a new one."""
CONSTANT, LINEAR = 1.3, 13
"""What ten times the size may cost at the most."""


class Work:
    """What a piece of code did, in numbers that do not depend on the machine."""

    calls = 0
    """Functions called, those written in C included."""
    yaml_loads = 0
    bytes_read = 0


@contextmanager
def counted() -> Iterator[Work]:
    work, yaml = Work(), load_with_comments.__code__

    def count(frame: FrameType, event: str, _: object) -> None:
        work.calls += event in ("call", "c_call")
        work.yaml_loads += event == "call" and frame.f_code is yaml

    start = bytes_read()
    sys.setprofile(count)
    try:
        yield work
    finally:
        sys.setprofile(None)
        work.bytes_read = bytes_read() - start


def bytes_read() -> int:
    if not os.path.exists("/proc/self/io"):
        pytest.skip("this system does not count the bytes that a process reads")
    with open("/proc/self/io", "rb") as counters:
        return int(counters.readline().split()[1])


def work_of(function: Callable[[], object]) -> Work:
    function()
    with counted() as work:
        function()
    return work


def step(journal: Journal, number: int) -> None:
    path, reason = f"src/module_{number}.py", f"Keep what step {number} found out"
    arguments = {"path": path, "content": "x" * 100, "why": reason}
    fields: dict[str, Any] = {"tool": "fs.write", "args": arguments, "paths": [path]}
    call_id = journal.append_call(Event("tool_call", fields, "Tool Call: fs.write", reason))
    fields = {"call_id": call_id, "tool": "fs.write", "success": True, "result": "y" * 100}
    journal.append(Event("tool_result", fields, "Tool Result: fs.write"))


def journal_of(root: Path, steps: int, part: int = 1 << 30) -> Journal:
    journal = Journal.open(root, f"of-{steps}", durable=False, rotate_bytes=part)
    for number in range(steps):
        step(journal, number)
    return journal


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Journal, Journal]]:
    root = tmp_path_factory.mktemp("journals")
    small, large = journal_of(root, 200), journal_of(root, 2000)
    yield small, large
    small.close()
    large.close()


def test_appending_to_a_long_journal_costs_what_it_costs_in_an_empty_one(
    tmp_path: Path, journals: tuple[Journal, Journal]
) -> None:
    empty = journal_of(tmp_path, 0)

    to_empty, to_large = (work_of(lambda to=j: step(to, 1)) for j in (empty, journals[1]))  # type: ignore[misc]
    empty.close()

    assert to_large.calls <= CONSTANT * to_empty.calls
    assert to_large.bytes_read <= to_empty.bytes_read + 10_000


def test_the_last_events_are_found_from_the_end(journals: tuple[Journal, Journal]) -> None:
    small, large = (work_of(lambda of=j: last_entries(of.directory, 20)) for j in journals)  # type: ignore[misc]

    assert large.yaml_loads == small.yaml_loads == 20
    assert large.calls <= CONSTANT * small.calls


def test_asking_about_a_path_leaves_the_parts_alone_that_never_mention_it(tmp_path: Path) -> None:
    journal = journal_of(tmp_path, 1000, PART)
    journal.close()
    parts = [part for part in os.scandir(journal.directory) if part.name.endswith(".md")]

    work = work_of(lambda: list(why(journal.directory, "src/module_5.py")))

    assert [touched.why for touched in why(journal.directory, "src/module_5.py")] == [
        "Keep what step 5 found out"
    ]
    assert work.yaml_loads == 0
    assert work.bytes_read < sum(part.stat().st_size for part in parts) / 2


@pytest.mark.parametrize("question", [verify, stats])
def test_whole_journals_are_read_once_and_never_parsed(
    journals: tuple[Journal, Journal], question: Callable[[str], object]
) -> None:
    small, large = (work_of(lambda of=j: question(of.directory)) for j in journals)  # type: ignore[misc]

    assert large.calls <= LINEAR * small.calls
    assert large.bytes_read <= LINEAR * small.bytes_read
    assert large.yaml_loads == small.yaml_loads == 0


def many_tools(amount: int) -> list[Tool]:
    async def read(path: str, limit: int) -> str:
        """Read a file."""
        return path

    return [tool(f"bench.read_{n}", paths={"path": Effect.READ})(read) for n in range(amount)]


@pytest.mark.parametrize("name", ["bench.read_7", "bench_read_7", "bench.no_such_tool"])
def test_finding_a_tool_costs_the_same_among_many(name: str) -> None:
    few, many = (Toolbox(many_tools(amount)) for amount in (10, 1000))

    assert work_of(lambda: many.find(name)).calls == work_of(lambda: few.find(name)).calls


def calls_of(session: Session, number: int) -> int:
    """What one call costs, everything from the gate to the journal."""

    async def perform() -> Work:
        arguments: JSONObject = {"path": "a.txt", "limit": number, "why": "Find the entry point"}
        with counted() as work:
            outcome = await session.perform(Call("bench.read_7", arguments))
        assert outcome.ok
        return work

    return asyncio.run(perform()).calls


def test_a_call_costs_the_same_among_many_tools_and_after_many_calls(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    policy = Policy(quotas=Quotas(calls=None, calls_per_turn=None))
    with Session(tmp_path, many_tools(10), policy=policy, durable=False) as session:
        among_few = min(calls_of(session, number) for number in range(1, 4))
        after_few = calls_of(session, 10)
        later = [calls_of(session, number) for number in range(11, 200)]
    with Session(tmp_path, many_tools(1000), policy=policy, durable=False) as session:
        among_many = min(calls_of(session, number) for number in range(1, 4))

    assert among_many <= CONSTANT * among_few
    assert later[-1] <= CONSTANT * after_few


def patch_work(hunks: int, *, stale: bool) -> int:
    """What it costs to change one line in a hundred, or to find out that the last one is gone."""
    words = random.Random(hunks)
    old = [f"value = compute({words.random()})" for _ in range(hunks * 100)]
    new = [line + "  # changed" * (n % 100 == 50) for n, line in enumerate(old)]
    before, after = "\n".join(old) + "\n", "\n".join(new) + "\n"
    diff = unified.make(before, after, "a.py")
    text = before.replace(f"{old[-50]}\n", "") if stale else before

    def apply() -> None:
        try:
            assert unified.apply(unified.parse(diff), text).text == after
        except Conflict:
            assert stale

    return work_of(apply).calls


@pytest.mark.parametrize("stale", [False, True])
def test_a_patch_costs_in_proportion_to_file_and_hunks(stale: bool) -> None:
    assert patch_work(100, stale=stale) <= LINEAR * patch_work(10, stale=stale)


def v4a_work(hunks: int, kind: str) -> int:
    """What a V4A patch costs that changes one line in each of so many functions."""
    heads = [f"def f{n}(a, b):" for n in range(hunks)]
    file = [line for head in heads for line in (head, *["    same()"] * 50, "    return a")]
    patch = ["*** Begin Patch", "*** Update File: a.py"]
    for number, head in enumerate(heads):
        context = "    same()  " if kind == "alike" else "    same()"
        above = ["@@", f" {head}", *[f" {context}"] * 50]
        patch += above if kind != "anchored" else [f"@@ {head}"]
        patch += ["-    return a", f"+    return {number}"]
    if kind == "stale":
        file[-1] = "    return b"
    (update,) = v4a.parse("\n".join([*patch, "*** End Patch"])).sections
    assert isinstance(update, v4a.Update)

    def apply() -> None:
        try:
            assert v4a.apply(update, "\n".join([*file, ""])).text.count("return a") == 0
        except Conflict:
            assert kind == "stale"

    return work_of(apply).calls


@pytest.mark.requirement("v4a:bounded")
@pytest.mark.parametrize("kind", ["exact", "alike", "anchored", "stale"])
def test_a_v4a_patch_costs_in_proportion_to_file_and_hunks(kind: str) -> None:
    assert v4a_work(200, kind) <= LINEAR * v4a_work(20, kind)


def test_a_search_reads_only_until_it_has_what_was_asked_for(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number:03}.txt").write_text("needle\n" * 20 + "hay\n" * 2000)

    def read_for(hits: int) -> int:
        asked = lexical.search(
            "needle", root=str(tmp_path), scope=str(tmp_path), glob=None, runner=Processes(),
            rg=None, cap=hits,
        )  # fmt: skip
        start = bytes_read()
        found = asyncio.run(asked)
        assert (len(found.hits), found.truncated) == (hits, True)
        return bytes_read() - start

    assert read_for(40) < read_for(4000) / 10
