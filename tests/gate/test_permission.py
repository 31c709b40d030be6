"""Rules: who wins, what they match, and how they are explained."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whence.declare.function import tool
from whence.declare.toolbox import Mounted, Toolbox
from whence.errors import UsageError
from whence.gate.explain import explain
from whence.gate.permission import (
    PROTECTED,
    SENSITIVE,
    Ruling,
    _may_be_special,
    closed_below,
    decide,
    parse_rule,
    refusal,
)
from whence.gate.quota import Usage
from whence.shapes.call import Call
from whence.shapes.pattern import matches_any
from whence.shapes.place import Place
from whence.shapes.policy import Mode, Policy, Rule, Verdict
from whence.shapes.tool import Effect, Sandbox

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
WHY = "Find where parsing starts"


@tool("fs.write", paths={"path": Effect.WRITE})
async def write(path: str) -> str:
    """Write."""
    return path


@tool("fs.copy", paths={"src": Effect.READ, "dst": Effect.WRITE})
async def copy(src: str, dst: str) -> str:
    """Copy."""
    return src + dst


@tool("shell.run", effects=[Effect.EXECUTE])
async def run(text: str) -> str:
    """Run."""
    return text


BOX = Toolbox([write, copy, run])


def place(path: str) -> Place:
    inside = not path.startswith("/")
    return Place(path, f"/w/{path}" if inside else path, path, inside)


def mounted(name: str) -> Mounted:
    found = BOX.find(name)
    assert found is not None
    return found


def ruled(path: str, *rules: Rule, name: str = "fs.write") -> Ruling:
    return decide(mounted(name), [(Effect.WRITE, place(path))], Policy(rules=rules))


@pytest.mark.requirement("gate:rules")
def test_deny_beats_ask_beats_allow_in_any_order() -> None:
    rules = (Rule(ALLOW, "fs.write"), Rule(ASK, "fs.*"), Rule(DENY, "fs.write", "src/**"))

    for ordered in (rules, rules[::-1]):
        assert ruled("src/a.py", *ordered).verdict is DENY
        assert ruled("doc/a.md", *ordered).verdict is ASK
        assert ruled("doc/a.md", ordered[0], ordered[2]).verdict in (ALLOW, DENY)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "src", True),
        ("src/**", "srcs/a", False),
        ("src/*", "src/a", True),
        ("src/*.py", "src/deep/a.py", False),
        ("**/test_*.py", "a/b/test_x.py", True),
        ("**/test_*.py", "test_x.py", True),
        ("*.pem", "deep/down/key.pem", True),
        (".env*", ".env.local", True),
        (".env*", "x.env", False),
        ("docs/", "docs/a/b", True),
        ("a[0-9].txt", "a5.txt", True),
        ("a[!0-9].txt", "a5.txt", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("we(ird", "we(ird", True),
        ("a\nb", "a\nb", True),
    ],
)
def test_patterns_read_as_in_gitignore(pattern: str, path: str, matches: bool) -> None:
    assert (ruled(path, Rule(DENY, "fs.write", pattern)).verdict is DENY) is matches


@pytest.mark.requirement("gate:rules")
def test_an_allow_rule_must_cover_every_path_and_a_deny_rule_only_one() -> None:
    touched = [(Effect.READ, place("src/a")), (Effect.WRITE, place("/etc/b"))]
    allow, deny = Rule(ALLOW, "fs.copy", "src/**"), Rule(DENY, "fs.copy", "src/**")

    assert decide(mounted("fs.copy"), touched, Policy(rules=(allow,))).verdict is ASK
    assert decide(mounted("fs.copy"), touched, Policy(rules=(deny,))).verdict is DENY


def test_a_rule_without_a_path_does_not_open_the_outside() -> None:
    assert ruled("/etc/passwd", Rule(ALLOW, "fs.*")).verdict is ASK
    assert ruled("/etc/passwd", Rule(ALLOW, "fs.write", "/etc/passwd")).verdict is ALLOW
    assert ruled("/etc/shadow", Rule(ALLOW, "fs.write", "/etc/passwd")).verdict is ASK
    assert ruled("/etc/passwd", Rule(ALLOW, "fs.write", "**")).verdict is ASK


def test_a_pattern_on_a_tool_without_paths_restricts_but_never_allows() -> None:
    assert (
        decide(mounted("shell.run"), [], Policy(rules=(Rule(ALLOW, "shell.run", "x"),))).verdict
        is ASK
    )
    assert (
        decide(mounted("shell.run"), [], Policy(rules=(Rule(DENY, "shell.run", "x"),))).verdict
        is DENY
    )


@pytest.mark.requirement("gate:defaults")
def test_without_rules_the_workspace_is_open_and_the_rest_asks() -> None:
    assert ruled("src/a.py").verdict is ALLOW
    assert ruled("deploy.pem").verdict is ASK
    assert ruled(".git/config").verdict is ASK
    assert ruled("vendored/.git/hooks/pre-commit").verdict is ASK
    assert ruled("/etc/passwd").verdict is ASK
    assert decide(mounted("shell.run"), [], Policy()).verdict is ASK


def test_an_explicit_allow_opens_a_file_of_secrets() -> None:
    assert ruled(".env", Rule(ALLOW, "fs.write", ".env")).verdict is ALLOW


def test_a_rule_for_a_tool_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match=r"fs\.wrte") as caught:
        parse_rule("fs.wrte(src/**)", DENY, "--deny", BOX)
    assert "fs.write" in caught.value.suggestion


def test_a_rule_may_use_the_wire_name() -> None:
    assert parse_rule("fs_write( src/** )", ALLOW, "x", BOX).tool == "fs.write"


@pytest.mark.parametrize("text", ["", "fs.write(", "(src)", "fs write(src)", "fs.write(src) x"])
def test_text_that_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_rule(text, ALLOW, "x", BOX)


@settings(max_examples=300, deadline=None)
@example(pattern="[!-.]", path="?")
@given(
    path=st.text(st.sampled_from("ab./*?[]!\\ \n-é"), min_size=1, max_size=12),
    pattern=st.text(st.sampled_from("ab./*?[]!\\ \n-é"), min_size=1, max_size=12),
)
def test_any_pattern_and_path_give_a_verdict_and_the_smallest_rule_really_allows(
    path: str, pattern: str
) -> None:
    inside = path.lstrip("/").replace("..", "dd") or "x"
    ruling = ruled(inside, Rule(ASK, "fs.write", pattern))
    assert ruling.verdict in (ALLOW, ASK, DENY)

    outside = ruled("/etc/" + inside)
    if outside.would_allow is not None and not set(inside) & set("*?[]!\\ \n/.()"):
        rule = parse_rule(outside.would_allow, ALLOW, "x", BOX)
        assert ruled("/etc/" + inside, rule).verdict is ALLOW


@pytest.mark.requirement("gate:explain")
def test_explain_names_the_rule_that_decides_and_the_smallest_that_would_allow() -> None:
    call = Call("fs.write", {"why": WHY, "path": "/etc/motd"})
    rule = Rule(ASK, "fs.*", None, "permissions.yaml")

    found = explain(call, BOX, Policy(rules=(rule,)), Usage(), place)

    assert found.verdict == "asks"
    assert found.ruling is not None
    assert found.ruling.rule == rule
    assert "permissions.yaml" in found.ruling.reason
    assert found.ruling.would_allow == "fs.write(/etc/motd)"


@pytest.mark.requirement("gate:explain")
def test_explain_goes_on_after_the_first_failure() -> None:
    found = explain(Call("fs.write", {"path": "a"}), BOX, Policy(), Usage(), place)

    assert found.verdict == "refused"
    answers = {finding.check: finding.answer for finding in found.findings}
    assert answers == {
        "name": "pass", "why": "fail", "schema": "pass", "mode": "pass",
        "permission": "pass", "quota": "pass", "approval": "pass",
    }  # fmt: skip


@pytest.mark.requirement("gate:mode")
def test_a_mode_holds_calls_to_its_groups_and_paths() -> None:
    docs = Mode("docs", "Docs", {"edit": r"\.md$"})

    def answer(name: str, **arguments: str) -> str:
        call = Call(name, {"why": WHY, **arguments})
        return explain(call, BOX, Policy(mode=docs), Usage(), place).verdict

    assert answer("fs.write", path="a.md") == "allowed"
    assert answer("fs.write", path="a.js") == "refused"
    assert answer("fs.copy", src="a.js", dst="b.md") == "allowed"
    assert answer("fs.copy", src="a.md", dst="b.js") == "refused"
    assert answer("shell.run", text="ls") == "refused"


@settings(max_examples=500, deadline=None)
@given(path=st.text(st.sampled_from("abgit.envkypm/_rsd"), min_size=1, max_size=16))
def test_the_glance_at_a_path_never_misses_what_a_pattern_matches(path: str) -> None:
    special = matches_any((PROTECTED, "**/.git/**", *SENSITIVE), path)

    assert not special or _may_be_special(path)


def test_what_a_rule_closes_stays_closed_below_a_directory_that_is_open() -> None:
    rules = (
        Rule(DENY, "fs.write", "build/**"),
        Rule(ASK, "fs.*", "docs/**"),
        Rule(ALLOW, "*", "src/**"),
        Rule(DENY, "shell.run", "x"),
        Rule(DENY, "fs.write"),
    )

    assert closed_below(mounted("fs.write"), Policy()) == SENSITIVE
    closed = closed_below(mounted("fs.write"), Policy(rules=rules))

    assert closed == (*SENSITIVE, "build/**", "docs/**")


@tool(
    "root.both",
    paths={"src": Effect.READ, "dst": Effect.WRITE},
    sandbox=Sandbox(read_roots=("/r",)),
)
async def rooted(src: str, dst: str) -> str:
    """Read below a root, write anywhere."""
    return src + dst


@pytest.mark.parametrize(
    ("effect", "path", "verdict"),
    [
        (Effect.READ, "/r/a", ALLOW), (Effect.READ, "/r", ALLOW), (Effect.READ, "/rest/a", DENY),
        (Effect.READ, "a", DENY), (Effect.WRITE, "/r/a", DENY),
    ],
)  # fmt: skip
def test_read_roots_are_for_reading_and_nothing_else_is_open(
    effect: Effect, path: str, verdict: Verdict
) -> None:
    (held,) = Toolbox([rooted])

    ruling = decide(held, [(effect, place(path))], Policy())

    assert ruling.verdict is verdict
    assert (ruling.violation == "sandbox") is (verdict is DENY)


def test_a_refusal_says_which_rule_decided_and_which_would_allow_it() -> None:
    rule = Rule(DENY, "fs.write", "a", "the test")
    by_rule = refusal(mounted("fs.write"), Ruling(DENY, "because", rule))
    by_default = refusal(mounted("fs.write"), Ruling(DENY, "because", None, "fs.write(a)"))

    assert by_rule.details == {"reason": "because", "rule": "deny fs.write(a) [the test]"}
    assert by_default.details == {"reason": "because", "would_allow": "fs.write(a)"}
    assert "the rule fs.write(a)" in by_default.suggestion
