"""What the documents and examples show is run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
BIN = os.path.dirname(sys.executable)


def blocks(path: Path, language: str) -> list[str]:
    text = path.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/reference.md"])
def test_python_in_the_documents_runs(page: str, tmp_path: Path) -> None:
    snippets = blocks(HERE / page, "python")
    assert snippets
    for snippet in snippets:
        done = subprocess.run(
            [sys.executable, "-c", snippet],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "12.0\n"), done.stderr


def test_the_agent_file_of_the_readme_has_no_problem(tmp_path: Path) -> None:
    (snippet,) = blocks(HERE / "README.md", "xml")
    (tmp_path / "agent.chatmd").write_text(snippet, "utf-8")

    for arguments in (["check", "--strict"], ["show"], ["fmt", "--diff"], ["tools"]):
        done = subprocess.run(
            [os.path.join(BIN, "whence"), *arguments, "agent.chatmd"],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0 or arguments[0] == "fmt", done.stdout + done.stderr


def test_the_tutorial_works_command_by_command(tmp_path: Path) -> None:
    script = "\n".join(blocks(HERE / "docs" / "tutorial.md", ""))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "tea" in (tmp_path / "list.txt").read_text("utf-8")
    assert done.stdout.count('"ok": true') == 3
    assert done.stdout.count('"ok": false') == 1
    assert "Breakfast needs bread" in done.stdout
    assert "deny fs.write(*.txt)" in done.stdout or "the rule fs.write(*.txt)" in done.stdout
    assert "✓ shopping" in done.stdout
    assert "✗ shopping" in done.stdout


@pytest.mark.skipif(not (HERE / ".venv" / "bin" / "whence").exists(), reason="not installed here")
def test_the_tour_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", os.fspath(HERE / "examples" / "tour.sh")],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip

    assert "Traceback" not in done.stderr
    assert '"hunks_applied": 1' in done.stdout
    assert "Make the greeting name who it greets" in done.stdout
    assert "✗ tour" in done.stdout


@pytest.mark.skipif(not (HERE / ".venv" / "bin" / "whence").exists(), reason="not installed here")
def test_make_run_shows_the_embedded_model_with_real_calls(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", os.fspath(HERE / "examples" / "run.sh")],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    if "not installed" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("✓ fs.") + done.stderr.count("✓ search.") == 4
    assert "docs/decisions.md" in done.stdout
    assert "+- read the manual" in done.stdout
    assert "✓ first" in done.stdout


@pytest.mark.requirement("mcp:example")
def test_the_example_with_a_server_of_its_own_runs(tmp_path: Path) -> None:
    shutil.copytree(HERE / "examples" / "mcp", tmp_path / "mcp")
    (tmp_path / "answers.yaml").write_text(
        "- calls: [{tool: word_count, args: {text: one two three, why: Answer the question}}]\n"
        "- There are {outcome}\n"
    )
    done = subprocess.run(
        [
            os.path.join(BIN, "whence"), "run", "counting.chatmd", "How many?",
            "--model", f"script/{tmp_path}/answers.yaml", "--allow", "word_count",
        ],
        cwd=tmp_path / "mcp", capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "✓ word_count" in done.stderr
    assert "3" in done.stdout
    assert "word_count" in (tmp_path / "mcp" / ".agent" / "lock.yaml").read_text("utf-8")
