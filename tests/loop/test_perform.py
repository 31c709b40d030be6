"""The one path: recorded before it runs, stopped in time, cut to size, never around the gate."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whence.declare.function import tool
from whence.journal.read import read_entries
from whence.journal.verify import verify
from whence.loop.session import Session
from whence.shapes.approval import Answer, Approver, Question
from whence.shapes.call import Call, Comment
from whence.shapes.event import Entry
from whence.shapes.policy import Limits, Policy, Quotas, Rule, Verdict, WhyPolicy
from whence.shapes.tool import Effect, Sandbox, Tool

WHY = "Prove that the path holds"
pytestmark = pytest.mark.anyio


@tool("demo.echo")
async def echo(text: str) -> str:
    """Echo."""
    return text


@tool("demo.slow", sandbox=Sandbox(timeout_ms=50))
async def slow() -> str:
    """Sleep for a long time."""
    await asyncio.sleep(60)
    return "never"


@tool("demo.stuck")
async def stuck() -> str:
    """Wait until somebody cancels."""
    await asyncio.Event().wait()
    return "never"


@tool("demo.broken")
async def broken() -> str:
    """Raise."""
    raise KeyError("a private detail")


@tool("demo.big")
async def big(size: int) -> dict[str, Any]:
    """Return a lot."""
    return {"text": "x" * size, "size": size}


@tool("demo.deploy", effects=[Effect.NETWORK])
async def deploy(target: str) -> str:
    """Deploy."""
    return f"deployed to {target}"


TOOLS = (echo, slow, stuck, broken, big, deploy)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Session]:
    def open_session(
        *tools: Tool,
        policy: Policy = Policy(),
        approver: Approver | None = None,
        session: str = "s",
    ) -> Session:
        return Session(
            tmp_path,
            tools or TOOLS,
            policy=policy,
            session=session,
            approver=approver,
            durable=False,
        )

    return open_session


def entries(tmp_path: Path, session: str = "s") -> list[Entry]:
    return list(read_entries(os.fspath(tmp_path / ".agent" / "sessions" / session)))


def types(tmp_path: Path) -> list[str]:
    return [entry.type for entry in entries(tmp_path)]


async def test_a_call_leaves_its_reason_and_its_result(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    with opened() as session:
        outcome = await session.call("demo.echo", WHY, text="hi")

    assert outcome.as_json() | {"duration_ms": 0} == {
        "ok": True, "call_id": "call-001", "session": "s", "tool": "demo.echo", "result": "hi",
        "truncated": False, "warnings": [], "duration_ms": 0,
    }  # fmt: skip
    start, call, result, end = entries(tmp_path)
    assert (start.type, end.type) == ("session_start", "session_end")
    assert call.fields["args"] == {"text": "hi", "why": WHY}
    assert call.narrative == WHY
    assert result.fields["call_id"] == call.fields["call_id"] == "call-001"
    assert result.fields["result"] == "hi"


@pytest.mark.requirement("journal:before-effect")
async def test_the_call_is_on_disk_before_the_handler_runs(tmp_path: Path) -> None:
    seen: list[str] = []
    log = tmp_path / ".agent" / "sessions" / "s" / "session-log.md"

    @tool("demo.look")
    async def look() -> str:
        """Look at the journal."""
        seen.append(log.read_text("utf-8"))
        return "done"

    with Session(tmp_path, [look], session="s") as session:
        await session.call("demo.look", WHY)

    assert "type: tool_call" in seen[0]
    assert "type: tool_result" not in seen[0]


async def test_a_refused_call_is_recorded_and_never_runs(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    with opened() as session:
        outcomes = [
            await session.perform(Call("demo.echo", {"text": "x"})),
            await session.perform(Call("demo.nothing", {"why": WHY})),
            await session.perform(Call("demo.echo", {"why": WHY, "txt": 1})),
            await session.perform(Call("demo.echo", None, unparsed='{"te', parse_problem="cut")),
        ]

    assert [o.fault.code for o in outcomes if o.fault] == [
        "MISSING_WHY", "NOT_FOUND", "INVALID_ARGS", "PARSE_ERROR",
    ]  # fmt: skip
    assert types(tmp_path)[1:-1] == ["tool_call", "tool_error"] * 4
    assert entries(tmp_path)[3].narrative == WHY
    assert entries(tmp_path)[3].fields["args"] == {"why": WHY}
    assert entries(tmp_path)[7].fields["unparsed"] == '{"te'


@pytest.mark.requirement("execute:timeout")
async def test_a_slow_call_is_stopped(opened: Callable[..., Session]) -> None:
    with opened() as session:
        outcome = await session.call("demo.slow", WHY)

    assert outcome.fault is not None
    assert outcome.fault.code == "TIMEOUT"
    assert "50 ms" in outcome.fault.message


@pytest.mark.requirement("execute:cancel")
async def test_a_cancelled_call_is_recorded_as_such(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    with opened() as session:
        task = asyncio.create_task(session.call("demo.stuck", WHY))
        while "tool_call" not in types(tmp_path):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert entries(tmp_path)[2].fields["error"]["code"] == "CANCELLED"


@pytest.mark.requirement("execute:cancel")
async def test_a_call_cancelled_while_a_person_thinks_is_recorded_as_such(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    asked = asyncio.Event()

    async def approver(_: Question) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        return Answer(approved=True)

    with opened(approver=approver) as session:
        task = asyncio.create_task(session.call("demo.deploy", WHY, target="x"))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert entries(tmp_path)[2].fields["error"]["code"] == "CANCELLED"


@pytest.mark.requirement("journal:full-disk")
async def test_an_approval_that_cannot_be_recorded_lets_nothing_through(
    opened: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def approver(_: Question) -> Answer:
        def no_room(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("whence.journal.store.os.write", no_room)
        return Answer(approved=True)

    session = opened(approver=approver)
    outcome = await session.call("demo.deploy", WHY, target="x")
    monkeypatch.undo()
    session.close()

    assert outcome.fault is not None
    assert outcome.fault.code == "UNAVAILABLE"
    assert "tool_result" not in types(tmp_path)


@pytest.mark.requirement("execute:bug")
async def test_a_tools_exception_is_a_fault_and_its_traceback_is_kept(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    with opened() as session:
        outcome = await session.call("demo.broken", WHY)
        again = await session.call("demo.echo", WHY, text="still here")

    assert again.ok
    assert outcome.fault is not None
    assert outcome.fault.code == "EXECUTION_FAILED"
    assert "Traceback" not in str(outcome.as_json())
    assert outcome.artifact is not None
    assert "Traceback" in (tmp_path / outcome.artifact).read_text("utf-8")


@pytest.mark.requirement("execute:limit")
async def test_a_long_result_is_cut_and_kept_whole(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    policy = Policy(limits=Limits(output_chars=1000, turn_chars=3000, inline_chars=100))
    with opened(policy=policy) as session:
        outcome = await session.call("demo.big", WHY, size=50_000)

    assert outcome.truncated
    assert isinstance(outcome.result, dict)
    assert outcome.result["size"] == 50_000
    assert len(str(outcome.result)) < 1200
    assert outcome.artifact is not None
    assert (tmp_path / outcome.artifact).read_text("utf-8").count("x" * 50_000) == 1
    logged = entries(tmp_path)[2].fields
    assert logged["result"]["chars"] > 50_000
    assert logged["artifact"] == outcome.artifact


@pytest.mark.requirement("execute:limit")
async def test_a_turn_has_a_limit_of_its_own(opened: Callable[..., Session]) -> None:
    policy = Policy(limits=Limits(output_chars=1000, turn_chars=1500))
    with opened(policy=policy) as session:
        sizes = [len(str((await session.call("demo.big", WHY, size=900)).result)) for _ in range(3)]
        session.next_turn()
        fresh = await session.call("demo.big", WHY, size=900)

    assert sizes[0] > 900
    assert sizes[2] < 200
    assert not fresh.truncated


async def test_quotas_hold_across_processes_that_share_a_session(
    opened: Callable[..., Session],
) -> None:
    policy = Policy(quotas=Quotas(calls=2))
    codes = []
    for number in range(3):
        session = opened(policy=policy)
        outcome = await session.call("demo.echo", WHY, text=str(number))
        codes.append(outcome.fault.code if outcome.fault else "ok")
        session.close()

    assert codes == ["ok", "ok", "QUOTA_EXCEEDED"]


async def test_going_round_in_circles_is_stopped(opened: Callable[..., Session]) -> None:
    with opened(policy=Policy(quotas=Quotas(repeats=3))) as session:
        same = [await session.call("demo.echo", WHY, text="a") for _ in range(4)]

    assert [outcome.ok for outcome in same] == [True, True, True, False]


@pytest.mark.requirement("gate:approval")
async def test_a_person_sees_tool_arguments_and_why_and_decides(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    asked: list[Question] = []

    async def approver(question: Question) -> Answer:
        asked.append(question)
        return Answer(approved=question.arguments["target"] == "staging", by="tester")

    with opened(approver=approver) as session:
        yes = await session.call("demo.deploy", WHY, target="staging")
        no = await session.call("demo.deploy", WHY, target="production")

    assert yes.result == "deployed to staging"
    assert no.fault is not None
    assert (no.fault.code, no.fault.recoverable) == ("PERMISSION_DENIED", False)
    assert [(q.tool, q.why) for q in asked] == [("demo.deploy", WHY)] * 2
    approvals = [entry.fields for entry in entries(tmp_path) if entry.type == "user_approval"]
    assert [(fields["approved"], fields["by"]) for fields in approvals] == [
        (True, "tester"), (False, "tester"),
    ]  # fmt: skip


async def test_an_answer_for_the_session_is_not_asked_for_again(
    opened: Callable[..., Session],
) -> None:
    asked: list[Question] = []

    async def approver(question: Question) -> Answer:
        asked.append(question)
        return Answer(approved=True, scope="session")

    with opened(approver=approver) as session:
        for target in ("a", "b"):
            assert (await session.call("demo.deploy", WHY, target=target)).ok

    assert len(asked) == 1


@pytest.mark.requirement("gate:approval")
async def test_with_nobody_there_it_is_refused(opened: Callable[..., Session]) -> None:
    with opened() as session:
        outcome = await session.call("demo.deploy", WHY, target="x")

    assert outcome.fault is not None
    assert outcome.fault.code == "PERMISSION_DENIED"
    assert "nobody" in outcome.fault.message
    assert outcome.fault.details["would_allow"] == "demo.deploy"


async def test_a_tool_whose_source_is_missing_is_unavailable(
    opened: Callable[..., Session],
) -> None:
    declared = Tool("video.cut", "Cut", {"type": "object"}, None, source="mcp")
    with opened(declared) as session:
        outcome = await session.call("video.cut", WHY)

    assert outcome.fault is not None
    assert outcome.fault.code == "UNAVAILABLE"


async def test_a_violation_is_recorded(tmp_path: Path) -> None:
    with Session(tmp_path, session="s", durable=False) as session:
        await session.call("fs.write", WHY, path=".agent/sessions/s/session-log.md", content="")
        await session.call("fs.read", WHY, path="/etc/passwd")

    found = [entry.fields["rule"] for entry in entries(tmp_path) if entry.type == "violation"]
    assert found == ["append_only", "sandbox"]
    assert verify(os.fspath(tmp_path / ".agent" / "sessions" / "s")).ok


@pytest.mark.requirement("journal:comments")
async def test_notes_and_comments_reach_the_journal_and_come_back(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    with opened() as session:
        await session.perform(
            Call(
                "demo.echo",
                {"why": WHY, "text": "x", "note": ["first", "second"]},
                comments=(Comment(("text",), "said by the user"),),
            )
        )

    texts = {comment.text: comment.at for comment in entries(tmp_path)[1].comments}
    assert texts == {
        "said by the user": ("args", "text"),
        "first": ("args", "why"),
        "second": ("args", "why"),
    }


@pytest.mark.requirement("journal:redaction")
async def test_a_secret_in_arguments_or_results_is_not_on_disk(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    secret = "sk-ant-api03-" + "Zx9" * 20
    policy = Policy(limits=Limits(inline_chars=100))
    with opened(policy=policy) as session:
        outcome = await session.call("demo.echo", f"Try the key {secret}", text=secret * 3)

    assert outcome.result == secret * 3
    kept = b"".join(p.read_bytes() for p in (tmp_path / ".agent").rglob("*") if p.is_file())
    assert secret.encode() not in kept


@pytest.mark.parametrize("text", ["\ud800", "long " * 1000 + "\udc80"])
async def test_text_that_is_no_unicode_is_refused_and_recorded(
    opened: Callable[..., Session], tmp_path: Path, text: str
) -> None:
    with opened() as session:
        outcome = await session.call("demo.echo", WHY, text=text)
        nested = await session.call("demo.echo", WHY, text=[text])

    assert outcome.fault is not None
    assert nested.fault is not None
    assert {outcome.fault.code, nested.fault.code} == {"INVALID_ARGS"}
    assert types(tmp_path)[1:-1] == ["tool_call", "tool_error"] * 2
    assert verify(os.fspath(tmp_path / ".agent" / "sessions" / "s")).ok


async def test_long_arguments_are_kept_beside_the_journal(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    with opened() as session:
        await session.call("demo.echo", WHY, text="long " * 5000)

    logged = entries(tmp_path)[1].fields["args"]["text"]
    assert logged["chars"] == 25_000
    kept = tmp_path / ".agent" / "sessions" / "s" / "tool" / "demo" / "call-001.args.json"
    assert kept.read_text("utf-8").count("long ") == 5000


async def test_calls_made_together_are_paired_with_their_outcomes(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    policy = Policy(quotas=Quotas(calls_per_turn=None))
    with opened(policy=policy) as session:
        calls = [session.call("demo.echo", WHY, text=str(number)) for number in range(50)]
        outcomes = await asyncio.gather(*calls)

    assert [outcome.result for outcome in outcomes] == [str(number) for number in range(50)]
    assert len({outcome.call_id for outcome in outcomes}) == 50
    assert verify(os.fspath(tmp_path / ".agent" / "sessions" / "s")).ok


async def test_a_strict_session_refuses_weak_reasons(opened: Callable[..., Session]) -> None:
    with opened(policy=Policy(why=WhyPolicy.STRICT)) as session:
        outcome = await session.call("demo.echo", "because I need it", text="x")

    assert outcome.fault is not None
    assert outcome.fault.code == "MISSING_WHY"


@tool("demo.any")
async def anything(data: Any = None) -> str:
    """Take anything."""
    return type(data).__name__


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


NOT_JSON: dict[str, Any] = {
    "bytes": b"\xff",
    "set": {1},
    "object": object(),
    "inner": [{"a": object()}],
    "keys": {1: 2, "a": 3},
    "surrogate": "\ud800",
    "long int": 10**5000,
    "deep": _nested(3000),
}


@pytest.mark.requirement("gate:wrong-type")
@pytest.mark.parametrize("name", NOT_JSON)
async def test_what_is_not_json_is_refused_and_recorded(tmp_path: Path, name: str) -> None:
    value = NOT_JSON[name]
    calls = [
        Call("demo.any", {"why": WHY, "data": value}),
        Call("demo.any", {"why": value}),
        Call("demo.any", {"why": WHY, "other": value}),
        Call("demo.any", value),
        Call("demo.none", {"why": WHY, "data": value}),
    ]
    with Session(tmp_path, [anything], session="s", durable=False) as session:
        outcomes = [await session.perform(call) for call in calls]

    assert next(outcome.fault.code for outcome in outcomes if outcome.fault) == "INVALID_ARGS"
    assert all(outcome.fault and outcome.fault.suggestion for outcome in outcomes[2:])
    entries = list(read_entries(tmp_path / ".agent/sessions/s"))
    assert sum(entry.type == "tool_call" for entry in entries) == len(calls)
    assert verify(tmp_path / ".agent/sessions/s").ok
    Session(tmp_path, [anything], session="s", durable=False).close()


@pytest.mark.requirement("gate:loops")
async def test_refused_calls_are_no_repetitions_for_whoever_continues_the_session(
    tmp_path: Path,
) -> None:
    for _ in range(7):
        with Session(tmp_path, [echo], session="s", durable=False) as session:
            outcome = await session.perform(Call("demo.echo", {"text": "hi"}))
            assert outcome.fault
            assert outcome.fault.code == "MISSING_WHY"

    with Session(tmp_path, [echo], session="s", durable=False) as session:
        assert (await session.call("demo.echo", WHY, text="hi")).ok


@tool("demo.programs", effects=[Effect.EXECUTE])
async def programs(workspace: str) -> int:
    """Block the event loop until a program has made a call of the same session."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            other = Session(workspace, [echo], session="s", durable=False)
            status = 0 if asyncio.run(_echoed(other)) else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def _echoed(session: Session) -> bool:
    outcome = await session.call("demo.echo", WHY, text="from the child")
    session.close()
    return outcome.ok


