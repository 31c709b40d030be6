"""The protocol's tools that run programs, called as a model calls them: through the gate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.catalogs.calling import WHY, fault, result
from whence.execute.process import Processes
from whence.loop.session import Session
from whence.shapes.approval import Answer, Question
from whence.shapes.call import Outcome
from whence.shapes.policy import Limits, Policy, Rule, Verdict

pytestmark = pytest.mark.anyio


async def yes(question: Question) -> Answer:
    return Answer(approved=True, by="test")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.csv").write_text("n\n1\n2\n")
    return folder


@pytest.fixture
def session(work: Path) -> Iterator[Session]:
    with Session(work, durable=False, approver=yes) as opened:
        yield opened


@pytest.mark.requirement("exec:terminal")
async def test_a_program_gets_its_words_and_its_ending_is_a_result(session: Session) -> None:
    done = await session.call(
        "terminal.run", WHY, cmd=["sh", "-c", 'echo "$1"; echo no >&2; exit 3', "sh", "$(id); *"]
    )
    assert isinstance(done.result, dict)
    assert done.result["stdout"] == "$(id); *\n"
    assert done.result["stderr"] == "no\n"
    assert done.result["exit_code"] == 3
    assert isinstance(done.result["duration_ms"], int)
    assert done.isolation == Processes().isolation().as_json()
    killed = await result(session, "terminal.run", cmd=["sh", "-c", "kill -9 $$"])
    assert killed["exit_code"] == -9


@pytest.mark.requirement("exec:terminal")
async def test_it_runs_and_writes_in_the_workspace_and_nowhere_else(
    session: Session, work: Path
) -> None:
    done = await result(session, "terminal.run", cmd=["sh", "-c", "pwd; echo x > made"], cwd="src")
    assert done["stdout"].endswith("/work/src\n")
    assert (work / "src" / "made").read_text() == "x\n"
    (work / "out").symlink_to("/")
    for place in ("..", "/", "out"):
        refused = await fault(session, "terminal.run", cmd=["pwd"], cwd=place)
        assert refused.code == "PERMISSION_DENIED"
    assert (await fault(session, "terminal.run", cmd=["pwd"], cwd="absent")).code == "NOT_FOUND"
    outside = work.parent / "outside"
    await session.call("terminal.run", WHY, cmd=["touch", str(outside)])
    assert not outside.exists()


@pytest.mark.requirement("exec:terminal")
async def test_what_cannot_be_run_is_refused_with_its_name(session: Session) -> None:
    assert (await fault(session, "terminal.run", cmd=[])).code == "INVALID_ARGS"
    assert (await fault(session, "terminal.run", cmd=[""])).code == "INVALID_ARGS"
    assert (await fault(session, "terminal.run", cmd="ls -l")).code == "INVALID_ARGS"
    assert (await fault(session, "terminal.run", cmd=["ls", 1])).code == "INVALID_ARGS"
    assert (await fault(session, "terminal.run", cmd=["ls"], timeout_ms=0)).code == "INVALID_ARGS"
    missing = await fault(session, "terminal.run", cmd=["no-such-program"])
    assert missing.code == "UNAVAILABLE"
    assert "no-such-program" in missing.message
    other = await fault(session, "terminal.run", command=["ls"])
    assert "'cmd'" in other.suggestion


@pytest.mark.requirement("exec:timeout")
async def test_at_its_time_a_program_is_ended_and_what_it_said_comes_along(
    session: Session,
) -> None:
    late = await fault(
        session, "terminal.run", cmd=["sh", "-c", "echo begun; echo err >&2; sleep 60"],
        timeout_ms=500,
    )  # fmt: skip
    assert late.code == "TIMEOUT"
    assert late.details["stdout"] == "begun\n"
    assert late.details["stderr"] == "err\n"


@pytest.mark.requirement("exec:timeout")
async def test_more_time_than_the_operator_allows_is_cut_and_still_tells_what_was_said(
    work: Path,
) -> None:
    policy = Policy(limits=Limits(timeout_ms=5_700))
    with Session(work, durable=False, approver=yes, policy=policy) as session:
        done = await session.call("terminal.run", WHY, cmd=["true"], timeout_ms=60_000)
        assert done.warnings == ("timeout_ms is 60000, and no more than 700 is allowed here",)
        late = await fault(
            session, "terminal.run", cmd=["sh", "-c", "echo begun; sleep 60"], timeout_ms=60_000
        )
    assert late.code == "TIMEOUT"
    assert late.details["stdout"] == "begun\n"


@pytest.mark.requirement("exec:limits")
async def test_a_long_output_is_cut_for_the_model_and_kept_whole(
    session: Session, work: Path
) -> None:
    done = await session.call("terminal.run", WHY, cmd=["seq", "100000"])
    assert isinstance(done.result, dict)
    assert done.truncated
    assert len(str(done.result["stdout"])) < 12_000
    assert "…truncated" in str(done.result["stdout"])
    assert done.artifact is not None
    assert "99998\\n99999\\n100000\\n" in (work / done.artifact).read_text()


@pytest.mark.requirement("exec:asks")
async def test_they_run_unasked_only_where_the_kernel_keeps_them_apart(work: Path) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("terminal.run", {"cmd": ["true"]}), ("python.exec", {"code": "1"}),
        ("js.exec", {"code": "1"}),
    ]  # fmt: skip
    full = Processes().isolation().full
    with Session(work, durable=False) as session:
        outcomes = [await session.call(name, WHY, **arguments) for name, arguments in calls]
    codes = [outcome.fault.code if outcome.fault else "" for outcome in outcomes]
    assert codes == [""] * 3 if full else ["PERMISSION_DENIED"] * 3


async def test_rules_for_commands_see_the_words(work: Path) -> None:
    deny = Rule(Verdict.DENY, "terminal.run", "rm *")
    with Session(work, durable=False, approver=yes, policy=Policy(rules=(deny,))) as session:
        assert (await fault(session, "terminal.run", cmd=["rm", "x"])).code == "PERMISSION_DENIED"
        assert (await result(session, "terminal.run", cmd=["echo", "rm", "x"]))["exit_code"] == 0


@pytest.mark.requirement("exec:python-files")
async def test_code_gets_virtual_files_and_files_of_the_workspace(session: Session) -> None:
    code = "import helper\n[open('a.csv').read(), open('d/b.txt').read(), helper.N]"
    files = {"a.csv": {"path": "src/a.csv"}, "d/b.txt": "bé", "helper.py": "N = 7"}
    done = await result(session, "python.exec", code=code, files=files)
    assert done["return_value"] == ["n\n1\n2\n", "bé", 7]
    assert done["artifacts"] == []


@pytest.mark.requirement("exec:python-files")
async def test_files_that_may_not_be_read_are_refused_before_anything_runs(
    session: Session, work: Path
) -> None:
    (work / ".env").write_text("KEY=1")
    strict = Session(work, durable=False)
    with strict:
        for path in ("/etc/passwd", "../x", ".env"):
            refused = await fault(strict, "python.exec", code="1", files={"a": {"path": path}})
            assert refused.code == "PERMISSION_DENIED"
    for name in ("/abs", "../up", "", "a//b", "a/./b", "nul\0", "x" * 300):
        odd = await fault(session, "python.exec", code="1", files={name: ""})
        assert odd.code == "INVALID_ARGS"
    both = await fault(session, "python.exec", code="1", files={"a": "", "a/b": ""})
    assert "'a' is a file" in both.message
    gone = await fault(session, "python.exec", code="1", files={"a": {"path": "absent"}})
    assert gone.code == "NOT_FOUND"


@pytest.mark.requirement("exec:python-artifacts")
async def test_a_changed_file_is_an_artifact_that_other_tools_can_read(
    session: Session, work: Path
) -> None:
    code = (
        "open('given', 'a').write('!')\n"
        "open('same').read()\n"
        "import os\nos.makedirs('p')\n"
        "open('p/plot.png', 'wb').write(bytes(range(256)) * 40)\n"
        "open('token.txt', 'w').write('sk-ant-api03-' + 'a1B2' * 24)\n"
    )
    done: Outcome = await session.call(
        "python.exec", WHY, code=code, files={"given": "g", "same": "s"}
    )
    assert isinstance(done.result, dict)
    listed: Any = {one["path"]: one for one in done.result["artifacts"]}
    assert set(listed) == {"given", "p/plot.png", "token.txt"}
    assert listed["given"]["content"] == "g!"
    kept = listed["p/plot.png"]["artifact"]
    assert kept.endswith(".png")
    assert (work / kept).read_bytes() == bytes(range(256)) * 40
    read = await result(session, "fs.read", path=listed["given"]["artifact"])
    assert read["content"] == "g!"
    assert "a1B2" * 24 not in (work / listed["token.txt"]["artifact"]).read_text()


@pytest.mark.requirement("exec:js-value")
async def test_js_takes_its_input_and_gives_a_value(session: Session) -> None:
    pytest.importorskip("_quickjs", reason="the extra js is not installed")
    done = await result(
        session, "js.exec", code="console.log('n', input.n); input.n.map(x => x * 2)",
        input_json={"n": [1, 2]},
    )  # fmt: skip
    assert done == {"result": [2, 4], "logs": ["n [1,2]"]}
