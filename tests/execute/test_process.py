from __future__ import annotations

import asyncio
import os
import re
import select
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from whence.errors import InvalidArgs, NotFound, TimedOut, Unavailable
from whence.execute.process import Processes, RunningProcess
from whence.shapes.process import ProcessStreamer

pytestmark = pytest.mark.anyio

LONG_S = 60.0
pidfd_open = os.pidfd_open


@pytest.fixture(params=["pidfd", "thread"], autouse=True)
def exit_watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs with and without process descriptors."""
    if request.param == "thread":
        monkeypatch.delattr(os, "pidfd_open", raising=False)


def wait_until_gone(pid: int) -> bool:
    """Whether a process that is no child of ours ends within a few seconds."""
    try:
        fd = pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], 5.0)[0])
    finally:
        os.close(fd)


def is_reaped(pid: int) -> bool:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


async def run(
    argv: Sequence[str], cwd: Path, *, max_line: int = 65536
) -> tuple[list[bytes], RunningProcess]:
    async with Processes().stream(
        argv, cwd=str(cwd), timeout_s=LONG_S, max_line=max_line
    ) as stream:
        return [line async for line in stream], stream


async def test_the_runner_is_what_tools_are_promised() -> None:
    promised: ProcessStreamer = Processes()

    assert callable(promised.stream)


async def test_lines_status_and_errors_of_a_program_are_given(tmp_path: Path) -> None:
    lines, ended = await run(
        ["sh", "-c", "echo one; echo; printf two; echo bad >&2; exit 3"], tmp_path
    )

    assert lines == [b"one", b"", b"two"]
    assert ended.returncode == 3
    assert ended.stderr == b"bad\n"


async def test_a_line_is_given_while_the_program_still_runs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    argv = ["sh", "-c", "echo ready; read word < go; echo got $word"]

    async with Processes().stream(argv, cwd=str(tmp_path), timeout_s=LONG_S) as stream:
        first = await anext(stream)
        assert stream.returncode is None
        (tmp_path / "go").write_text("it\n")
        rest = [line async for line in stream]

    assert (first, rest) == (b"ready", [b"got it"])


async def test_standard_input_is_empty(tmp_path: Path) -> None:
    lines, ended = await run(["cat"], tmp_path)

    assert (lines, ended.returncode) == ([], 0)


async def test_the_environment_holds_path_language_and_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")

    lines, _ = await run(["env"], tmp_path)

    assert sorted(lines) == sorted(
        [b"HOME=/nonexistent", b"LANG=C.UTF-8", b"PATH=" + os.environb[b"PATH"]]
    )


async def test_arguments_reach_no_shell(tmp_path: Path) -> None:
    lines, _ = await run(["echo", "$(touch made); touch made", "*"], tmp_path)

    assert lines == [b"$(touch made); touch made *"]
    assert list(tmp_path.iterdir()) == []


async def test_a_long_line_is_cut_and_the_next_one_is_whole(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 300_000 + b"\nshort\n" + b"y" * 200_000)

    lines, _ = await run(["cat", "f"], tmp_path, max_line=1000)

    assert lines == [b"x" * 1000, b"short", b"y" * 1000]


async def test_errors_are_bounded_and_do_not_stop_the_program(tmp_path: Path) -> None:
    lines, ended = await run(["sh", "-c", "head -c 5000000 /dev/zero >&2; echo done"], tmp_path)

    assert lines == [b"done"]
    assert len(ended.stderr) == 65536


async def test_output_can_be_left_early_and_nothing_stays(tmp_path: Path) -> None:
    async with Processes().stream(["yes"], cwd=str(tmp_path), timeout_s=LONG_S) as stream:
        async for line in stream:
            assert line == b"y"
            break

    assert stream.returncode == -signal.SIGTERM
    assert is_reaped(stream.pid)


async def test_stopping_ends_the_lines(tmp_path: Path) -> None:
    async with Processes().stream(["sleep", "1000"], cwd=str(tmp_path), timeout_s=LONG_S) as stream:
        waiting = asyncio.ensure_future(anext(stream, b"no more"))
        await asyncio.sleep(0)
        await stream.stop()

        assert await waiting == b"no more"
        assert await anext(stream, b"no more") == b"no more"


async def overrun(argv: Sequence[str], cwd: Path, *, timeout_s: float) -> RunningProcess:
    """A program that was ended because it took too long."""
    async with Processes().stream(argv, cwd=str(cwd), timeout_s=timeout_s) as stream:
        with pytest.raises(TimedOut, match=f"{re.escape(argv[-1])}.* {timeout_s:g} s") as late:
            _ = [line async for line in stream]
    assert late.value.details == {"timeout_s": timeout_s}
    assert is_reaped(stream.pid)
    return stream


async def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    await overrun(["sh", "-c", "sleep 1000 & echo $! > child; wait"], tmp_path, timeout_s=0.3)

    assert wait_until_gone(int((tmp_path / "child").read_text()))


async def test_a_program_that_floods_is_ended_in_time(tmp_path: Path) -> None:
    await overrun(["yes"], tmp_path, timeout_s=0.05)


async def test_a_program_that_closed_its_output_is_still_timed(tmp_path: Path) -> None:
    await overrun(["sh", "-c", "exec >&-; exec sleep 1000"], tmp_path, timeout_s=0.2)


async def test_a_program_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    argv = ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1000; done"]

    async with Processes(grace_s=0.05).stream(argv, cwd=str(tmp_path), timeout_s=LONG_S) as stream:
        assert await anext(stream) == b"up"

    assert stream.returncode == -signal.SIGKILL
    assert is_reaped(stream.pid)


async def test_a_program_may_tidy_up_when_asked_to_end(tmp_path: Path) -> None:
    argv = ["sh", "-c", "trap 'touch tidy; exit 7' TERM; echo up; sleep 1000 & wait"]

    async with Processes().stream(argv, cwd=str(tmp_path), timeout_s=LONG_S) as stream:
        assert await anext(stream) == b"up"

    assert stream.returncode == 7
    assert (tmp_path / "tidy").exists()


async def test_cancelling_ends_the_program(tmp_path: Path) -> None:
    started: asyncio.Future[RunningProcess] = asyncio.get_running_loop().create_future()

    async def wait_for_ever() -> None:
        async with Processes().stream(
            ["sleep", "1000"], cwd=str(tmp_path), timeout_s=LONG_S
        ) as stream:
            started.set_result(stream)
            await anext(stream)

    task = asyncio.ensure_future(wait_for_ever())
    stream = await started
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert stream.returncode == -signal.SIGTERM
    assert is_reaped(stream.pid)


async def test_cancelling_twice_leaves_no_zombie(tmp_path: Path) -> None:
    started: asyncio.Future[RunningProcess] = asyncio.get_running_loop().create_future()

    async def wait_for_ever() -> None:
        argv = ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1000; done"]
        async with Processes().stream(argv, cwd=str(tmp_path), timeout_s=LONG_S) as stream:
            await anext(stream)
            started.set_result(stream)
            await anext(stream)

    task = asyncio.ensure_future(wait_for_ever())
    stream = await started
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert stream.returncode == -signal.SIGKILL
    assert is_reaped(stream.pid)


async def test_what_a_program_leaves_running_is_ended_and_holds_nobody_up(tmp_path: Path) -> None:
    lines, ended = await run(["sh", "-c", "sleep 1000 & echo $!"], tmp_path)

    assert ended.returncode == 0
    assert wait_until_gone(int(lines[0]))


async def test_a_process_that_left_the_group_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "left")
    escaping = "setsid sh -c 'echo > left; exec sleep 1000' & echo $!; read _ < left; exit 4"

    lines, ended = await run(["sh", "-c", escaping], tmp_path)

    assert ended.returncode == 4
    os.kill(int(lines[0]), signal.SIGKILL)


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    await run(["true"], tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for argv in (["true"], ["sh", "-c", "exit 1"], ["echo", "x"]):
        await run(argv, tmp_path)
    async with Processes().stream(["yes"], cwd=str(tmp_path), timeout_s=LONG_S) as stream:
        await anext(stream)

    assert len(os.listdir("/proc/self/fd")) == before


async def test_programs_run_beside_one_another(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = run(["sh", "-c", "echo hello > pipe"], tmp_path)
    reader = run(["cat", "pipe"], tmp_path)

    (_, written), (lines, _) = await asyncio.gather(writer, reader)

    assert (written.returncode, lines) == (0, [b"hello"])


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no-such-program"):
        await run(["no-such-program"], tmp_path)


async def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="gone"):
        await run(["true"], tmp_path / "gone")


@pytest.mark.parametrize("argv", [[], "rm -rf x", ["echo", "a\0b"], ["echo", "\ud800"]])
async def test_what_is_not_a_list_of_arguments_is_refused(
    tmp_path: Path, argv: Sequence[str]
) -> None:
    with pytest.raises(InvalidArgs):
        await run(argv, tmp_path)
