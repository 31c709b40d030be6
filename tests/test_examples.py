"""What the documents and examples show is run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("page", ["docs/howto.md", "docs/reference.md"])
def test_what_the_documents_show_of_agent_files_has_no_error(page: str, tmp_path: Path) -> None:
    snippets = blocks(HERE / page, "xml")
    assert snippets
    for function in blocks(HERE / "docs" / "howto.md", "python"):
        (tmp_path / "tools.py").write_text(function, "utf-8")
    for number, snippet in enumerate(snippets):
        (tmp_path / f"{number}.chatmd").write_text(snippet, "utf-8")
    done = subprocess.run(
        [os.path.join(BIN, "whence"), "check", *(f"{n}.chatmd" for n in range(len(snippets)))],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout


def test_the_script_of_answers_in_the_how_to_runs(tmp_path: Path) -> None:
    *_, script = blocks(HERE / "docs" / "howto.md", "yaml")
    (tmp_path / "answers.yaml").write_text(script, "utf-8")
    (tmp_path / "note.txt").write_text("Buy milk.\n", "utf-8")
    (tmp_path / "agent.chatmd").write_text('<tool name="fs.read"/>\n', "utf-8")
    command = [
        os.path.join(BIN, "whence"), "run", "agent.chatmd", "Fix the typo",
        "--model", "script/answers.yaml", "--ephemeral",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "Buy milk." in done.stdout


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


@pytest.mark.requirement("serve:example")
def test_the_example_of_a_served_directory_is_called_by_an_agent_and_by_a_program(
    tmp_path: Path,
) -> None:
    here = tmp_path / "serve"
    shutil.copytree(HERE / "examples" / "serve", here)
    (here / "notes.md").write_text("The hash chain is in docs.\n")
    (here / "librarian.yaml").write_text(
        "- calls: [{tool: search.lexical, args: {query: hash chain, why: Find the passage}}]\n"
        "- They are in {outcome}\n"
    )
    (here / "desk.yaml").write_text(
        "- calls: [{tool: librarian, args: {question: Where?, why: The files know}}]\n"
        "- The librarian says {outcome}\n"
    )
    path = {"PATH": f"{BIN}:{os.environ['PATH']}", "WHENCE_MODEL": "script/librarian.yaml"}
    run = ["whence", "run", "desk.chatmd", "Where is the hash chain?", "--ephemeral"]
    done = subprocess.run(
        [*run, "--model", "script/desk.yaml", "--allow", "librarian"],
        cwd=here, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "notes.md" in done.stdout

    declared = json.loads((here / "mcp.json").read_text("utf-8"))["mcpServers"]["project"]
    info = {"name": "test", "version": "1"}
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    asked = {"name": "librarian", "arguments": {"question": "Where?"}}
    said: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": greeting},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": asked},
    ]
    served = subprocess.run(
        [declared["command"], *declared["args"]],
        input="".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in said),
        cwd=here, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **path},
    )  # fmt: skip
    assert served.returncode == 0, served.stderr
    assert "notes.md" in served.stdout.splitlines()[-1]


def test_the_patches_that_the_tools_page_shows_apply(tmp_path: Path) -> None:
    patch, search = (
        next(block for block in blocks(HERE / "docs" / "tools.md", "") if block.startswith(begun))
        for begun in ("*** Begin Patch", "<<<<<<< SEARCH")
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "shop.py").write_text(
        "class Cart:\n    def total(self):\n        items = self.items\n        return sum(items)\n"
    )
    (tmp_path / "old.txt").write_text("old\n")
    (tmp_path / "notes.txt").write_text("the lines as they are\n")
    calls = {"apply_diff": {"path": "notes.txt", "diff": search}, "apply_patch": {"patch": patch}}
    for tool, arguments in calls.items():
        done = subprocess.run(
            [os.path.join(BIN, "whence"), "call", tool, "--catalog", "roo"],
            input=json.dumps({**arguments, "why": "Try what the manual shows"}),
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
    assert "item.price" in (tmp_path / "src" / "shop.py").read_text("utf-8")
    assert sorted(path.name for path in tmp_path.glob("*")) == [".agent", "archive", "docs", "src"]
