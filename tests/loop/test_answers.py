"""Answers: once, for the session, always; and what an administrator leaves to nobody."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.catalogs import load_catalogs
from whence.declare.toolbox import Toolbox
from whence.errors import Conflict
from whence.execute.process import Processes
from whence.gate.permission import parse_rule
from whence.loop.answers import added, remember
from whence.loop.session import Session
from whence.loop.settings import load_policy
from whence.shapes.approval import Answer, Approver, Question
from whence.shapes.call import Outcome
from whence.shapes.policy import Policy, Verdict

BOX = Toolbox(load_catalogs())
ASK_FIRST = Policy(rules=(parse_rule("terminal.run", Verdict.ASK, "test", BOX),))
Scope = Literal["once", "session", "always"]


class Person:
    """Answers every question the same way, and remembers them."""

    def __init__(self, scope: Scope = "once", *, yes: bool = True) -> None:
        self.questions: list[Question] = []
        self._answer = Answer(approved=yes, scope=scope)

    async def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        return self._answer


def opened(folder: Path, approver: Approver | None = None, policy: Policy = ASK_FIRST) -> Session:
    return Session(folder, policy=policy, approver=approver, durable=False)


async def echo(session: Session, *words: str) -> Outcome:
    why = "Prove that answers hold as long as they say"
    return await session.call("terminal.run", why, cmd=["echo", *words])


def settings_of(folder: Path) -> Path:
    return folder / ".agent" / "permissions.yaml"


@pytest.mark.anyio
@pytest.mark.requirement("rules:ask-shows")
async def test_a_question_shows_the_exact_command_the_reason_and_the_smallest_rule(
    tmp_path: Path,
) -> None:
    person = Person()
    with opened(tmp_path, person) as session:
        outcome = await echo(session, "a b", "$(x)")
    assert outcome.ok
    (question,) = person.questions
    assert question.command == "echo 'a b' '$(x)'"
    assert question.rule == "terminal.run(echo 'a b' '$(x)')"
    assert "terminal.run of test says ask" in question.reason


@pytest.mark.anyio
@pytest.mark.requirement("rules:answers")
@pytest.mark.parametrize(("scope", "asked"), [("once", 3), ("session", 2), ("always", 2)])
async def test_an_answer_holds_for_its_command_as_long_as_it_says(
    tmp_path: Path, scope: Scope, asked: int
) -> None:
    person = Person(scope)
    with opened(tmp_path, person) as session:
        for words in (["a"], ["a"], ["a", "b"]):
            assert (await echo(session, *words)).ok
    assert len(person.questions) == asked


@pytest.mark.anyio
@pytest.mark.requirement("rules:always")
async def test_always_is_kept_in_the_workspace_and_explained_by_its_file(tmp_path: Path) -> None:
    with opened(tmp_path, Person("always")) as session:
        assert (await echo(session, "a", "it's")).ok
    kept = yaml.safe_load(settings_of(tmp_path).read_text("utf-8"))
    assert kept == {"always": ["terminal.run(echo a 'it'\"'\"'s')"]}
    nobody = None
    with opened(tmp_path, nobody) as session:
        assert (await echo(session, "a", "it's")).ok
        refused = await echo(session, "a", "its")
    assert refused.fault is not None
    assert refused.fault.code == "PERMISSION_DENIED"
    rule = load_policy(os.fspath(tmp_path), BOX).rules[0]
    assert (rule.source, rule.settles) == (".agent/permissions.yaml", True)


@pytest.mark.anyio
@pytest.mark.requirement("rules:always")
async def test_an_answer_about_a_tool_that_is_not_here_allows_nothing_and_stops_nothing(
    tmp_path: Path,
) -> None:
    remember(os.fspath(tmp_path), "some_wrapper(log)")
    with opened(tmp_path, Person()) as session:
        assert (await echo(session, "a")).ok


@pytest.mark.anyio
@pytest.mark.requirement("rules:always")
async def test_an_answer_that_cannot_be_kept_holds_for_the_session_and_says_so(
    tmp_path: Path,
) -> None:
    person = Person("always")
    (tmp_path / ".agent").mkdir()
    settings_of(tmp_path).write_text("always: ~\n", "utf-8")
    with opened(tmp_path, person) as session:
        first, second = await echo(session, "a"), await echo(session, "a")
    assert any("this session only" in warning for warning in first.warnings)
    assert second.ok
    assert len(person.questions) == 1
    assert settings_of(tmp_path).read_text("utf-8") == "always: ~\n"


@pytest.mark.anyio
@pytest.mark.requirement("rules:answers")
async def test_no_is_no_and_is_recorded(tmp_path: Path) -> None:
    with opened(tmp_path, Person("always", yes=False)) as session:
        refused = await echo(session, "a")
    assert refused.fault is not None
    assert refused.fault.code == "PERMISSION_DENIED"
    assert not settings_of(tmp_path).exists()


@pytest.mark.anyio
@pytest.mark.requirement("rules:ceiling")
async def test_an_administrators_rules_for_commands_are_widened_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, work = tmp_path / "admin.yaml", tmp_path / "work"
    admin.write_text('deny: ["*(echo secret *)"]\nask: ["terminal.run(echo careful *)"]\n', "utf-8")
    monkeypatch.setenv("WHENCE_ADMIN_FILE", os.fspath(admin))
    (work / ".agent").mkdir(parents=True)
    settings_of(work).write_text(
        'allow: [terminal.run]\nalways: ["terminal.run(echo *)", terminal.run]\n', "utf-8"
    )
    person = Person("always")
    with opened(work, person) as session:
        fine = await echo(session, "fine")
        assert not person.questions
        denied = await echo(session, "secret", "x")
        assert not person.questions
        for _ in range(2):
            assert (await echo(session, "careful", "x")).ok
    assert fine.ok
    assert denied.fault is not None
    assert os.fspath(admin) in str(denied.fault.details)
    assert [question.rule for question in person.questions] == [None, None]
    assert "careful" not in settings_of(work).read_text("utf-8")


@pytest.mark.anyio
@pytest.mark.requirement("rules:always")
async def test_no_tool_writes_the_settings(tmp_path: Path) -> None:
    with opened(tmp_path, Person(), Policy()) as session:
        path = ".agent/permissions.yaml"
        written = await session.call("fs.write", "Try to allow myself all", path=path, content="x")
        script = f"echo 'allow: [terminal.run]' > {path}; echo x > .agent/lock.yaml"
        if Processes().isolation().full:  # elsewhere only a person stands between
            await session.call("terminal.run", "Try to allow myself all", cmd=["sh", "-c", script])
    assert written.fault is not None
    assert not settings_of(tmp_path).exists()
    assert not (tmp_path / ".agent" / "lock.yaml").exists()


RULE = "terminal.run(git log)"
LAYOUTS = {
    "absent": "",
    "comment": "# ours\n",
    "other keys": "# ours\nallow: [fs.read]  # reading\ndeny:\n  - fs.write  # never\n",
    "no newline": "why: strict",
    "block list": "always:\n  - a  # first\n  - b  # second\n# the end\nwhy: strict\n",
    "flush list": "always:\n- a\n- b\nwhy: strict\n",
    "flow list": "always: [a, b]  # ours\nwhy: strict\n",
    "empty flow list": "always: []\nwhy: strict\n",
    "no value": "always:  # nothing yet\nwhy: strict\n",
    "last and open": "why: strict\nalways:\n  - a",
    "flow mapping": "{why: strict}\n",
    "literal item": "always:\n  - |-\n    a\n    b\nwhy: strict\n",
    "windows": "why: strict\r\nalways:\r\n  - a\r\n",
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.requirement("rules:always")
def test_a_rule_is_added_to_any_layout_and_the_rest_stays(text: str) -> None:
    after = added(text, RULE)
    before = yaml.safe_load(text) or {}
    kept = [*(before.get("always") or []), RULE]
    assert yaml.safe_load(after) == {**before, "always": kept}
    assert [line for line in text.splitlines() if "#" in line and "[" not in line] == [
        line
        for line in after.splitlines()
        if "#" in line and "[" not in line and "Answers" not in line
    ]
    assert added(after, RULE) == after


@pytest.mark.parametrize("text", ["always: ~\n", "[a]\n", "a: b: c\n", "always: 5\n", "x\n"])
def test_a_layout_that_cannot_be_changed_safely_is_left_alone(text: str) -> None:
    with pytest.raises(Conflict) as caught:
        added(text, RULE)
    assert "always" in caught.value.suggestion


@settings(max_examples=200, deadline=None)
@given(rule=st.text(max_size=40), layout=st.sampled_from(sorted(LAYOUTS.values())))
def test_any_rule_comes_back_as_it_was(rule: str, layout: str) -> None:
    assert rule in yaml.safe_load(added(layout, rule))["always"]


def _remember_some(folder: str, start: int) -> None:
    for number in range(start, start + 10):
        remember(folder, f"terminal.run(echo {number})")


@pytest.mark.requirement("rules:always")
def test_processes_that_answer_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    target: Callable[[str, int], None] = _remember_some
    started = [
        context.Process(target=target, args=(os.fspath(tmp_path), number)) for number in (0, 10)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0, 0]
    kept = yaml.safe_load(settings_of(tmp_path).read_text("utf-8"))["always"]
    assert sorted(kept) == sorted(f"terminal.run(echo {number})" for number in range(20))
    assert os.listdir(tmp_path / ".agent") == ["permissions.yaml"]
