"""Commands as tools: words, never a shell, in the sandbox."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.loop.agents import Heard, approving, call, load, write_agent
from whence.execute.process import Processes
from whence.execute.sandbox import choose
from whence.execute.sandbox.launched import LimitsOnly
from whence.loop.live import MOST_SHOWN
from whence.loop.news import CallEnded, Output
from whence.shapes.call import Outcome

pytestmark = pytest.mark.anyio


async def outcome(folder: Path, declaration: str, *, yes: bool = True, **args: Any) -> Outcome:
    """What one call of a declared command comes to."""
    path = write_agent(folder, [{"calls": [call("it", **args)]}, "end"], declaration)
    heard = Heard()
    await load(path, ephemeral=True, approver=approving(yes=yes)).run("go", on=heard)
    (ended,) = heard.of(CallEnded)
    result: Outcome = ended.outcome
    return result


@pytest.mark.requirement("shell:words")
async def test_arguments_reach_the_program_as_words_and_nothing_else(tmp_path: Path) -> None:
    hostile = ["a b", "$(touch hit)", "`touch hit`", "; touch hit", "| touch hit", "*", "~", "\n"]
    done = await outcome(
        tmp_path, """<tool name="it" command="printf '[%s]' fixed%20word"/>""", arguments=hostile
    )
    assert done.result == "[fixed][word]" + "".join(f"[{word}]" for word in hostile)
    assert not (tmp_path / "hit").exists()


@pytest.mark.requirement("shell:schema")
async def test_the_schema_is_a_list_of_words(tmp_path: Path) -> None:
    path = write_agent(tmp_path, ["end"], '<tool name="it" command="echo"/>')
    (tool,) = load(path).tools
    assert tool.input_schema["required"] == ["arguments"]
    refused = await outcome(tmp_path, '<tool name="it" command="echo"/>', arguments="x")
    assert refused.fault is not None
    assert refused.fault.code == "INVALID_ARGS"


@pytest.mark.requirement("shell:params")
async def test_typed_parameters_fill_words_and_cannot_become_options(tmp_path: Path) -> None:
    declared = (
        '<tool name="it" command="printf %s-%s {first} {second}">'
        '<param name="first" type="string" required/><param name="second" type="integer"/></tool>'
    )
    done = await outcome(tmp_path, declared, first="a b; c", second=3)
    assert done.result == "a b; c-3"
    option = await outcome(tmp_path, declared, first="--help", second=3)
    assert option.fault is not None
    assert option.fault.code == "INVALID_ARGS"


@pytest.mark.requirement("shell:output")
async def test_output_comes_in_order_with_the_exit_status(tmp_path: Path) -> None:
    (tmp_path / "both.sh").write_text("echo one; echo two >&2; echo three; exit 3\n", "utf-8")
    done = await outcome(tmp_path, '<tool name="it" command="sh both.sh"/>', arguments=[])
    assert done.ok
    assert done.result == "one\ntwo\nthree\n[exit status 3]"
    empty = await outcome(tmp_path, '<tool name="it" command="true"/>', arguments=[])
    assert empty.result == "(no output)"
    killed = await outcome(tmp_path, '<tool name="it" command="sh -c"/>', arguments=["kill -9 $$"])
    assert killed.result in ("[signal 9]", "[exit status 137]")


@pytest.mark.requirement("shell:limits")
async def test_long_output_is_cut_for_the_model_and_kept_whole(tmp_path: Path) -> None:
    done = await outcome(tmp_path, '<tool name="it" command="seq"/>', arguments=["1", "20000"])
    assert isinstance(done.result, str)
    assert done.truncated
    assert len(done.result) <= 10_100
    assert "…truncated" in done.result
    assert done.result.startswith("1\n2\n")
    assert done.result.endswith("20000\n")
    assert done.artifact is not None
    kept = (tmp_path / done.artifact).read_text("utf-8")
    assert kept == "".join(f"{n}\n" for n in range(1, 20_001))
    short = await outcome(
        tmp_path, '<tool name="it" command="seq" max_output="100"/>', arguments=["1", "1000"]
    )
    assert isinstance(short.result, str)
    assert len(short.result) <= 200


@pytest.mark.requirement("shell:timeout")
async def test_a_command_ends_at_its_time_with_all_that_it_started(tmp_path: Path) -> None:
    (tmp_path / "slow.sh").write_text("echo begun\n(sleep 60; touch late) &\nsleep 60\n", "utf-8")
    done = await outcome(
        tmp_path, '<tool name="it" command="sh slow.sh" timeout="1s"/>', arguments=[]
    )
    assert done.fault is not None
    assert done.fault.code == "TIMEOUT"
    assert done.fault.details["output"] == "begun\n"


async def test_output_is_shown_while_it_runs(tmp_path: Path) -> None:
    path = write_agent(
        tmp_path, [{"calls": [call("it", arguments=["1", "3"])]}, "end"],
        '<tool name="it" command="seq"/>',
    )  # fmt: skip
    heard = Heard()
    await load(path, approver=approving()).run("go", on=heard)
    assert "".join(one.text for one in heard.of(Output)) == "1\n2\n3\n"


@pytest.mark.requirement("shell:live")
@pytest.mark.parametrize(
    ("catalog", "tool", "args"),
    [
        ("moollm", "terminal.run", {"cmd": ["printf", "ä\\nb\\n"]}),
        ("roo", "execute_command", {"command": "echo ä; echo b >&2"}),
    ],
    ids=["terminal", "line"],
)
async def test_output_of_built_in_tools_is_shown_while_it_runs(
    tmp_path: Path, catalog: str, tool: str, args: dict[str, Any]
) -> None:
    declared = f'<tool name="{tool}" catalog="{catalog}"/>'
    path = write_agent(tmp_path, [{"calls": [call(tool, **args)]}, "end"], declared)
    heard = Heard()
    await load(path, ephemeral=True, approver=approving()).run("go", on=heard)
    (ended,) = heard.of(CallEnded)
    assert ended.outcome.fault is None
    assert "".join(one.text for one in heard.of(Output)) == "ä\nb\n"
    assert {one.call_id for one in heard.of(Output)} == {ended.outcome.call_id}


@pytest.mark.requirement("shell:live")
async def test_a_flood_is_shown_live_up_to_a_bound(tmp_path: Path) -> None:
    path = write_agent(
        tmp_path, [{"calls": [call("it", arguments=["-c", "5000000", "/dev/zero"])]}, "end"],
        '<tool name="it" command="head"/>',
    )  # fmt: skip
    heard = Heard()
    await load(path, ephemeral=True, approver=approving()).run("go", on=heard)
    shown = "".join(one.text for one in heard.of(Output))
    assert shown == "\0" * MOST_SHOWN + "\n…truncated\n"


@pytest.mark.requirement("shell:required")
async def test_a_command_that_must_be_isolated_is_refused_where_it_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = LimitsOnly()
    monkeypatch.setattr(choose, "best_sandbox", lambda: limits)
    demanding, modest = (
        f'<tool name="it" command="touch made" sandbox="{said}"/>' for said in ("required", "best")
    )
    refused = await outcome(tmp_path, demanding, arguments=[])
    assert refused.fault is not None
    assert refused.fault.code == "PERMISSION_DENIED"
    assert refused.fault.details["isolation"]["filesystem"] == "none"
    assert not (tmp_path / "made").exists()
    run = await outcome(tmp_path, modest, arguments=[])
    assert run.isolation == {"filesystem": "none", "network": "none", "processes": "partial"}
    assert (tmp_path / "made").exists()


async def test_bytes_that_are_no_text_and_programs_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "odd.bin").write_bytes(b"ok \xff\xfe\x00 end\n")
    odd = await outcome(tmp_path, '<tool name="it" command="cat"/>', arguments=["odd.bin"])
    assert odd.result == "ok ��\x00 end\n"
    missing = await outcome(tmp_path, '<tool name="it" command="no-such-thing"/>', arguments=[])
    assert missing.fault is not None
    assert missing.fault.code == "UNAVAILABLE"
    assert "no-such-thing" in missing.fault.message


@pytest.mark.requirement("shell:environment")
async def test_only_declared_variables_and_the_declared_directory_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    monkeypatch.setenv("GREETING", "hello")
    (tmp_path / "below").mkdir()
    done = await outcome(
        tmp_path, '<tool name="it" command="env" env="GREETING" cwd="below"/>', arguments=[]
    )
    assert isinstance(done.result, str)
    assert "GREETING=hello" in done.result
    assert "hush" not in done.result
    where = await outcome(tmp_path, '<tool name="it" command="pwd" cwd="below"/>', arguments=[])
    assert isinstance(where.result, str)
    assert where.result.rstrip().endswith(f"{os.sep}below")


@pytest.mark.requirement("shell:asks")
async def test_a_command_runs_unasked_only_where_the_kernel_keeps_it_apart(tmp_path: Path) -> None:
    isolation = Processes().isolation()
    done = await outcome(tmp_path, '<tool name="it" command="echo"/>', yes=False, arguments=["hi"])
    if isolation.full:
        assert done.result == "hi\n"
        assert done.isolation == isolation.as_json()
    else:
        assert done.fault is not None
        assert done.fault.code == "PERMISSION_DENIED"
    network = await outcome(
        tmp_path, '<tool name="it" command="echo" network="example.org"/>', yes=False,
        arguments=["hi"],
    )  # fmt: skip
    assert network.fault is not None
    assert network.fault.code == "PERMISSION_DENIED"
