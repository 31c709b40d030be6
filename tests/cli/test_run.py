"""`whence run`, as a user runs it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import WHENCE, Command

READ = '<tool name="fs.read"/>\n'
WRITE = '<tool name="fs.write"/>\n'
WHY = "Prove it through the command line"


def agent(whence: Command, answers: list[object], head: str = READ, name: str = "agent") -> Path:
    (whence.workspace / f"{name}.yaml").write_text(yaml.safe_dump(answers), "utf-8")
    path = whence.workspace / f"{name}.chatmd"
    path.write_text(f'<config model="script/{name}.yaml"/>\n{head}', "utf-8")
    return path


def read(path: str) -> dict[str, object]:
    return {"tool": "fs_read", "args": {"path": path, "why": WHY}}


@pytest.mark.requirement("run:stdout")
def test_the_answer_goes_to_stdout_and_each_call_with_its_reason_to_stderr(whence: Command) -> None:
    (whence.workspace / "a.txt").write_text("forty-two", "utf-8")
    agent(whence, [{"say": "Let me see.", "calls": [read("a.txt")]}, "It is forty-two."])
    ran = whence("run", "agent.chatmd", "What is it?")

    assert (ran.code, ran.out) == (0, "It is forty-two.\n")
    comment, line = ran.err.splitlines()
    assert comment == "Let me see."
    assert line.startswith(f"✓ fs.read  {WHY}  (")
    assert line.endswith(("ms)", "s)"))
    assert whence("log", "verify").code == 0
    quiet = whence("run", "agent.chatmd", "--quiet", "Again?")
    assert (quiet.out, quiet.err) == ("It is forty-two.\n", "")


def test_calls_of_a_turn_can_be_made_one_after_the_other(whence: Command) -> None:
    agent(whence, [{"calls": [read("a.txt"), read("b.txt")]}, "done"])
    ran = whence("run", "agent.chatmd", "go", "--json", "--no-parallel-tool-calls")
    kinds = [json.loads(line)["type"] for line in ran.out.splitlines()]

    assert [kind for kind in kinds if kind in ("call", "outcome")] == ["call", "outcome"] * 2
    assert whence("run", "agent.chatmd", "again", "--parallel-tool-calls").code == 0


@pytest.mark.requirement("run:json")
def test_events_come_as_lines_of_json(whence: Command) -> None:
    (whence.workspace / "a.txt").write_text("x", "utf-8")
    agent(whence, [{"calls": [read("a.txt"), read("no.txt")]}, "done"])
    ran = whence("run", "agent.chatmd", "go", "--json", "--ephemeral")

    events = [json.loads(line) for line in ran.out.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds.count("call") == kinds.count("outcome") == 2
    assert kinds[-1] == "finished"
    assert events[-1]["result"]["text"] == "done"
    failed = next(event for event in events if event.get("ok") is False)
    assert failed["error"]["code"] == "NOT_FOUND"


def test_input_comes_from_stdin_or_from_the_file(whence: Command) -> None:
    path = agent(whence, ["heard"])
    assert whence("run", "agent.chatmd", "-", stdin="from a pipe").out == "heard\n"
    assert "from a pipe" in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8").replace("<user>\n\n</user>", "<user>typed</user>"))
    assert whence("run", "agent.chatmd").out == "heard\n"
    ran = whence("run", "agent.chatmd", "--ephemeral")
    assert ran.code == 2 or ran.out == "heard\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.chatmd", "x"], "no such file"),
        (["bad.chatmd", "x"], "bad.chatmd:1:1"),
        (["agent.chatmd", "x", "--model", "nobody/nothing"], "nobody"),
        (["agent.chatmd", "x", "--max-turns", "0"], "--max-turns is 0"),
        (["agent.chatmd", "x", "--mode", "nosuch"], "nosuch"),
        (["agent.chatmd", "x", "--allow", "nosuch(x)"], "nosuch"),
        (["agent.chatmd", "x", "--model", "script/none.yaml"], "none.yaml"),
        (["agent.chatmd", "x", "--model", "script/bad.yaml"], "not a list of answers"),
        (["agent.chatmd"], "asks nothing"),
        (["agent.chatmd", "x", "-o", "y.chatmd", "--ephemeral"], "exclude each other"),
    ],
    ids=[
        "no-file", "bad-file", "no-provider", "no-turns", "no-mode", "no-tool", "no-script",
        "bad-script", "no-question", "copy-and-none",
    ],
)  # fmt: skip
def test_what_cannot_be_run_says_why_in_two_lines(
    whence: Command, arguments: list[str], said: str
) -> None:
    agent(whence, ["x"])
    (whence.workspace / "bad.chatmd").write_text("<nonsense/>", "utf-8")
    (whence.workspace / "bad.yaml").write_text("a: 1", "utf-8")
    before = (whence.workspace / "agent.chatmd").read_bytes()
    ran = whence("run", *arguments)

    assert ran.code in (1, 2)
    assert said in ran.err
    assert len(ran.err.splitlines()) <= 3
    assert (whence.workspace / "agent.chatmd").read_bytes() == before


@pytest.mark.requirement("run:ctrl-c")
def test_ctrl_c_leaves_a_transcript_that_resumes(whence: Command) -> None:
    (whence.workspace / "slow.py").write_text(
        'import asyncio\n\nasync def slow() -> str:\n    "Take for ever."\n'
        '    open("started", "w").close()\n    await asyncio.sleep(600)\n    return ""\n'
    )
    call = {"tool": "slow", "args": {"why": WHY}}
    head = '<tool name="slow" python="slow.py:slow"/>\n'
    path = agent(whence, [{"say": "Working", "calls": [call]}, "resumed after {outcome}"], head)
    running = subprocess.Popen(
        [WHENCE, "run", "agent.chatmd", "go", "--allow", "slow", "--json"], cwd=whence.workspace,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _wait_for(whence.workspace / "started")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)

    assert running.returncode == 130
    assert b"Traceback" not in err
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["error"]["code"]) == ("failed", "CANCELLED")
    text = path.read_text("utf-8")
    assert text.count("<tool_call ") == text.count("<tool_response ") == 1
    assert whence("log", "verify").code == 0
    (whence.workspace / "agent.yaml").write_text(yaml.safe_dump(["resumed"]), "utf-8")
    assert whence("run", "agent.chatmd").out == "resumed\n"


@pytest.mark.requirement("run:kill")
def test_a_run_that_is_killed_at_any_point_goes_on(whence: Command) -> None:
    writes = [
        {"calls": [{"tool": "fs_write", "args": {"path": f"{n}.txt", "content": "x", "why": WHY}}]}
        for n in range(30)
    ]
    chance = random.Random(7)
    for attempt in range(12):
        path = agent(whence, [*writes, "end"], WRITE, name=f"a{attempt}")
        running = subprocess.Popen(
            [WHENCE, "run", path.name, "go", "--session", f"s{attempt}"], cwd=whence.workspace,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        log = whence.workspace / ".agent" / "sessions" / f"s{attempt}" / "session-log.md"
        _wait_for(log)
        time.sleep(chance.random() / 8)  # the point itself: anywhere in the run
        running.kill()
        running.wait()

        (whence.workspace / f"{path.stem}.yaml").write_text(yaml.safe_dump(["back"]), "utf-8")
        resumed = whence("run", path.name, "go on", "--session", f"s{attempt}")
        assert resumed.out == "back\n", resumed.err
        assert whence("log", "verify", "--session", f"s{attempt}").code == 0
        assert whence("check", path.name).code == 0
        text = path.read_text("utf-8")
        assert text.count("<tool_call ") == text.count("<tool_response ")


def test_steering_reaches_the_model(whence: Command) -> None:
    (whence.workspace / "wait.py").write_text(
        'import asyncio, os\n\nasync def wait() -> str:\n    "Wait for the word."\n'
        '    while not os.path.exists("said"):\n        await asyncio.sleep(0.02)\n'
        '    await asyncio.sleep(0.05)\n    return "ok"\n'
    )
    head = '<tool name="wait" python="wait.py:wait"/>\n'
    path = agent(whence, [{"calls": [{"tool": "wait", "args": {"why": WHY}}]}, "fine"], head)
    running = subprocess.Popen(
        [WHENCE, "run", "agent.chatmd", "go", "--steer", "--allow", "wait"], cwd=whence.workspace,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdin is not None
    running.stdin.write("rather tomorrow\nor the day after\nlater")
    running.stdin.flush()
    (whence.workspace / "said").touch()
    out, _ = running.communicate(timeout=30)
    assert out == "fine\n"
    assert "rather tomorrow" in path.read_text("utf-8")
    assert "or the day after" in path.read_text("utf-8"), "two lines may come at once"


def test_what_a_file_says_meanwhile_is_heard_at_once(whence: Command) -> None:
    path = agent(whence, ["fine"])
    (whence.workspace / "said.txt").write_bytes("one\n\nzw\u00f6lf\n".encode() + b"\xff\n")
    with (whence.workspace / "said.txt").open("rb") as said:
        ran = subprocess.run(
            [WHENCE, "run", "agent.chatmd", "go", "--steer"], cwd=whence.workspace, stdin=said,
            capture_output=True, check=False,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "zwölf" in path.read_text("utf-8")


def test_input_that_is_no_text_is_taken_as_far_as_it_goes(whence: Command) -> None:
    agent(whence, ["heard"])
    ran = subprocess.run(
        [WHENCE, "run", "agent.chatmd", "-"], cwd=whence.workspace, input=b"caf\xe9",
        capture_output=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, b"heard\n")
    odd = subprocess.run(
        [WHENCE, "run", "agent.chatmd", b"caf\xe9"], cwd=whence.workspace, capture_output=True,
        check=False,
    )  # fmt: skip
    assert (odd.returncode, odd.stdout) == (0, b"heard\n"), odd.stderr
    assert whence("check", "agent.chatmd").code == 0
    assert "caf\N{REPLACEMENT CHARACTER}" in (whence.workspace / "agent.chatmd").read_text("utf-8")


@pytest.mark.requirement("run:json")
def test_a_run_that_fails_says_so_in_its_last_event(whence: Command) -> None:
    agent(whence, [{"calls": [read("a.txt")]}])
    ran = whence("run", "agent.chatmd", "go", "--json", "--max-turns", "1")
    assert ran.code == 1
    last = json.loads(ran.out.splitlines()[-1])
    assert last["type"] == "failed"
    assert last["error"]["code"] == "BUDGET_EXCEEDED"
    assert "1 of 1 turns" in ran.err


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not os.path.exists(path):
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.005)
