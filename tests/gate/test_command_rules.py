"""Rules about commands: word by word, part by part, and closed where anything is not sure."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.declare.command import commands_of
from whence.declare.function import tool
from whence.declare.shell_grammar import lines_in
from whence.declare.toolbox import Mounted, Toolbox
from whence.errors import UsageError
from whence.gate.explain import explain
from whence.gate.permission import Ruling, decide, parse_rule
from whence.gate.quota import Usage
from whence.shapes.call import Call
from whence.shapes.command import Commands
from whence.shapes.declaration import Hole, Param, ShellCommand
from whence.shapes.json import JSONObject
from whence.shapes.place import Place
from whence.shapes.policy import Policy, Rule, Verdict
from whence.shapes.tool import Effect, Tool

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
RUNS = frozenset({Effect.EXECUTE})


@tool("execute_command", effects=RUNS)
async def _line(command: str) -> str:
    """Run a line."""
    return command


@tool("terminal.run", effects=RUNS)
async def _words(cmd: list[str]) -> str:
    """Run words."""
    return str(cmd)


@tool("git", effects=RUNS)
async def _git(arguments: list[str]) -> str:
    """Run git."""
    return str(arguments)


@tool("show", effects=RUNS)
async def _show(rev: str) -> str:
    """Show a revision."""
    return rev


def _given_words(arguments: JSONObject) -> Commands:
    words: Any = arguments["cmd"]
    return Commands.of(words)


def _made(base: Tool, **changes: object) -> Tool:
    return replace(base, **changes)  # type: ignore[arg-type] # by name, as the tests need it


_TYPED = ShellCommand(
    (("git",), ("show",), (Hole("rev"),)), (Param("rev", {"type": "string"}, required=True),)
)
BOX = Toolbox(
    [
        _made(_line, source="builtin", commands=lines_in("command")),
        _made(_words, source="builtin", commands=_given_words),
        _made(_git, source="shell", commands=commands_of(ShellCommand((("git",),)))),
        _made(_show, source="shell", commands=commands_of(_TYPED)),
    ]
)


def mounted(name: str) -> Mounted:
    found = BOX.find(name)
    assert found is not None
    return found


def rules(verdict: Verdict, *texts: str, source: str = "test") -> tuple[Rule, ...]:
    return tuple(parse_rule(text, verdict, source, BOX) for text in texts)


def ruling(given: str | list[str], *held: Rule, isolated: bool = False, name: str = "") -> Ruling:
    tool_name = name or ("execute_command" if isinstance(given, str) else "git")
    found = mounted(tool_name)
    key = {"execute_command": "command", "terminal.run": "cmd"}.get(tool_name, "arguments")
    assert found.tool.commands is not None
    commands = found.tool.commands({key: given})
    return decide(found, [], Policy(rules=held, isolated=isolated), commands)


LOG = rules(ALLOW, "execute_command(git log *)")


@pytest.mark.parametrize(
    "line",
    ["git log", "git log main", "git log main dev", "  git   log 'a b' ", '"git" log', "g\\it log",
     "git log src/*.py", "git log # the history"],
)  # fmt: skip
@pytest.mark.requirement("rules:words")
def test_a_permission_covers_a_command_by_its_words(line: str) -> None:
    found = ruling(line, *LOG)
    assert found.verdict is ALLOW
    assert found.rule == LOG[0]


@pytest.mark.parametrize(
    "line",
    [
        "git log-evil", "git logs", "gitlog", "git", "git -c alias.log=!sh log", "./git log",
        "/tmp/git log", "GIT log", "git log --output=/etc/x", "git log -p", "git log $X",
        "git log *", "git log [a]*", "git log $(rm x)", "git log `rm x`", 'git log "$(rm x)"',
        "git log; rm x", "git log && rm x", "git log || rm x", "git log | sh", "git log & rm x",
        "git log &", "git log\nrm x", "git log > ~/.bashrc", "git log >> x", "git log < x",
        "git log 2>&1", "git log <<E\nx\nE\n", "(git log)", "FOO=1 git log", "LD_PRELOAD=x git log",
        "eval git log", "exec git log", "command git log", ". git log", "{ git log; }", "! git log",
        "if git log; then git log; fi", "f() { git log; }; f", "git log <(rm x)", "git log {a,b}",
        "git log $'a'", "git log ${x@P}", "git log ~", "git log 'unclosed", "$GIT log", "g* log",
        "alias git=rm; git log",
    ],
)  # fmt: skip
@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.requirement("rules:fails-closed")
def test_whatever_else_is_in_the_line_asks_with_and_without_a_sandbox(
    line: str, isolated: bool
) -> None:
    assert ruling(line, *LOG, isolated=isolated).verdict is ASK


@pytest.mark.parametrize(
    ("line", "construct"),
    [
        ("git log | git log", "|"), ("git log && git log", "&&"), ("git log || git log", "||"),
        ("git log; git log", ";"), ("git log &", "&"), ("git log\ngit log", "\\n"),
        ("(git log)", "()"), ("git log > x", ">"), ("git log > x", "> x"), ("git log >> x", ">>"),
        ("git log > build/x", "> build/*"), ("git log 2> x", "2>"), ("git log < x", "<"),
        ("git log 2>&1", "2>&1"), ("git log 2>&1", "2>&"), ("git log <<E\nx\nE\n", "<<"),
        ("FOO=1 git log", "FOO=1"), ("FOO=12 git log", "FOO=*"),
    ],
)  # fmt: skip
@pytest.mark.requirement("rules:constructs")
def test_each_construct_has_its_own_permission(line: str, construct: str) -> None:
    assert ruling(line, *LOG).verdict is ASK
    extra = rules(ALLOW, f"execute_command({construct})")
    assert ruling(line, *LOG, *extra).verdict is ALLOW
    assert ruling(line, *extra).verdict is ASK
    assert ruling(line, *LOG, *rules(ALLOW, "execute_command(true)")).verdict is ASK


@pytest.mark.requirement("rules:constructs")
def test_a_substitution_needs_its_sign_its_commands_and_a_word_that_may_be_anything() -> None:
    line = "git log $(git rev-parse HEAD)"
    held = rules(
        ALLOW, "execute_command(git log -*)", "execute_command($())",
        "execute_command(git rev-parse *)",
    )  # fmt: skip
    assert ruling(line, *held).verdict is ALLOW
    for missing in held:
        left = [rule for rule in held if rule is not missing]
        assert ruling(line, *left).verdict is ASK
    variable = rules(ALLOW, "execute_command(git log -*)", "execute_command($X)")
    assert ruling("git log $X", *variable).verdict is ALLOW
    assert ruling("git log $Y", *variable).verdict is ASK
    assert ruling("git log $Y", *variable, *rules(ALLOW, "execute_command($*)")).verdict is ALLOW


@pytest.mark.requirement("rules:constructs")
def test_a_rule_may_be_a_whole_line_and_then_covers_just_that() -> None:
    held = rules(ALLOW, "execute_command(git log * | head -n *)")
    assert ruling("git log main | head -n 5", *held).verdict is ALLOW
    assert ruling("head -n 5 | git log main", *held).verdict is ASK
    assert ruling("git log main", *held).verdict is ASK
    assert ruling("git log main | head -n 5 | sh", *held).verdict is ASK
    assert ruling("git log | head -n 5 > x", *held).verdict is ASK


def test_a_path_in_a_pattern_does_not_lead_out_of_its_directory() -> None:
    held = rules(ALLOW, "execute_command(cat docs/*)", "execute_command(> out/**)")
    assert ruling("cat docs/a", *held).verdict is ALLOW
    assert ruling("cat docs/a > out/b/c", *held).verdict is ALLOW
    for line in ("cat docs/a/b", "cat docs/..", "cat docs/../x", "cat docs/a > out/../x"):
        assert ruling(line, *held).verdict is ASK


@pytest.mark.requirement("rules:arguments")
def test_a_star_of_a_permission_stands_for_no_option() -> None:
    fetch = rules(ALLOW, "git(fetch *)")
    assert ruling(["fetch", "origin"], *fetch).verdict is ALLOW
    for words in (["fetch", "--upload-pack=sh x"], ["fetch", "origin", "-u"], ["-c", "x", "fetch"]):
        assert ruling(words, *fetch).verdict is ASK
    anything = rules(ALLOW, "git(fetch -*)")
    assert ruling(["fetch", "--upload-pack=sh x"], *anything).verdict is ALLOW
    named = rules(ALLOW, "git(log --format=* *)")
    assert ruling(["log", "--format=%h", "main"], *named).verdict is ALLOW
    assert ruling(["log", "--formats=%h"], *named).verdict is ASK


@pytest.mark.requirement("rules:arguments")
def test_a_value_that_would_be_an_option_is_refused_before_anybody_is_asked() -> None:
    call = Call("show", {"why": "See what changed there", "rev": "--output=/etc/x"})
    found = explain(call, BOX, Policy(), Usage(), _place)
    assert found.verdict == "refused"
    assert any("INVALID_ARGS" in finding.said for finding in found.findings)


def _place(path: str) -> Place:
    return Place(path, f"/w/{path}", path, inside=True)


@pytest.mark.requirement("rules:wrappers")
def test_rules_for_a_wrapper_leave_its_program_out_and_starred_ones_do_not() -> None:
    assert ruling(["status"], *rules(ALLOW, "git(status)")).verdict is ALLOW
    assert ruling(["status", "x"], *rules(ALLOW, "git(status)")).verdict is ASK
    assert ruling([], *rules(ALLOW, "git()")).verdict is ALLOW
    assert ruling(["x"], *rules(ALLOW, "git()")).verdict is ASK
    assert ruling(["git", "status"], *rules(ALLOW, "git(git status)")).verdict is ALLOW
    assert ruling(["status"], *rules(ALLOW, "git(git status)")).verdict is ASK
    assert ruling(["status"], *rules(ALLOW, "*(git status)")).verdict is ALLOW
    assert ruling(["push"], *rules(DENY, "git(push *)")).verdict is DENY
    assert ruling(["push"], *rules(DENY, "git(git push *)")).verdict is DENY
    assert ruling(["push"], *rules(DENY, "*(git push *)"), isolated=True).verdict is DENY
    assert (
        ruling(["a; rm x", "$(rm x)", "|"], *rules(DENY, "*(rm *)"), isolated=True).verdict is ALLOW
    )


@pytest.mark.parametrize(
    "line",
    [
        "rm x", "rm", "rm -rf /", "/bin/rm x", "./rm x", "'r'm x", "ls; rm x", "ls | xargs rm",
        "echo $(rm x)", "echo `rm x`", 'echo "$(ls; rm x)"', "(ls && rm x)", "A=1 rm x", "rm > x",
        "sudo rm x", "env A=1 rm x", "nohup nice -n 5 rm x", "find . -exec rm {} +", "command rm x",
        "exec rm x", "sh -c 'rm x'", "bash -lc 'ls; rm x'", "eval 'rm x'", "env sh -c 'rm x'",
        "sh -c \"sh -c 'rm x'\"", "busybox rm x", "$X y", "r* x", "timeout 5 rm x", "ls\nrm x",
    ],
)  # fmt: skip
@pytest.mark.requirement("rules:deny")
def test_a_denial_finds_its_command_anywhere_in_the_line(line: str) -> None:
    held = (*rules(ALLOW, "execute_command"), *rules(DENY, "*(rm *)"))
    assert ruling(line, *held, isolated=True).verdict is DENY


@pytest.mark.parametrize(
    "line", ["echo rm x", "ls rm", "rmdir x", "grep 'rm x' f", "git rm", "echo 'sh -c rm'"]
)
@pytest.mark.requirement("rules:deny")
def test_a_denial_does_not_fit_words_that_are_not_run(line: str) -> None:
    held = (*rules(ALLOW, "execute_command"), *rules(DENY, "*(rm *)"))
    assert ruling(line, *held).verdict is ALLOW


@pytest.mark.requirement("rules:deny")
def test_a_denial_may_name_a_construct_or_a_run_of_commands() -> None:
    held = (*rules(ALLOW, "execute_command"), *rules(DENY, "execute_command(curl * | sh)"))
    assert ruling("curl -s x 2> y | sh", *held).verdict is DENY
    assert ruling("curl x | cat", *held).verdict is ALLOW
    assert ruling("a | b", *rules(DENY, "execute_command(|)"), isolated=True).verdict is DENY
    secrets = rules(DENY, "execute_command(> *.pem)")
    assert ruling("a > x.pem", *secrets, isolated=True).verdict is DENY
    assert ruling("a > $X", *secrets, isolated=True).verdict is DENY
    assert ruling("a > x", *secrets, isolated=True).verdict is ALLOW


@pytest.mark.requirement("rules:fails-closed")
def test_a_line_that_cannot_be_read_asks_where_a_denial_might_fit_it() -> None:
    line = "for i in a; do rm $i; done"
    held = (*rules(ALLOW, "execute_command"), *rules(DENY, "execute_command(rm *)"))
    found = ruling(line, *held, isolated=True)
    assert (found.verdict, found.would_allow) == (ASK, None)
    assert "`for`" in found.reason
    assert ruling(line, *rules(ALLOW, "execute_command")).verdict is ALLOW
    ceiling = tuple(replace(rule, ceiling=True) for rule in rules(DENY, "*(rm *)"))
    assert ruling(line, *rules(ALLOW, "execute_command"), *ceiling).verdict is DENY


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("сurl x", "U+0441 CYRILLIC SMALL LETTER ES"),
        ("ｒｍ x", "U+FF52 FULLWIDTH LATIN SMALL LETTER R"),
        ("git\u200b log", "U+200B ZERO WIDTH SPACE"),
        ("git log a\u202eb", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("git log gооgle.com", "U+043E CYRILLIC SMALL LETTER O"),
        ("git log \x1b[2J", "U+001B CONTROL CHARACTER"),
        ("git log a\rb", "U+000D CONTROL CHARACTER"),
        ("git\u00a0log", "U+00A0 NO-BREAK SPACE"),
        ("git log > a\u3164b", "U+3164 HANGUL FILLER"),
        ("git log {a,\u200bb}", "U+200B ZERO WIDTH SPACE"),
    ],
    ids=ascii,
)
@pytest.mark.requirement("rules:homoglyphs")
def test_a_word_that_looks_like_another_one_asks_whatever_is_allowed(line: str, named: str) -> None:
    for held in ((), rules(ALLOW, "execute_command")):
        found = ruling(line, *held, isolated=True)
        assert (found.verdict, found.would_allow) == (ASK, None)
        assert named in found.reason


def test_other_scripts_are_fine_where_they_mislead_nobody() -> None:
    for line in ("git commit -m 'Привет, мир'", "cat 日本語.txt", "echo 'a\n\tb' café"):
        assert ruling(line, isolated=True).verdict is ALLOW


@pytest.mark.requirement("rules:order")
def test_deny_beats_an_administrators_ask_beats_an_answer_beats_ask_beats_allow() -> None:
    deny, ask, allow = (
        rules(verdict, "execute_command(git push *)") for verdict in (DENY, ASK, ALLOW)
    )
    admin = tuple(replace(rule, ceiling=True) for rule in ask)
    answer = tuple(replace(rule, settles=True) for rule in allow)
    order = [(deny, DENY), (admin, ASK), (answer, ALLOW), (ask, ASK), (allow, ALLOW)]
    for at, (_, expected) in enumerate(order):
        left = [rule for held, _ in order[at:] for rule in held]
        assert ruling("git push", *left).verdict is expected
        assert ruling("git push", *left[::-1]).verdict is expected
    assert ruling("git push", *admin, *answer).would_allow is None
    assert ruling("git push", *ask).would_allow == "execute_command(git push)"


@pytest.mark.requirement("rules:order")
def test_an_answer_does_not_make_the_other_commands_ask() -> None:
    answer = tuple(replace(rule, settles=True) for rule in rules(ALLOW, "execute_command(ls)"))
    assert ruling("make", *answer, isolated=True).verdict is ALLOW
    assert ruling("make", *rules(ALLOW, "execute_command(ls)"), isolated=True).verdict is ASK


def test_without_rules_the_sandbox_decides() -> None:
    assert ruling("ls | wc > x", isolated=True).verdict is ALLOW
    found = ruling("ls | wc > x")
    assert (found.verdict, found.shown) == (ASK, "ls | wc > x")
    assert found.would_allow == "execute_command(ls | wc > x)"


def test_a_command_rule_opens_no_directory_outside() -> None:
    found = mounted("execute_command")
    outside = [(Effect.READ, Place("/etc", "/etc", "/etc", inside=False))]
    assert found.tool.commands is not None
    commands = found.tool.commands({"command": "git log"})
    for held in (LOG, rules(ALLOW, "execute_command")):
        asked = decide(found, outside, Policy(rules=held, isolated=True), commands)
        assert (asked.verdict, asked.would_allow) == (ASK, None)


@pytest.mark.parametrize(
    "text",
    ["execute_command(git log 'x)", "execute_command(if a; then b; fi)", "execute_command()",
     "git(log | head)", "git(log > x)", "git('x)", "*(a &&)", "execute_command(a {b,c})"],
)  # fmt: skip
def test_a_pattern_that_is_no_command_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        rules(DENY, text)
    assert caught.value.suggestion


WORDS = st.lists(
    st.text(st.sampled_from("ab-*?[]'\"\\$ =~#!(){};|&<>\n\té"), max_size=6), max_size=4
)


@settings(max_examples=300, deadline=None)
@given(words=WORDS, other=WORDS)
@pytest.mark.requirement("rules:smallest")
def test_the_smallest_rule_of_words_allows_those_words_and_no_others(
    words: list[str], other: list[str]
) -> None:
    for name, given_words in (("git", words), ("terminal.run", ["git", *words])):
        asked = ruling(given_words, name=name)
        assert asked.would_allow is not None
        (rule,) = rules(ALLOW, asked.would_allow)
        assert ruling(given_words, rule, name=name).verdict is ALLOW
        if other != words:
            changed = other if name == "git" else ["git", *other]
            assert ruling(changed, rule, name=name).verdict is ASK


LINES = st.lists(
    st.sampled_from(
        ["git", "log", "a*", "src/*", "*", "-*", "'*'", "$X", '"$Y"', "|", "&&", ";", "\n", ">",
         "x", "$(id)", "`id`", "(", ")", "A=1", "2>&1", "&", "--all", "'a b'", "#", "<<E\nx\nE\n"]
    ),
    min_size=1, max_size=7,
).map(" ".join)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(line=LINES, other=LINES)
@pytest.mark.requirement("rules:smallest")
def test_the_smallest_rule_of_a_line_allows_it_and_is_never_wider_than_its_words(
    line: str, other: str
) -> None:
    asked = ruling(line)
    if asked.would_allow is None:
        return
    (rule,) = rules(ALLOW, asked.would_allow)
    assert ruling(line, rule).verdict is ALLOW
    for evil in (f"{line.strip()} --evil", f"evil; {line}", f"{line.strip()} | evil"):
        if shlex.split(evil, comments=True) != shlex.split(line, comments=True):
            assert ruling(evil, rule).verdict is ASK, evil


@settings(max_examples=300, deadline=None)
@given(line=st.text(max_size=40), pattern=LINES)
def test_any_line_gets_a_verdict(line: str, pattern: str) -> None:
    try:
        held = rules(DENY, f"execute_command({pattern})")
    except UsageError:
        return
    assert ruling(line, *held).verdict in (ASK, DENY)
