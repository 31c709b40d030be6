"""What of a workspace is open inside, and how it looks from there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from whence.execute.process import Processes
from whence.execute.sandbox import hidden
from whence.execute.sandbox.bubblewrap import Bubblewrap
from whence.execute.sandbox.choose import trial_of
from whence.execute.sandbox.ground import Ground
from whence.execute.sandbox.launched import Landlock
from whence.execute.sandbox.start import Sandbox
from whence.shapes.process import Confinement, Finished, Level, Program

pytestmark = pytest.mark.anyio
BUBBLEWRAP = Bubblewrap()


@pytest.fixture(autouse=True, scope="module")
def bubblewrap_works() -> None:
    problem = trial_of(BUBBLEWRAP).problem
    if problem:
        pytest.skip(f"bubblewrap cannot be used here: {problem}")


async def run(script: str, cwd: Path, confinement: Confinement, **env: str) -> Finished:
    program = Program(("sh", "-c", script), str(cwd), confinement, env=env)
    return await Processes(sandbox=BUBBLEWRAP).run(program)


@pytest.mark.requirement("sandbox:read-only")
async def test_without_a_writable_directory_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    ended = await run("cat file; echo y > file; touch new", tmp_path, Confinement())

    assert ended.stdout == b"x"
    assert ended.stderr.count(b"Read-only file system") == 2
    assert os.listdir(tmp_path) == ["file"]


async def test_only_the_directories_that_were_given_are_there(tmp_path: Path) -> None:
    work, data, other = (tmp_path / name for name in ("work", "data", "other"))
    for place in (work, data, other):
        place.mkdir()
        (place / "file").write_text(place.name)
    confinement = Confinement((str(work),), readable=(str(data),))

    ended = await run("ls ..; cat ../data/file; echo y > ../data/file", work, confinement)

    assert ended.stdout == b"data\nwork\ndata"
    assert b"Read-only" in ended.stderr
    assert (data / "file").read_text() == "data"


@pytest.mark.requirement("sandbox:read-only")
@pytest.mark.parametrize("sandbox", [Bubblewrap(), Landlock()], ids=["bubblewrap", "landlock"])
async def test_a_bare_sandbox_has_the_system_s_programs_and_nothing_else(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    if trial_of(sandbox).problem:
        pytest.skip(f"{sandbox.name} cannot be used here")
    script = (
        "import os\n"
        "for path in ('/proc/self/stat', '/dev/null', '/tmp/new', '/etc/passwd', '/dev/shm/new'):\n"
        " try: os.close(os.open(path, os.O_CREAT if 'new' in path else os.O_RDONLY)); print(path)\n"
        " except OSError: pass\n"
    )
    argv = ("/usr/bin/python3", "-I", "-S", "-c", script)
    program = Program(argv, "/usr", Confinement(bare=True))

    ended = await Processes(sandbox=sandbox).run(program)

    assert (ended.exit_code, ended.output) == (0, b"")


async def test_a_directory_inside_a_readable_one_may_be_writable(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    confinement = Confinement((str(tmp_path / "build"),), readable=(str(tmp_path),))

    ended = await run("touch build/made; touch made", tmp_path, confinement)

    assert b"Read-only" in ended.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["build", "made"]
    assert (tmp_path / "build" / "made").exists()


@pytest.mark.requirement("sandbox:git")
async def test_git_can_be_asked_and_its_data_is_safe(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "file").touch()
    script = "git status --short; git config core.fsmonitor evil; rm -rf .git; git log; true"

    ended = await run(script, tmp_path, Confinement((str(tmp_path),)))

    assert ended.stdout == b"?? file\n"
    assert "evil" not in (tmp_path / ".git" / "config").read_text()
    assert (tmp_path / ".git" / "HEAD").exists()


@pytest.mark.requirement("sandbox:secrets")
async def test_what_looks_like_a_secret_can_be_shown_and_other_files_hidden(tmp_path: Path) -> None:
    for name in (".env.example", "report.txt"):
        (tmp_path / name).write_text(name)
    place = (str(tmp_path),)
    confinement = Confinement(place, hidden=("report.txt",), shown=(".env.example",))

    ended = await run("cat .env.example; cat report.txt", tmp_path, confinement)

    assert ended.stdout == b".env.example"
    assert b"report.txt: Permission denied" in ended.stderr


async def test_a_tree_that_was_not_looked_at_whole_is_partial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.setattr(hidden, "_MOST_DIRECTORIES", 1)

    ended = await run("true", tmp_path, Confinement((str(tmp_path),)))

    assert ended.isolation.filesystem is Level.PARTIAL


async def test_the_workspace_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    link = tmp_path / "link"

    ended = await run("touch made; pwd -P", link, Confinement((str(link),)))

    assert ended.stdout.decode().strip() == str(tmp_path / "real")
    assert (tmp_path / "real" / "made").exists()


async def test_odd_names_are_given_as_they_are(tmp_path: Path) -> None:
    place = tmp_path / "a b\n--ro-bind\t'\udcff"
    place.mkdir()
    (place / ".env").write_text("x")

    ended = await run("touch made; cat .env", place, Confinement((str(place),)))

    assert (place / "made").exists()
    assert b"Permission denied" in ended.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("may_map", [True, False], ids=["mapped", "plain"])
@pytest.mark.requirement("process:ownership")
async def test_started_by_root_what_is_made_belongs_to_the_owner_of_the_workspace(
    tmp_path: Path, may_map: bool
) -> None:
    work = tmp_path / "work"
    work.mkdir(mode=0o700)
    os.chown(work, 1234, 2345)
    tmp_path.chmod(0o700)
    runner = Processes(sandbox=Bubblewrap(ground=Ground(may_map=may_map)))
    program = Program(("sh", "-c", "touch made; id -u"), str(work), Confinement((str(work),)))

    ended = await runner.run(program)

    assert ended.isolation.full
    assert ended.stdout == (b"65534\n" if may_map else b"1234\n")
    made = (work / "made").stat()
    assert (made.st_uid, made.st_gid) == (1234, 2345)