async def test_a_program_that_a_call_runs_can_make_calls_of_the_same_session(
    tmp_path: Path,
) -> None:
    policy = Policy(rules=(Rule(Verdict.ALLOW, "demo.programs"),))
    with Session(tmp_path, [programs], session="s", policy=policy, durable=False) as session:
        outcome = await session.call("demo.programs", WHY, workspace=str(tmp_path))

    assert outcome.fault is None
    assert outcome.result == 0


@pytest.mark.requirement("gate:loops")
async def test_two_calls_by_turns_stay_stopped_until_something_else_is_tried(
    opened: Callable[..., Session],
) -> None:
    with opened() as session:
        codes = []
        for number in range(30):
            outcome = await session.call("demo.echo", WHY, text="ab"[number % 2])
            codes.append(outcome.fault.code if outcome.fault else "")
        other = await session.call("demo.echo", WHY, text="c")
        again = await session.call("demo.echo", WHY, text="a")

    assert codes == [""] * 10 + ["QUOTA_EXCEEDED"] * 20
    assert other.ok
    assert again.ok


async def test_of_a_reason_that_is_far_too_long_the_journal_keeps_the_beginning(
    opened: Callable[..., Session], tmp_path: Path
) -> None:
    with opened() as session:
        outcome = await session.call("demo.echo", "Find " + "x" * 1_000_000, text="a")

    assert outcome.fault is not None
    assert "1000005 characters" in outcome.fault.message
    (made,) = (entry for entry in entries(tmp_path) if entry.type == "tool_call")
    assert len(made.fields["args"]["why"]) == len(made.narrative) == 2_000
