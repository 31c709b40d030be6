"""What people get wrong in their first hour: two lines say what it was and what to do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import WHENCE, Command
from tests.cli.terminal import in_terminal
from whence.cli.text import width_of

AGENT = '<config model="script/answers.yaml"/>\n<tool name="fs.read"/>\n<system>Help.</system>\n'


def agent(whence: Command, text: str = AGENT, answers: str = "- Here you are.\n") -> None:
    (whence.workspace / "agent.chatmd").write_text(text, "utf-8")
    (whence.workspace / "answers.yaml").write_text(answers, "utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "FILE"),
        (["run", "agent.chatmd", "--modle", "local"], "Did you mean --mode or --model?"),
        (["run", "agent.chatmd", "Read", "a.txt"], "quotes"),
        (["run", "agent.chatmd", "--max-turns", "many"], "'many'"),
        (["run", "agent.chatmd", ""], "INPUT is empty"),
        (["run", "agent.chatmd", "-"], "standard input was empty"),
        (["run", "agent.chatmd", "hello", "--catalog", "roo"], "--catalog"),
        (["log", "shwo"], "'shwo'"),
        (["log", "show", "--last", "few"], "'few' is no number of 1 or more"),
        (["models", "instal"], "'instal'"),
        (["runn", "agent.chatmd"], "`whence run`"),
        (["agent.chatmd"], "`whence run agent.chatmd`"),
        (["--verison"], "`whence --version`"),
        (["-C"], "-C needs a value"),
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_told_in_two_lines(
    whence: Command, arguments: list[str], said: str
) -> None:
    agent(whence)

    ran = whence(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "--help" in ran.err or "Did you mean" in ran.err or "Say what" in ran.err
    assert ran.err.count("\n") <= 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["new", "nowhere/agent.chatmd"], "'nowhere/agent.chatmd': No such file or directory"),
        (["run", "agent.chatmd", "hello", "-o", "nowhere/copy.chatmd"], "nowhere/copy.chatmd"),
        (["run", "agent.chatmd", "hello", "--model", "antropic/x"], "Did you mean anthropic/x?"),
        (["run", "agent.chatmd", "hello", "--model", "openai/"], "such as openai/NAME"),
        (["run", "agnet.chatmd", "hello"], "Did you mean agent.chatmd?"),
        (["tools", "zzz"], "`whence tools` lists them all."),
        (["log", "show", "--session", "nope"], "there is no session 'nope'"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_told_in_two_lines(
    whence: Command, arguments: list[str], said: str
) -> None:
    agent(whence)

    ran = whence(*arguments)

    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert "a bug" not in ran.err
    assert ran.err.count("\n") == 2


def test_explain_ends_with_what_decides(whence: Command) -> None:
    def last(*arguments: str) -> str:
        return whence("explain", *arguments).out.splitlines()[-1]

    assert last("fs.read", '{"path": "a"}') == "refused: MISSING_WHY: fs.read: why is missing"
    assert last("fs.raed", "{}") == "refused: NOT_FOUND: unknown tool 'fs.raed'"
    given = '{"path": "a", "why": "Learn what it says"}'
    assert last("fs.read", given, "--deny", "fs.read").startswith("refused: the rule fs.read")
    assert last("fs.read", given).startswith("allowed: a declared tool may read")


def test_help_may_stand_before_the_command(whence: Command) -> None:
    assert whence("help", "run").out == whence("run", "--help").out


def test_a_filter_that_matches_no_event_says_so(whence: Command) -> None:
    whence.call("fs.ls", path=".")

    ran = whence("log", "show", "--type", "tool_cal")

    assert (ran.code, ran.out) == (0, "")
    assert "'tool_cal'" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [["log", "show"], ["log", "verify"], ["models"], ["--help"], ["tools"]],
    ids=" ".join,
)
def test_output_that_cannot_show_every_character_is_no_failure(
    whence: Command, arguments: list[str]
) -> None:
    whence.call("fs.ls", path=".")

    ran = whence(*arguments, env={"PYTHONIOENCODING": "ascii"})

    assert ran.code == 0, ran.err
    assert ran.out.isascii()


def test_json_is_utf_8_whatever_the_terminal_speaks(whence: Command) -> None:
    whence.call("fs.ls", path=".", why="Prüfen, ob es ankommt")

    ran = whence("log", "show", "--format", "json", env={"PYTHONIOENCODING": "ascii"})

    assert "Prüfen" in ran.out


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"], ids=["stdin", "stdout", "stderr"])
def test_a_stream_that_is_closed_is_no_failure(whence: Command, closed: str) -> None:
    agent(whence)
    done = subprocess.run(
        ["sh", "-c", f'"{WHENCE}" run agent.chatmd hello --ephemeral {closed}'],
        cwd=whence.workspace, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "bug" not in done.stderr


def test_a_full_disk_behind_the_output_is_told(whence: Command) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [WHENCE, "tools"], cwd=whence.workspace, stdout=full, stderr=subprocess.PIPE,
            text=True, timeout=60, check=False,
        )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.startswith("whence tools: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_a_starter_file_is_written_when_the_questions_are_left_with_ctrl_d(tmp_path: Path) -> None:
    acts = [("spaces?", b"\x04"), ("to do?", b"\x04"), ("empty)?", b"\x04")]

    shown = in_terminal([WHENCE, "new", "agent.chatmd"], tmp_path, acts)

    assert shown.code == 0
    assert 'next: whence run agent.chatmd "List the files here"' in shown.raw
    assert '<tool name="fs.read"/>' in (tmp_path / "agent.chatmd").read_text("utf-8")


def test_a_call_that_nobody_could_approve_shows_the_option_that_would_allow_it(
    whence: Command,
) -> None:
    answers = "- calls: [{tool: fs.read, args: {path: .env, why: Learn the settings}}]\n- Done.\n"
    agent(whence, answers=answers)
    (whence.workspace / ".env").write_text("x", "utf-8")

    ran = whence("run", "agent.chatmd", "hello")

    assert "to let it through: --allow 'fs.read(.env)'\n" in ran.err
    allowed = whence("run", "agent.chatmd", "hello", "--allow", "fs.read(.env)")
    assert "✓ fs.read" in allowed.err


def test_what_was_typed_before_a_question_does_not_answer_it(whence: Command) -> None:
    call = "{tool: fs.read, args: {path: .env%s, why: Learn the settings}}"
    agent(whence, answers=f"- calls: [{call % '.a'}]\n- calls: [{call % '.b'}]\n- Done.\n")
    for name in (".env.a", ".env.b"):
        (whence.workspace / name).write_text("x", "utf-8")

    shown = in_terminal(
        [WHENCE, "run", "agent.chatmd", "hello"], whence.workspace,
        [("[N]o: ", b"y\ny\n"), ("[N]o: ", b"n\n")],
    )  # fmt: skip

    assert shown.code == 0
    on_screen = [line[:9] for line in shown.lines if line.startswith(("✓", "✗"))]
    assert on_screen == ["✓ fs.read", "✗ fs.read"]


@pytest.mark.parametrize(
    "rule",
    ["deny: [fs.write]", "ask: ['execute_command(ls)']", "allow: ['git(log *)']",
     "deny: ['git*(push *)']", "allow: [fs.write, read_file, word_count]"],
)  # fmt: skip
def test_a_workspaces_rules_may_name_tools_that_this_agent_does_not_have(
    whence: Command, rule: str
) -> None:
    agent(whence)
    (whence.workspace / ".agent").mkdir()
    (whence.workspace / ".agent" / "permissions.yaml").write_text(rule, "utf-8")

    ran = whence("run", "agent.chatmd", "hello")

    assert ran.code == 0, ran.err


@pytest.mark.parametrize("rule", ["deny: [git]", "ask: [shell]", "deny: [fs.raed]"])
def test_a_prohibition_of_what_no_tool_is_called_stops_everything(
    whence: Command, rule: str
) -> None:
    agent(whence)
    (whence.workspace / ".agent").mkdir()
    (whence.workspace / ".agent" / "permissions.yaml").write_text(rule, "utf-8")

    ran = whence("run", "agent.chatmd", "hello")

    assert ran.code == 2
    assert "permissions.yaml: no tool is called" in ran.err


def test_a_file_that_is_no_yaml_is_told_in_two_lines_with_the_place(whence: Command) -> None:
    agent(whence)
    (whence.workspace / ".agent").mkdir()
    (whence.workspace / ".agent" / "permissions.yaml").write_text("deny:\n- a: b: c\n", "utf-8")

    ran = whence("run", "agent.chatmd", "hello")

    assert ran.code == 1
    assert "permissions.yaml is not YAML: line 2, column 7: " in ran.err
    assert ran.err.count("\n") == 2


@pytest.mark.parametrize("where", ["file", "command line"])
def test_a_prohibition_of_a_built_in_holds_for_a_sub_agent_that_alone_has_it(
    whence: Command, where: str
) -> None:
    agent(
        whence,
        AGENT + '<tool name="helper" agent="helper.chatmd" local/>\n',
        "- calls: [{tool: helper, args: {input: go, why: Have the helper do it}}]\n- Done.\n",
    )
    (whence.workspace / "helper.chatmd").write_text(
        '<config model="script/helper.yaml"/>\n<tool name="fs.write"/>\n', "utf-8"
    )
    (whence.workspace / "helper.yaml").write_text(
        "- calls: [{tool: fs.write, args: {path: hit, content: x, why: Leave a mark}}]\n- Done.\n",
        "utf-8",
    )
    options = ["--deny", "fs.write"] if where == "command line" else []
    if not options:
        (whence.workspace / ".agent").mkdir()
        (whence.workspace / ".agent" / "permissions.yaml").write_text("deny: [fs.write]", "utf-8")

    ran = whence("run", "agent.chatmd", "hello", *options)

    assert "PERMISSION_DENIED" in ran.err
    assert not (whence.workspace / "hit").exists()


def test_check_names_a_provider_that_does_not_exist(whence: Command) -> None:
    agent(whence, '<config model="antropic/claude"/>\n<user>hello</user>\n')

    ran = whence("check", "agent.chatmd")

    assert ran.code == 0
    assert "[unknown-model]" in ran.out
    assert "Did you mean anthropic/claude?" in ran.out
    assert "1 file: 0 errors, 1 warning\n" in ran.out


def test_check_looks_for_commands_where_the_sandbox_will(whence: Command) -> None:
    folder = whence.workspace / "bin"
    folder.mkdir()
    (folder / "mine").write_text("#!/bin/sh\necho hello\n", "utf-8")
    (folder / "mine").chmod(0o755)
    agent(whence, '<tool name="a" command="mine"/>\n<tool name="b" command="bin/mine"/>\n')

    ran = whence("check", "agent.chatmd", env={"PATH": f"{folder}:{os.environ['PATH']}"})

    assert ran.out.count("[missing-command]") == 1
    assert "'mine', the command of tool 'a', is not on the sandbox's PATH" in ran.out


def test_a_command_that_failed_and_is_repeated_asks_once(whence: Command) -> None:
    agent(whence)
    (whence.workspace / "empty.yaml").write_text("[]", "utf-8")
    command = ("run", "agent.chatmd", "What is new?")
    for _ in range(2):
        assert whence(*command, "--model", "script/empty.yaml").code == 1

    assert whence(*command).code == 0
    text = (whence.workspace / "agent.chatmd").read_text("utf-8")
    assert text.count("What is new?") == 1


def test_a_terminal_that_cannot_draw_gets_lines_only(whence: Command) -> None:
    agent(whence)

    shown = in_terminal(
        [WHENCE, "run", "agent.chatmd", "hello"], whence.workspace,
        env={**os.environ, "TERM": "dumb"},
    )  # fmt: skip

    assert shown.code == 0
    assert "\x1b" not in shown.raw


@pytest.mark.parametrize(
    ("written", "meant"),
    [('<config modle="local"/>', "model"), ('<tool nmae="fs.read"/>', "name"),
     ("<sytem>Help.</sytem>", "<system>"), ("<usr>Help.</usr>", "<user>")],
)  # fmt: skip
def test_a_misspelt_word_of_an_agent_file_is_recognised(
    whence: Command, written: str, meant: str
) -> None:
    agent(whence, written)

    ran = whence("check", "agent.chatmd")

    assert ran.code == 1
    assert f"Did you mean {meant}?" in ran.out


def test_check_names_a_python_tool_whose_parameter_has_no_type(whence: Command) -> None:
    agent(whence, '<tool python="tools.py:double"/>\n')
    (whence.workspace / "tools.py").write_text("def double(x):\n    return 2 * x\n", "utf-8")

    ran = whence("check", "agent.chatmd")

    assert ran.code == 1
    assert "tools.py:1: parameter 'x' of double has no type" in ran.out


@pytest.mark.parametrize(
    "before",
    ["", "<system>Help.</system>", f"<system>{'x' * 5_000}</system>", "<system>界界ü</system>",
     "\t<system>\t</system>\t"],
    ids=["nothing", "text", "long", "wide", "tabs"],
)  # fmt: skip
def test_the_mark_of_check_stands_below_what_it_means(whence: Command, before: str) -> None:
    agent(whence, f"{before}<usr>Help.</usr>\n")

    _, shown, mark, *_ = whence("check", "agent.chatmd").out.splitlines()

    assert width_of(mark) - 1 == width_of(shown[: shown.index("<usr>")])
