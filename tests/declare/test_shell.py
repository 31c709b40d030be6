"""Commands as tools: what the model sees, and the words that are started."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.declare.declaring import codes, one_problem, one_tool, resolved
from whence.declare.command import MOST_WORDS, command_line, split_command
from whence.declare.toolbox import Toolbox
from whence.errors import InvalidArgs
from whence.shapes.declaration import Hole, ShellCommand
from whence.shapes.document import Severity
from whence.shapes.tool import Effect, Sandbox


def command_of(text: str) -> ShellCommand:
    found = resolved(text)
    assert found.problems == ()
    (command,) = found.bindings.values()
    assert isinstance(command, ShellCommand)
    return command


def typed(command: str, *params: str) -> ShellCommand:
    inside = "".join(f"<param {param}/>" for param in params)
    return command_of(f'<tool name="x" command="{command}">{inside}</tool>')


def test_without_parameters_the_schema_is_a_list_of_arguments() -> None:
    tool = one_tool('<tool name="git_status" command="git status" description="Show git status"/>')

    assert tool.input_schema == {
        "type": "object",
        "properties": {"arguments": {"type": "array", "items": {"type": "string"}}},
        "required": ["arguments"],
        "additionalProperties": False,
    }
    first, second = tool.description.split("\n")
    assert "git status" in first
    assert second == "Show git status"


def test_a_command_executes_within_a_minute_and_without_network_unless_it_says_more() -> None:
    tool = one_tool('<tool name="make" command="make"/>')

    assert tool.source == "shell"
    assert tool.handler is None
    assert tool.effects == {Effect.EXECUTE}
    assert tool.sandbox == Sandbox(network=False, timeout_ms=65_000, output_chars=10_000)


def test_everything_that_is_needed_to_run_it_is_kept() -> None:
    text = (
        '<tool name="fetch" command="curl -s" timeout="2m" max_output="500" cwd="sub/dir"'
        ' env="API_TOKEN, HOME" network="api.example.org,*.pypi.org:443" effects="read"/>'
    )

    assert command_of(text) == ShellCommand(
        argv=(("curl",), ("-s",)),
        timeout_ms=120_000,
        max_output=500,
        cwd="sub/dir",
        env=("API_TOKEN", "HOME"),
        hosts=("api.example.org", "*.pypi.org:443"),
    )
    tool = one_tool(text)
    assert tool.effects == {Effect.EXECUTE, Effect.NETWORK, Effect.READ}
    assert tool.sandbox == Sandbox(
        network=True,
        timeout_ms=125_000,
        hosts=("api.example.org", "*.pypi.org:443"),
        output_chars=500,
    )


@pytest.mark.parametrize(
    ("attributes", "hosts"),
    [
        ("network", ("*",)),
        ('network="true"', ("*",)),
        ('network="false"', ()),
        ('effects="network,write"', ("*",)),
        ('effects="network" network="a.org"', ("a.org",)),
        ('network="localhost:8080"', ("localhost:8080",)),
        ('network="[::1]:80"', ("[::1]:80",)),
        ("", ()),
    ],
)
def test_the_network_is_any_host_some_hosts_or_none(attributes: str, hosts: Any) -> None:
    command = command_of(f'<tool name="x" command="y" {attributes}/>')

    assert command.hosts == hosts


@pytest.mark.parametrize(
    ("written", "ms"),
    [("60", 60_000), ("0.5s", 500), ("250ms", 250), ("2 m", 120_000), ("1h", 3_600_000)],
)
def test_a_timeout_counts_seconds_unless_it_names_a_unit(written: str, ms: int) -> None:
    assert command_of(f'<tool name="x" command="y" timeout="{written}"/>').timeout_ms == ms


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("timeout", "soon"),
        ("timeout", "0"),
        ("timeout", "-1"),
        ("timeout", "25h"),
        ("timeout", "1e3"),
        ("timeout", "٣"),
        ("max_output", "10k"),
        ("max_output", "0"),
        ("cwd", ""),
        ("env", ""),
        ("network", "http://x.org"),
        ("network", "a b"),
        ("effects", "fly"),
        ("effects", ""),
        ("name", "two words"),
        ("name", ".x"),
    ],
)
def test_a_bad_value_is_an_error_that_shows_it(attribute: str, value: str) -> None:
    given = {"name": "x", attribute: value}
    written = " ".join(f'{name}="{text}"' for name, text in given.items())

    problem = one_problem(resolved(f'<tool command="y" {written}/>'))
    assert problem.code == f"bad-{attribute.replace('_', '-')}"
    assert problem.severity is Severity.ERROR
    assert value in problem.message


def test_the_value_of_a_variable_is_refused_and_not_repeated() -> None:
    problem = one_problem(resolved('<tool name="x" command="y" env="PATH,TOKEN=s3cret"/>'))

    assert problem.code == "bad-env"
    assert "TOKEN" in problem.message
    assert "s3cret" not in problem.message + problem.suggestion


def test_effects_that_the_network_attribute_denies_are_an_error() -> None:
    found = resolved('<tool name="x" command="y" effects="network" network="no"/>')

    assert codes(found) == ["bad-effects"]
    assert not found.tools[0].sandbox.network


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git ls-files --exclude=docs/", ["git", "ls-files", "--exclude=docs/"]),
        ("git%20log%20-1", ["git", "log", "-1"]),
        ("grep 'two words' x", ["grep", "two words", "x"]),
        (r"grep two\ words", ["grep", "two words"]),
        ("grep 'two%20words'", ["grep", "two words"]),
        ("echo '' $HOME *", ["echo", "", "$HOME", "*"]),
        ("awk '{print $1}'", ["awk", "{print $1}"]),
        ("find . -exec ls {}", ["find", ".", "-exec", "ls", "{}"]),
    ],
)
def test_a_command_is_split_as_a_shell_would_and_nothing_is_expanded(
    command: str, words: list[str]
) -> None:
    found = command_of(f'<tool name="x" command="{command}"/>')

    assert list(command_line(found, {"arguments": []})) == words


@given(
    st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1)
)
@settings(deadline=None)
def test_any_quoted_words_are_split_into_the_same_words(words: list[str]) -> None:
    words = [word.replace("%20", "") for word in ["program", *words]]

    assert split_command(shlex.join(words)) == words


@pytest.mark.parametrize(
    "command", ["", "   ", "%20", "''", "echo 'x", "echo x&#92;", "x" * 20_000]
)
def test_a_command_that_cannot_be_started_is_refused(command: str) -> None:
    found = resolved(f'<tool name="x" command="{command}"/>')

    assert codes(found) == ["bad-command"]
    assert found.tools == ()


def test_a_shell_wrapper_needs_a_name() -> None:
    assert codes(resolved('<tool command="ls"/>')) == ["missing-name"]


def test_shell_operators_warn_because_there_is_no_shell() -> None:
    found = resolved('<tool name="x" command="ls | wc -l &amp;&amp; true"/>')

    assert codes(found) == ["shell-syntax", "shell-syntax"]
    assert {each.severity for each in found.problems} == {Severity.WARNING}
    assert found.tools


def test_arguments_are_added_as_they_are() -> None:
    command = command_of('<tool name="x" command="echo -n"/>')

    line = command_line(command, {"arguments": ["safe; /bin/false", "$(id)", "-e"]})
    assert line == ("echo", "-n", "safe; /bin/false", "$(id)", "-e")


PARAMS = (
    'name="pattern" type="string" description="What to look for" required',
    'name="glob" type="string[]"',
    'name="limit" type="integer" default="20"',
    'name="mode" enum="files,lines" default="files"',
)


def test_parameters_become_a_schema_and_holes_in_the_command() -> None:
    inside = "".join(f"<param {param}/>" for param in PARAMS)
    found = resolved(
        '<tool name="x" command="rg --{mode} -g{glob} --max-count={limit} -- {pattern} {{glob}}">'
        f"{inside}</tool>"
    )

    assert found.problems == ()
    (tool,) = found.tools
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "What to look for"},
            "glob": {"type": "array", "items": {"type": "string"}},
            "limit": {"type": "integer", "default": 20},
            "mode": {"type": "string", "enum": ["files", "lines"], "default": "files"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }
    command = found.bindings["x"]
    assert isinstance(command, ShellCommand)
    assert command.argv[1:3] == (("--", Hole("mode")), ("-g", Hole("glob")))
    line = command_line(command, {"pattern": "-x y", "glob": ["*.py", "*.md"], "limit": 3})
    assert line == (
        "rg", "--files", "-g*.py", "-g*.md", "--max-count=3", "--", "-x y", "{glob}",
    )  # fmt: skip
    assert command_line(command, {"pattern": "p"}) == (
        "rg", "--files", "--max-count=20", "--", "p", "{glob}",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("string", "a b", ("a b",)),
        ("string", "", ("",)),
        ("integer", -5, ("-5",)),
        ("number", 1.5, ("1.5",)),
        ("boolean", True, ("true",)),
        ("string[]", ["a", "b c"], ("a", "b c")),
        ("string[]", [], ()),
        ("string", None, ()),
        ("{a: int}", {"a": 1}, ('{"a": 1}',)),
    ],
)
def test_a_value_is_one_word_and_a_list_is_many(kind: str, value: Any, words: Any) -> None:
    command = typed("run {v}", f"name='v' type='{kind}'")

    assert command_line(command, {"v": value}) == ("run", *words)


@given(st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: text[:1] != "-"))
@settings(deadline=None)
def test_whatever_a_value_holds_it_stays_one_word(value: str) -> None:
    command = ShellCommand(
        (("run",), (Hole("v"),), ("--x=", Hole("v"))), typed("run {v}", "name='v'").params
    )

    assert command_line(command, {"v": value}) == ("run", value, f"--x={value}")


@pytest.mark.parametrize("value", ["--pre=evil", "-e", "-"])
def test_a_text_cannot_become_an_option(value: str) -> None:
    command = typed("rg {pattern}", 'name="pattern"')
    if value == "-":
        assert command_line(command, {"pattern": value}) == ("rg", "-")
        return

    with pytest.raises(InvalidArgs, match="as an option") as caught:
        command_line(command, {"pattern": value})
    assert value in caught.value.message


def test_an_option_cannot_be_pieced_together_from_two_values() -> None:
    command = typed("rg {a}{b}", 'name="a"', 'name="b"')

    with pytest.raises(InvalidArgs):
        command_line(command, {"a": "", "b": "--pre=evil"})


def test_choices_that_the_file_lists_may_be_options() -> None:
    command = typed("ls {how} {where}", 'name="how" enum="-l,-a"', 'name="where"')

    assert command_line(command, {"how": "-l", "where": "src"}) == ("ls", "-l", "src")
    with pytest.raises(InvalidArgs):
        command_line(command, {"how": "-l", "where": "-R"})


def test_a_call_cannot_make_endlessly_many_words() -> None:
    command = typed("run {a}{b}", 'name="a" type="string[]"', 'name="b" type="string[]"')
    many = [str(number) for number in range(1000)]

    with pytest.raises(InvalidArgs, match=f"{MOST_WORDS:,}"):
        command_line(command, {"a": many, "b": many})


@pytest.mark.parametrize(
    ("command", "params", "code"),
    [
        ("rg {patern}", ['name="pattern" required'], "unknown-placeholder"),
        ("rg x", ['name="pattern"'], "unused-param"),
        ("{program} x", ['name="program"'], "bad-command"),
        ("rg {a}", ['name="a"', 'name="a"'], "duplicate-param"),
        ("rg {a}", ['name="a" type="strng"'], "bad-type"),
        ("rg {a}", ['name="a" type="integer" default="x"'], "bad-default"),
        ("rg {a}", ['name="a" enum=" "'], "bad-enum"),
        ("rg {a}", ['name="a" type="integer" enum="1,b"'], "bad-enum"),
        ("rg {a}", ['name="a" enum="x,y" default="z"'], "bad-default"),
        ("rg {a}", ['name="a" pattern="("'], "bad-pattern"),
        ("rg {a}", ['name="a" type="integer" pattern="x"'], "bad-pattern"),
        ("rg {a}", ['name="a"', 'name="1b"'], "bad-name"),
        ("rg -m {a}", ['name="a" type="integer"'], "lonely-option"),
    ],
)
def test_a_parameter_that_does_not_fit_is_named(command: str, params: list[str], code: str) -> None:
    inside = "".join(f"<param {param}/>" for param in params)
    found = resolved(f'<tool name="x" command="{command}">{inside}</tool>')

    assert code in codes(found)


def test_a_tool_whose_command_has_an_unknown_hole_is_not_mounted() -> None:
    found = resolved('<tool name="x" command="rg {patern}"><param name="pattern"/></tool>')

    assert codes(found) == ["unknown-placeholder", "unused-param"]
    assert "{pattern}" in found.problems[0].suggestion
    assert found.tools == ()


@pytest.mark.parametrize("param", ["required", 'default="5"'])
def test_an_option_with_a_value_that_is_always_there_is_fine(param: str) -> None:
    command = typed("head -n {count}", f'name="count" type="integer" {param}')

    assert command_line(command, {"count": 3}) == ("head", "-n", "3")


def test_braces_without_parameters_warn_and_are_kept() -> None:
    found = resolved('<tool name="x" command="rg {pattern}"/>')

    assert codes(found) == ["unknown-placeholder"]
    assert found.problems[0].severity is Severity.WARNING
    assert found.bindings["x"] == ShellCommand((("rg",), ("{pattern}",)))


def test_a_pattern_and_choices_of_a_list_are_those_of_its_items() -> None:
    tool = one_tool(
        '<tool name="x" command="run {a} {b}">'
        '<param name="a" type="string[]" pattern="^[a-z]+$"/>'
        '<param name="b" type="integer[]" enum="1,2"/></tool>'
    )
    mounted = Toolbox([tool]).find("x")

    assert mounted is not None
    assert mounted.validator.is_valid({"a": ["x"], "b": [1, 2]})
    assert not mounted.validator.is_valid({"a": ["X"]})
    assert not mounted.validator.is_valid({"b": [3]})
