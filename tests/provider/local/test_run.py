"""Agent files on the embedded model, from the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

WHENCE = os.path.join(os.path.dirname(sys.executable), "whence")
ROOT = Path(__file__).parents[3]
FILE = """\
<config model="local"/>

<tool name="fs.ls"/>
<tool name="fs.read"/>
<tool name="fs.append"/>

<user>
</user>
"""


@pytest.fixture
def workspace(models: Path, tmp_path: Path) -> Path:
    (tmp_path / "agent.chatmd").write_text(FILE, "utf-8")
    (tmp_path / "notes.txt").write_text("bread\n", "utf-8")
    return tmp_path


def run(workspace: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [WHENCE, "run", "agent.chatmd", *arguments],
        cwd=workspace, capture_output=True, text=True, timeout=120, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.requirement("local:cautious")
def test_what_writes_asks_first_and_with_nobody_there_is_not_done(workspace: Path) -> None:
    done = run(workspace, "append 'milk' to notes.txt")

    assert done.returncode == 0
    assert "fs.append did not work" in done.stdout
    assert "needs approval" in done.stdout
    assert (workspace / "notes.txt").read_text("utf-8") == "bread\n"


@pytest.mark.requirement("local:cautious")
def test_what_was_allowed_is_done(workspace: Path) -> None:
    done = run(workspace, "append 'milk' to notes.txt", "--allow", "fs.append")

    assert done.returncode == 0, done.stderr
    assert (workspace / "notes.txt").read_text("utf-8") == "bread\nmilk"
    assert "Carry out the request “append 'milk' to notes.txt”" in done.stderr


@pytest.mark.requirement("local:cautious")
def test_an_agent_that_another_one_hands_its_work_to_asks_first_too(workspace: Path) -> None:
    (workspace / "helper.chatmd").write_text(FILE, "utf-8")
    (workspace / "agent.chatmd").write_text(
        '<config model="script/answers.yaml"/>\n'
        '<tool name="helper" agent="helper.chatmd" local/>\n',
        "utf-8",
    )
    given = {"why": "Have it written down", "input": "append 'milk' to notes.txt"}
    answers = [{"calls": [{"tool": "helper", "args": given}]}, "{outcome}"]
    (workspace / "answers.yaml").write_text(json.dumps(answers), "utf-8")

    done = run(workspace, "Write it down.")

    assert done.returncode == 0, done.stderr
    assert "needs approval" in done.stderr
    assert (workspace / "notes.txt").read_text("utf-8") == "bread\n"


def test_reading_asks_nobody_and_the_transcript_can_be_resumed(workspace: Path) -> None:
    first = run(workspace, "read notes.txt")
    second = run(workspace, "list the files here")

    assert (first.stdout, first.returncode) == ("bread\n", 0)
    assert "notes.txt" in second.stdout.splitlines()
    written = (workspace / "agent.chatmd").read_text("utf-8")
    assert written.count("<tool_call") == 2


def test_the_example_of_the_project_answers_with_real_calls(models: Path, tmp_path: Path) -> None:
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copy(ROOT / "examples" / "assistant.chatmd", tmp_path / "agent.chatmd")

    done = run(tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("✓") == 3, done.stderr
    assert "librarian.chatmd" in done.stdout
    assert "docs/decisions.md:" in done.stdout
    assert "(README.md:" in done.stdout


@pytest.mark.requirement("local:own-process")
def test_an_interrupt_ends_the_run_in_good_order(workspace: Path) -> None:
    names = [f"n{number}.txt" for number in range(40)]
    for name in names:
        (workspace / name).write_text("x\n", "utf-8")
    asked = " and then ".join(f"read {name}" for name in names)
    command = [WHENCE, "run", "agent.chatmd", asked]
    with subprocess.Popen(
        command, cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL, start_new_session=True, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)

    assert "Traceback" not in said
    assert process.returncode == 130
    assert "<tool_call" in (workspace / "agent.chatmd").read_text("utf-8")
