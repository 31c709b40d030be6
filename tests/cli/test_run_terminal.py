"""`whence run` at a terminal: questions, signals, a line that says what is waited for."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import WHENCE, Command
from tests.cli.terminal import Act, Shown, in_terminal

WHY = "Prove it at a terminal"
LONG = "A reason that goes on and on, far beyond the last column of any terminal that people use"
TOOLS = """\
import asyncio, time

def one() -> str:
    "One."
    return "1"

def two() -> str:
    "Two."
    return "2"

def blocking() -> str:
    "Sleep where nobody can wake it."
    open("started", "w").close()
    time.sleep(600)
    return ""

async def hanging() -> str:
    "Sleep."
    open("started", "w").close()
    await asyncio.sleep(600)
    return ""

async def stubborn() -> str:
    "Sleep on."
    open("started", "w").close()
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            open("asked", "w").close()
"""
DECLARED = "".join(
    f'<tool name="{name}" python="tools.py:{name}"/>\n'
    for name in ("one", "two", "blocking", "hanging", "stubborn")
)


def agent(whence: Command, answers: list[object]) -> Path:
    (whence.workspace / "tools.py").write_text(TOOLS, "utf-8")
    (whence.workspace / "agent.yaml").write_text(yaml.safe_dump(answers), "utf-8")
    path = whence.workspace / "agent.chatmd"
    path.write_text(f'<config model="script/agent.yaml"/>\n{DECLARED}', "utf-8")
    return path


def calls(*names: str, why: str = WHY) -> dict[str, object]:
    return {"calls": [{"tool": name, "args": {"why": f"{why} ({name})"}} for name in names]}


def run(whence: Command, *arguments: str, acts: list[tuple[str, Act]], columns: int = 80) -> Shown:
    command = [WHENCE, "run", "agent.chatmd", "go", *arguments]
    return in_terminal(command, whence.workspace, acts, columns=columns)


@pytest.mark.requirement("run:questions")
def test_questions_about_calls_of_one_turn_come_one_after_the_other(whence: Command) -> None:
    agent(whence, [calls("one", "two"), "end"])
    shown = run(whence, acts=[("[N]o: ", b"y\n"), ("[N]o: ", b"y\n")])

    assert shown.code == 0
    text = "\n".join(shown.lines)
    first, second = (text.index(f"why:    {WHY} ({name})") for name in ("one", "two"))
    assert first < text.index("[N]o: y") < second
    assert text.index("✓ one") > text.rindex("[N]o: y"), "a line stands in the middle of a question"
    assert shown.lines[-2:] == ["end", ""]


@pytest.mark.requirement("run:questions")
def test_an_answer_for_the_session_holds_for_the_question_that_waits_behind_it(
    whence: Command,
) -> None:
    agent(whence, [calls("one", "one"), "end"])
    shown = run(whence, acts=[("[N]o: ", b"s\n")])
    assert shown.code == 0
    assert "\n".join(shown.lines).count("[N]o: ") == 1


@pytest.mark.requirement("run:ctrl-c")
@pytest.mark.parametrize("tool", ["blocking", "hanging"])
def test_ctrl_c_ends_a_run_whatever_its_tool_does(whence: Command, tool: str) -> None:
    path = agent(whence, [{"say": "Working", **calls(tool)}])
    started = whence.workspace / "started"

    def interrupt(_process: object) -> bytes:
        _wait_for(started)
        return b""

    shown = run(
        whence, "--allow", tool, acts=[(f"{tool}: {WHY}", interrupt), ("", b"\x03")]
    )  # fmt: skip
    assert shown.code == 130
    assert shown.lines[-2:] == ["whence run: interrupted", ""]
    _is_settled(whence, path)


@pytest.mark.requirement("run:ctrl-c")
def test_a_second_ctrl_c_does_not_wait_for_a_tool_that_goes_on(whence: Command) -> None:
    path = agent(whence, [calls("one", "stubborn")])
    running = subprocess.Popen(
        [WHENCE, "run", "agent.chatmd", "go", "--allow", "one", "--allow", "stubborn"],
        cwd=whence.workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _wait_for(whence.workspace / "started")
    running.send_signal(signal.SIGINT)
    _wait_for(whence.workspace / "asked")
    for _ in range(3):
        running.send_signal(signal.SIGINT)
        time.sleep(0.05)  # two signals at once are one
    try:
        running.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        running.kill()  # what ignores being cancelled can only be ended from outside
        running.communicate()
    _is_settled(whence, path)


@pytest.mark.requirement("run:signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["term", "hup"])
def test_a_signal_ends_a_run_and_its_transcript_resumes(
    whence: Command, number: signal.Signals
) -> None:
    path = agent(whence, [calls("hanging")])
    running = subprocess.Popen(
        [WHENCE, "run", "agent.chatmd", "go", "--allow", "hanging"], cwd=whence.workspace,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _wait_for(whence.workspace / "started")
    running.send_signal(number)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 128 + number
    assert b"Traceback" not in err
    _is_settled(whence, path)


@pytest.mark.requirement("run:ctrl-c")
def test_ctrl_c_at_a_question_ends_the_run(whence: Command) -> None:
    path = agent(whence, [calls("one")])
    shown = run(whence, acts=[("[N]o: ", b"\x03")])
    assert shown.code == 130
    _is_settled(whence, path)


@pytest.mark.requirement("run:progress")
def test_no_line_is_wider_than_the_terminal_and_the_progress_line_goes_away(
    whence: Command,
) -> None:
    agent(whence, [calls("one", why=LONG), calls("one", "two", why="界" * 60), "end"])
    options = ("--allow", "one", "--deny", "two", "--no-parallel-tool-calls")
    shown = run(whence, *options, acts=[], columns=50)

    assert "… waiting for the model" in shown.raw
    on_screen = [line for line in shown.lines if line]
    assert [line[:5] for line in on_screen] == ["✓ one", "✓ one", "✗ two", "end"]
    for line in on_screen:
        assert sum(2 if char == "界" else 1 for char in line) <= 50, line
    assert on_screen[0].endswith("ms)")
    assert "PERMISSION_DENIED" in on_screen[2]


@pytest.mark.requirement("run:progress")
def test_a_terminal_that_does_not_know_our_characters_still_shows_the_run(
    whence: Command,
) -> None:
    agent(whence, [calls("one"), "naïve — ✓"])
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    ran = subprocess.run(
        [WHENCE, "run", "agent.chatmd", "go", "--allow", "one"], cwd=whence.workspace, env=env,
        capture_output=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.decode("latin-1") == "naïve ? ?\n"
    assert ran.stderr.decode("latin-1").startswith("+ one")


@pytest.mark.requirement("run:closed-pipe")
def test_a_reader_that_goes_away_ends_the_run_and_leaves_its_files_whole(whence: Command) -> None:
    path = agent(whence, [calls("one"), calls("two"), "end"])
    read, write = os.pipe()
    os.close(read)
    try:
        ran = subprocess.run(
            [WHENCE, "run", "agent.chatmd", "go", "--json", "--allow", "one", "--allow", "two"],
            cwd=whence.workspace, stdout=write, stderr=subprocess.PIPE, check=False, timeout=60,
        )  # fmt: skip
    finally:
        os.close(write)
    assert ran.returncode == 1
    assert b"Traceback" not in ran.stderr
    assert b"bug" not in ran.stderr
    _is_settled(whence, path)


def _is_settled(whence: Command, path: Path) -> None:
    """Every call has its outcome, the file has no problems, and the next run goes on."""
    text = path.read_text("utf-8")
    assert text.count("<tool_call ") == text.count("<tool_response ")
    checked = whence("check", path.name)
    assert checked.code == 0, checked.out
    (whence.workspace / "agent.yaml").write_text(yaml.safe_dump(["resumed"]), "utf-8")
    assert whence("run", path.name, "go on").out == "resumed\n"
    assert whence("log", "verify").code == 0


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.005)


@pytest.mark.requirement("run:progress")
def test_the_time_is_shown_while_the_model_says_nothing(whence: Command) -> None:
    agent(whence, [])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        shown = in_terminal(
            [WHENCE, "run", "agent.chatmd", "go", "--model", "openai-chat/m"],
            whence.workspace, [("model  2 s", b"\x03")],
            env={**os.environ, "OPENAI_BASE_URL": url},
        )  # fmt: skip

    assert shown.code == 130
    assert [line for line in shown.lines if line] == ["whence run: interrupted"]
