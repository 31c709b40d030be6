from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.execute.sandbox.leftovers import all_gone, with_token
from whence.errors import InvalidArgs, NotFound, PermissionDenied, Unavailable
from whence.execute.process import Processes
from whence.execute.sandbox.bubblewrap import Bubblewrap
from whence.execute.sandbox.choose import best_sandbox, trial_of
from whence.execute.sandbox.launched import Landlock, LimitsOnly
from whence.execute.sandbox.spawner import submit
from whence.execute.sandbox.start import Sandbox
from whence.shapes.process import Confinement, Finished, ProcessRunner, Program

pytestmark = pytest.mark.anyio
SANDBOXES: dict[str, Sandbox] = {
    made.name: made for made in (Bubblewrap(), Landlock(), LimitsOnly())
}


@pytest.fixture(params=list(SANDBOXES))
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Every test runs at every level that this machine has."""
    chosen = SANDBOXES[request.param]
    problem = trial_of(chosen).problem
    if problem:
        pytest.skip(f"{chosen.name} cannot be used here: {problem}")
    return chosen


@pytest.fixture(autouse=True)
def own_temporary_files(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """What is left there was left by the test."""
    place = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def shell(script: str, cwd: Path, **given: Any) -> Program:
    given.setdefault("confinement", Confinement(writable=(str(cwd),)))
    return Program(("sh", "-c", script), str(cwd), **given)


async def run(sandbox: Sandbox, script: str, cwd: Path, **given: Any) -> Finished:
    return await Processes(grace_s=0.3, sandbox=sandbox).run(shell(script, cwd, **given))


async def test_the_runner_is_what_tools_are_promised() -> None:
    promised: ProcessRunner = Processes()

    assert callable(promised.run)


async def test_status_and_both_streams_are_given(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = await run(sandbox, "echo out; echo err >&2; exit 3", tmp_path)

    assert (ended.exit_code, ended.stdout, ended.stderr) == (3, b"out\n", b"err\n")
    assert sorted(ended.output.split()) == [b"err", b"out"]
    assert not ended.timed_out
    assert ended.duration_s > 0


@pytest.mark.requirement("process:order")
async def test_merged_streams_are_exactly_in_order(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "for n in 1 2 3 4 5 6 7 8; do echo o$n; echo e$n >&2; done"

    ended = await run(sandbox, script, tmp_path, merged=True)

    assert ended.output == b"".join(b"o%d\ne%d\n" % (n, n) for n in range(1, 9))
    assert (ended.stdout, ended.stderr) == (ended.output, b"")


@pytest.mark.requirement("process:live")
async def test_output_is_shown_while_the_program_runs(sandbox: Sandbox, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go", 0o666)
    (tmp_path / "go").chmod(0o666)
    seen: list[bytes] = []

    def answer(chunk: bytes) -> None:
        if not seen:
            (tmp_path / "go").write_text("it\n")
        seen.append(chunk)

    program = shell("echo ready; read word < go; echo got $word", tmp_path)
    await Processes(sandbox=sandbox).run(program, on_output=answer)

    assert b"".join(seen) == b"ready\ngot it\n"


@pytest.mark.requirement("process:argv")
async def test_arguments_reach_no_shell(sandbox: Sandbox, tmp_path: Path) -> None:
    argv = ("printf", "%s|", "$(touch made)", "a; touch made", "*", "-rf", "", "\udcff")
    program = Program(argv, str(tmp_path), Confinement(writable=(str(tmp_path),)))

    ended = await Processes(sandbox=sandbox).run(program)

    assert ended.stdout == b"$(touch made)|a; touch made|*|-rf||\xff|"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("process:bytes")
async def test_output_that_is_no_text_is_untouched(sandbox: Sandbox, tmp_path: Path) -> None:
    data = bytes(range(256)) * 50 + b"\x1b]0;owned\x07"
    (tmp_path / "data").write_bytes(data)

    ended = await run(sandbox, "cat data", tmp_path)

    assert ended.stdout == data


@pytest.mark.requirement("process:stdin")
@pytest.mark.parametrize("data", [b"", b"line\n\xff" * 100_000], ids=["closed", "given"])
async def test_standard_input_is_given_or_at_its_end(
    sandbox: Sandbox, tmp_path: Path, data: bytes
) -> None:
    ended = await run(sandbox, "cat", tmp_path, stdin=data)

    assert ended.stdout == data


async def test_a_python_without_the_newest_functions_will_do(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("memfd_create", "pidfd_open"):
        monkeypatch.delattr(os, name, raising=False)

    ended = await run(sandbox, "cat; kill -KILL $$", tmp_path, stdin=b"given")

    assert (ended.stdout, ended.exit_code) == (b"given", -signal.SIGKILL)


@pytest.mark.requirement("process:environment")
async def test_the_environment_holds_a_few_names_and_what_was_declared(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "hush")

    ended = await run(sandbox, "env", tmp_path, env={"DECLARED": "a b=c"})

    names = {line.partition(b"=")[0] for line in ended.stdout.splitlines()}
    assert names <= {b"PATH", b"LANG", b"HOME", b"TMPDIR", b"PWD", b"DECLARED", b"OLDPWD"}
    assert b"DECLARED=a b=c" in ended.stdout.splitlines()
    assert b"hush" not in ended.stdout


@pytest.mark.requirement("process:environment")
async def test_what_is_declared_is_not_loaded_into_the_sandbox_itself(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """A library of the workspace must not run in the process that builds the walls."""
    ended = await run(sandbox, "echo fine", tmp_path, env={"LD_PRELOAD": "/no/such/library.so"})

    assert ended.stdout == b"fine\n"
    # Once by each program that is started inside, and by nobody who starts one.
    assert ended.stderr.count(b"/no/such/library.so") <= 2


@pytest.mark.requirement("process:secrets")
async def test_declared_variables_are_on_no_command_line(sandbox: Sandbox, tmp_path: Path) -> None:
    seen: list[bool] = []
    secret = "very-secret-value"
    program = shell("echo on; sleep 0.1", tmp_path, env={"TOKEN": secret})

    def look(_: bytes) -> None:
        seen.append(any(with_token(secret)))

    await Processes(sandbox=sandbox).run(program, on_output=look)

    assert seen == [False]


async def test_a_home_and_temporary_files_are_private_and_gone_afterwards(
    sandbox: Sandbox, tmp_path: Path, own_temporary_files: Path
) -> None:
    script = 'd="${TMPDIR:-/tmp}"; echo x > "$d/mine" && cat "$d/mine" && cd && echo y > z && cat z'

    ended = await run(sandbox, script, tmp_path)
    submit(lambda: None).result()

    assert ended.stdout == b"x\ny\n"
    assert list(own_temporary_files.iterdir()) == []


@pytest.mark.requirement("process:kept")
async def test_what_exceeds_the_bound_is_counted_and_dropped(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    ended = await run(sandbox, "head -c 300000 /dev/zero; echo end >&2", tmp_path, keep_bytes=1000)

    assert len(ended.output) == 1000
    assert ended.dropped == 300_000 + 4 - 1000


@pytest.mark.requirement("process:signals")
async def test_a_signal_is_told_as_a_negative_number(sandbox: Sandbox, tmp_path: Path) -> None:
    codes = [
        (await run(sandbox, script, tmp_path)).exit_code
        for script in ("kill -KILL $$", "kill -SEGV $$", "exit 129", "exit 255")
    ]

    assert codes == [-signal.SIGKILL, -signal.SIGSEGV, 129, 255]


@pytest.mark.requirement("process:timeout")
async def test_at_its_time_limit_a_program_may_tidy_up(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "trap 'echo tidy; exit 7' TERM; echo up; sleep 1000 & wait"

    ended = await run(sandbox, script, tmp_path, timeout_s=0.5)

    assert (ended.stdout, ended.exit_code, ended.timed_out) == (b"up\ntidy\n", 7, True)


@pytest.mark.requirement("process:cancel")
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
async def test_cancelling_ends_the_program_and_all_that_it_started(
    sandbox: Sandbox, tmp_path: Path, times: int
) -> None:
    up = asyncio.Event()
    token = f"token{os.urandom(8).hex()}"
    script = f": {token}; trap '' TERM; setsid sleep 1000 & echo up; while :; do sleep 1000; done"
    task = asyncio.ensure_future(
        Processes(grace_s=0.2, sandbox=sandbox).run(
            shell(script, tmp_path), on_output=lambda _: up.set()
        )
    )
    await up.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        await task
    assert all_gone(token)
    assert no_children()


@pytest.mark.requirement("process:cancel")
async def test_cancelling_before_the_start_leaves_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    task = asyncio.ensure_future(run(sandbox, "sleep 1000", tmp_path))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    submit(lambda: None).result()
    assert no_children()


@pytest.mark.requirement("process:cancel")
async def test_cancelling_a_start_is_heard_where_signals_are_ignored(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    # As a shell does it to what it starts in the background.
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        task = asyncio.ensure_future(run(sandbox, "sleep 1000", tmp_path))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        submit(lambda: None).result()
        assert no_children()
    finally:
        signal.signal(signal.SIGQUIT, before)


def no_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


@pytest.mark.requirement("process:nothing-left")
async def test_a_hundred_at_once_leave_nothing_behind(
    sandbox: Sandbox, tmp_path: Path, own_temporary_files: Path
) -> None:
    await run(sandbox, "true", tmp_path)
    submit(lambda: None).result()
    descriptors = len(os.listdir("/proc/self/fd"))

    ended = await asyncio.gather(
        *(run(sandbox, f"echo {n}; touch {n}", tmp_path) for n in range(100))
    )
    submit(lambda: None).result()

    assert [int(one.stdout) for one in ended] == list(range(100))
    assert len(list(tmp_path.iterdir())) == 100
    assert no_children()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert list(own_temporary_files.iterdir()) == []
    if os.geteuid() == 0 and sandbox.name == "bubblewrap":
        assert submit(lambda: os.listdir("/sys")).result() == []


@pytest.mark.requirement("process:ownership")
async def test_what_a_program_makes_belongs_to_the_owner_of_the_workspace(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("x")
    (tmp_path / "mine").chmod(0o600)

    ended = await run(sandbox, "cat mine && echo y > mine && mkdir -p d && echo z > d/e", tmp_path)

    assert (ended.exit_code, ended.stdout) == (0, b"x")
    made = [(tmp_path / name).stat().st_uid for name in ("mine", "d", "d/e")]
    assert made == [os.geteuid()] * 3
    assert (tmp_path / "mine").read_text() == "y\n"


async def test_a_program_that_is_not_there_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    program = Program(("no-such-program",), str(tmp_path), Confinement())

    with pytest.raises(Unavailable, match="no-such-program"):
        await Processes(sandbox=sandbox).run(program)


@pytest.mark.requirement("process:hidden-program")
async def test_a_program_outside_is_named_with_what_to_do(tmp_path: Path) -> None:
    if best_sandbox().name == "limits only":
        pytest.skip("nothing is hidden at this level")
    tool = tmp_path / "tools" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho ran\n")
    tool.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    hidden = Program((str(tool),), str(work), Confinement(writable=(str(work),)))
    shown = Program(
        (str(tool),), str(work), Confinement((str(work),), readable=(str(tool.parent),))
    )

    with pytest.raises(Unavailable, match="cannot be seen") as refused:
        await Processes().run(hidden)
    ended = await Processes().run(shown)

    assert "readable" in refused.value.suggestion
    assert ended.stdout == b"ran\n"


async def test_a_program_that_cannot_be_executed_says_so(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"#!/no/such/interpreter\n")
    (tmp_path / "odd").chmod(0o755)
    program = Program(("./odd",), str(tmp_path), Confinement((str(tmp_path),)))

    try:
        ended = await Processes(sandbox=sandbox).run(program)
    except Unavailable as error:
        assert "odd" in error.message  # noqa: PT017
    else:
        assert (ended.exit_code, b"odd" in ended.stderr) == (127, True)


async def test_a_directory_that_is_not_there_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="gone"):
        await run(sandbox, "true", tmp_path / "gone", confinement=Confinement())


@pytest.mark.parametrize("argv", [(), ("",), ("echo", "a\0b"), ("echo", "\ud800")])
async def test_what_is_not_a_list_of_arguments_is_refused(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidArgs):
        await Processes().run(Program(argv, str(tmp_path), Confinement()))


@pytest.mark.requirement("process:too-much")
@pytest.mark.parametrize(
    "words",
    [("x" * 200_000,), ("x" * 1_000,) * 2_000],
    ids=["one long word", "too many"],
)
async def test_more_words_than_a_program_can_be_given_are_refused(
    sandbox: Sandbox, tmp_path: Path, words: tuple[str, ...]
) -> None:
    program = Program(("true", *words), str(tmp_path), Confinement())

    with pytest.raises(InvalidArgs, match="'true' cannot be given"):
        await Processes(sandbox=sandbox).run(program)


@pytest.mark.requirement("process:too-much")
async def test_more_than_bubblewrap_can_be_told_is_refused_before_it_starts(tmp_path: Path) -> None:
    sandbox = SANDBOXES["bubblewrap"]
    if trial_of(sandbox).problem:
        pytest.skip("bubblewrap cannot be used here")
    with pytest.raises(InvalidArgs, match="cannot be given 100001 words"):
        await Processes(sandbox=sandbox).run(
            Program(("true", *["x"] * 100_000), str(tmp_path), Confinement())
        )
    for number in range(3_500):
        (tmp_path / f".env.{number}").touch()

    with pytest.raises(Unavailable, match="3500 files"):
        await run(sandbox, "true", tmp_path)


@pytest.mark.requirement("process:signals")
async def test_signals_do_what_they_do_everywhere(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = await run(sandbox, "{ yes; echo $? >&2; } | head -1", tmp_path)

    assert (ended.stdout, ended.stderr) == (b"y\n", b"141\n"), "a broken pipe ends who writes"


@pytest.mark.requirement("process:timeout")
async def test_a_program_that_stands_still_may_tidy_up_too(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    script = "trap 'echo bye; exit 4' TERM; kill -STOP $$; sleep 1000 & wait"
    runner = Processes(grace_s=20.0, sandbox=sandbox)

    ended = await runner.run(shell(script, tmp_path, timeout_s=0.5))

    assert (ended.timed_out, ended.stdout, ended.exit_code) == (True, b"bye\n", 4)


@pytest.mark.parametrize("place", ["/", "/proc", "/dev/shm", "/usr", "relative", "/no/such/place"])
async def test_a_directory_that_cannot_be_given_away_is_refused(place: str, tmp_path: Path) -> None:
    program = Program(("true",), str(tmp_path), Confinement(writable=(place,)))

    with pytest.raises(InvalidArgs, match="cannot be given"):
        await Processes().run(program)


@pytest.mark.requirement("sandbox:required")
async def test_full_isolation_that_cannot_be_had_is_refused_before_anything_runs(
    sandbox: Sandbox, tmp_path: Path, own_temporary_files: Path
) -> None:
    made, demand = tmp_path / "made", Confinement((str(tmp_path),), required=True)
    program = shell("touch made; sleep 1000", tmp_path, confinement=demand, timeout_s=0.5)
    said = trial_of(sandbox).isolation
    if said.full:
        assert (await Processes(sandbox=sandbox).run(program)).isolation == said
        return

    with pytest.raises(PermissionDenied, match="isolated") as refused:
        await Processes(sandbox=sandbox).run(program)

    assert refused.value.details["isolation"] == said.as_json()
    assert not made.exists()
    assert list(own_temporary_files.iterdir()) == []


@pytest.mark.requirement("sandbox:honest")
async def test_the_isolation_of_a_run_is_that_of_the_machine(tmp_path: Path) -> None:
    runner = Processes()

    ended = await runner.run(shell("true", tmp_path))

    assert ended.isolation == runner.isolation()


@settings(deadline=None, max_examples=12)
@given(st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=3000)), max_size=8))
def test_nothing_that_is_written_is_lost(writes: list[tuple[bool, bytes]]) -> None:
    program = (
        "import os,sys\n"
        "for n, line in enumerate(sys.stdin):\n where, data = line.split()\n"
        " os.write(int(where), bytes.fromhex(data))\n"
    )
    stdin = "".join(f"{2 if err else 1} {data.hex()}\n" for err, data in writes).encode()
    with tempfile.TemporaryDirectory() as place:
        argv = ("/usr/bin/python3", "-I", "-S", "-c", program)
        ended = asyncio.run(Processes().run(Program(argv, place, Confinement(), stdin=stdin)))

    assert ended.stdout == b"".join(data for err, data in writes if not err)
    assert ended.stderr == b"".join(data for err, data in writes if err)
    assert len(ended.output) == len(ended.stdout) + len(ended.stderr)
