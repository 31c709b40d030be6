"""Command lines that may go on in the background, and what they wrote."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from whence.catalogs import load_catalog
from whence.loop.session import Session
from whence.shapes.approval import Answer, Question
from whence.work.exec.background import MOST_RUNNING

DAEMON = (
    "(setsid sh -c 'while true; do echo x >> open/ticks; sleep 0.02; done' &) ; "
    "until [ -e open/ticks ]; do sleep 0.01; done; echo up; wait"
)
WHY = "Prove that the tool keeps its promise"

pytestmark = pytest.mark.anyio


async def yes(question: Question) -> Answer:
    return Answer(approved=True, by="test")


def opened(work: Path, name: str | None = None) -> Session:
    return Session(work, load_catalog("roo"), durable=False, approver=yes, session=name)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "open").mkdir(parents=True)  # a weaker sandbox lets nothing be made beside .agent
    return folder


@pytest.fixture
async def session(work: Path) -> AsyncIterator[Session]:
    with opened(work) as made:
        yield made


async def run(session: Session, command: str, **arguments: Any) -> str:
    outcome = await session.call("execute_command", WHY, command=command, **arguments)
    assert outcome.fault is None, outcome.fault
    assert isinstance(outcome.result, str)
    assert outcome.isolation is not None
    return outcome.result


async def read(session: Session, name: str, **arguments: Any) -> str:
    outcome = await session.call("read_command_output", WHY, artifact_id=name, **arguments)
    assert outcome.fault is None, outcome.fault
    assert isinstance(outcome.result, str)
    return outcome.result


async def code_of(session: Session, tool: str, **arguments: Any) -> str:
    outcome = await session.call(tool, WHY, **arguments)
    assert outcome.fault is not None
    return outcome.fault.code


def id_in(text: str) -> str:
    found = re.search(r"cmd-\d+\.txt", text)
    assert found is not None, text
    return found.group()


async def until(read_it: Callable[[], Any], wanted: Callable[[str], bool]) -> str:
    """What is read, once it is as wanted."""
    async with asyncio.timeout(60):
        while not wanted(text := await read_it()):
            await asyncio.sleep(0.01)
    return str(text)


@pytest.mark.requirement("exec:roo-command")
async def test_a_line_is_run_by_a_shell_in_order_with_its_exit_code(
    session: Session, work: Path
) -> None:
    (work / "below").mkdir()
    said = await run(session, "seq 3 | tac && echo err >&2; pwd; X='a b'; echo \"$X\"", cwd="below")
    first, *lines = said.splitlines()
    assert first == "Command executed in 'below'. Exit code: 0"
    assert lines == ["Output:", "3", "2", "1", "err", f"{work}/below", "a b"]
    failed = await run(session, "echo no; exit 3", cwd=None, timeout=None)
    assert "was not successful" in failed
    assert failed.endswith("Exit code: 3\nOutput:\nno\n")
    assert "terminated by signal SIGKILL" in await run(session, "kill -9 $$")
    assert await run(session, "cat; echo '&lt;'") == (
        "Command executed in '.'. Exit code: 0\nOutput:\n&lt;\n"
    )


@pytest.mark.parametrize("command", ["", " \n"], ids=["empty", "blank"])
async def test_a_command_that_says_nothing_is_refused(session: Session, command: str) -> None:
    assert await code_of(session, "execute_command", command=command) == "INVALID_ARGS"


@pytest.mark.requirement("exec:roo-command")
async def test_places_outside_and_absent_ones_are_refused(session: Session) -> None:
    assert await code_of(session, "execute_command", command="pwd", cwd="/") == "PERMISSION_DENIED"
    assert await code_of(session, "execute_command", command="pwd", cwd="absent") == "NOT_FOUND"
    assert await code_of(session, "execute_command", command="a\0b") == "INVALID_ARGS"
    assert await code_of(session, "execute_command", command="ls", timeout=-1) == "INVALID_ARGS"


@pytest.mark.requirement("exec:roo-background")
async def test_after_its_timeout_a_command_goes_on_and_can_be_read(
    session: Session, work: Path
) -> None:
    line = "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended; exit 4"
    said = await run(session, line, timeout=0.5)
    assert "still running" in said
    name = id_in(said)
    shown = await until(lambda: read(session, name), lambda text: "1 | begun" in text)
    assert "(still running)" in shown
    (work / "go").touch()
    text = await until(lambda: read(session, name), lambda text: "still running" not in text)
    assert text.endswith("    1 | begun\n    2 | ended\n    3 | [exit code 4]")


@pytest.mark.requirement("exec:roo-background")
async def test_what_still_runs_at_the_end_of_the_session_is_ended_and_its_output_kept(
    work: Path,
) -> None:
    before = asyncio.all_tasks()
    with opened(work, "one") as session:
        said = await run(session, f"{DAEMON}; sleep 600", timeout=0.5)
        name = id_in(said)
        await until(lambda: read(session, name), lambda text: "1 | up" in text)
        left = asyncio.all_tasks() - before
    assert left
    await asyncio.wait(left)
    ticks = (work / "open" / "ticks").read_bytes()
    with opened(work, "one") as session:
        assert (await read(session, name)).endswith(
            "    1 | up\n    2 | [stopped with the session]"
        )
        await run(session, "sleep 0.2")
        assert (work / "open" / "ticks").read_bytes() == ticks


@pytest.mark.requirement("exec:roo-end")
async def test_a_background_command_is_ended_by_a_call_with_all_that_it_started(
    session: Session, work: Path
) -> None:
    name = id_in(await run(session, f"{DAEMON}; trap '' TERM; sleep 600", timeout=0.1))
    await until(lambda: read(session, name), lambda text: "1 | up" in text)
    ended = await read(session, name, end=True)
    ticks = (work / "open" / "ticks").read_bytes()
    assert ended.endswith("    1 | up\n    2 | [stopped]")
    assert "still running" not in ended
    assert await read(session, name, end=True) == ended
    await run(session, "sleep 0.2")
    assert (work / "open" / "ticks").read_bytes() == ticks


@pytest.mark.requirement("exec:roo-background")
async def test_only_so_many_commands_may_run_at_once(session: Session) -> None:
    started = [
        session.call("execute_command", WHY, command=f"sleep 60; echo {n}", timeout=0.01)
        for n in range(MOST_RUNNING)
    ]
    outcomes = await asyncio.gather(*started)
    assert len({id_in(str(outcome.result)) for outcome in outcomes}) == MOST_RUNNING
    assert await code_of(session, "execute_command", command="true") == "QUOTA_EXCEEDED"


async def test_a_call_that_is_stopped_takes_its_command_along(session: Session, work: Path) -> None:
    line = "while true; do echo x >> open/ticks; sleep 0.02; done"
    call = asyncio.create_task(session.call("execute_command", WHY, command=line))
    async with asyncio.timeout(30):
        while not (work / "open" / "ticks").exists():
            await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    ticks = (work / "open" / "ticks").read_bytes()
    await run(session, "sleep 0.2")
    assert (work / "open" / "ticks").read_bytes() == ticks


@pytest.mark.requirement("exec:roo-read")
async def test_a_long_output_is_previewed_and_read_in_parts(work: Path) -> None:
    with opened(work, "one") as session:
        said = await run(session, "seq 20000; printf 'last ünd end'")
        assert "bytes omitted...]" in said
        assert len(said) < 11_000
        name = id_in(said)
    with opened(work, "one") as session:
        whole = await read(session, name)
        total = sum(len(f"{n}\n") for n in range(1, 20_001)) + len("last ünd end".encode())
        assert f"Total size: {total} | Showing bytes 0-40960 | TRUNCATED" in whole
        assert "\n    1 | 1\n    2 | 2\n" in whole
        end = await read(session, name, offset=total - 20)
        assert end.endswith("\n20000 | 20000\n20001 | last ünd end")
        found = await read(session, name, search="^1999[0-9]$")
        assert "Total matches: 10 | Showing first 10" in found
        assert found.endswith("\n19998 | 19998\n19999 | 19999")
        assert "No matches found" in await read(session, name, search="absent")
        assert await code_of(session, "read_command_output", artifact_id=name, offset=total) == (
            "INVALID_ARGS"
        )


@pytest.mark.requirement("exec:roo-read")
async def test_only_ids_of_this_session_are_read(session: Session) -> None:
    for odd in ("cmd-1.txt/../x", "../cmd-1.txt", "x.txt", ""):
        assert await code_of(session, "read_command_output", artifact_id=odd) == "INVALID_ARGS"
    assert await code_of(session, "read_command_output", artifact_id="cmd-1.txt") == "NOT_FOUND"


@pytest.mark.requirement("exec:roo-ignored")
async def test_what_rooignore_covers_is_closed_to_commands_too(
    session: Session, work: Path
) -> None:
    (work / ".rooignore").write_text("# closed\nsecret.txt\nprivate/\n*.log\n!keep.log\n")
    (work / "private").mkdir()
    for name in ("secret.txt", "private/a", "x.log", "keep.log", "open.txt"):
        (work / name).write_text(f"content of {name}\n")
    said = await run(
        session, "cat secret.txt private/a x.log open.txt .rooignore; python3 -c 'open(\"x.log\")'"
    )
    assert "content of open.txt" in said
    for closed in ("content of secret", "content of private", "content of x", "# closed"):
        assert closed not in said


@pytest.mark.requirement("exec:roo-command")
async def test_output_floods_are_bounded(session: Session) -> None:
    outcome = await session.call(
        "execute_command", WHY, command="head -c 100000000 /dev/zero | tr '\\0' a"
    )
    assert outcome.truncated
    assert outcome.warnings == ("36000000 bytes of output were not kept",)
