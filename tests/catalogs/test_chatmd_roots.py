"""Directories that an agent file lets read_file read, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from whence.loop.agent_file import load_agent
from whence.loop.session import Session
from whence.shapes.call import Outcome
from whence.shapes.policy import Policy, Quotas, Rule, Verdict

WHY = "Check that a wall stands where the file says"
UNLIMITED = Policy(quotas=Quotas(repeats=None))

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("ochat:read-roots")]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("work/docs", "work/src", "manual", "secret"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.txt").write_text(f"in {name}\n")
    (tmp_path / "manual" / ".env").write_text("KEY=1\n")
    (tmp_path / "manual" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "manual" / "within").symlink_to(tmp_path / "work" / "docs")
    return tmp_path / "work"


def roots(work: Path) -> str:
    return f"""<tool name="read_file" description="Start there.">
  <read id="docs" path="${{workspace}}/docs" description="Design documents"/>
  <read id="manual" path="{work.parent}/manual"/>
</tool>
<tool name="read_dir"/>
<user>hi</user>
"""


@contextmanager
def opened(work: Path, text: str, policy: Policy = UNLIMITED) -> Iterator[Session]:
    file = work / "a.chatmd"
    file.write_text(text)
    resolved = load_agent(str(file), str(work)).resolved
    assert resolved.problems == ()
    with Session(work, resolved.tools, policy=policy, durable=False) as session:
        yield session


async def read(session: Session, **arguments: Any) -> Outcome:
    return await session.call("read_file", WHY, **arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"file": "a.txt", "root": "docs"}, "in work/docs"),
        ({"file": "./../docs/a.txt", "root": "docs"}, "in work/docs"),
        ({"file": "docs/a.txt"}, "in work/docs"),
        ({"path": "a.txt", "root": "manual"}, "in manual"),
        ({"file": "within/a.txt", "root": "manual"}, "in work/docs"),
        ({"file": "{manual}/a.txt"}, "in manual"),
    ],
    ids=range(6),
)
async def test_files_below_the_roots_are_read_wherever_the_roots_lie(
    work: Path, arguments: dict[str, str], expected: str
) -> None:
    given = {
        key: value.replace("{manual}", f"{work.parent}/manual") for key, value in arguments.items()
    }
    with opened(work, roots(work)) as session:
        outcome = await read(session, **given)

    assert outcome.fault is None, outcome.fault
    assert str(outcome.result).endswith(f"[total_lines=1]\n{expected}")


@pytest.mark.parametrize(
    "arguments",
    [
        {"file": "src/a.txt"},
        {"file": "../src/a.txt", "root": "docs"},
        {"file": "../secret/a.txt", "root": "manual"},
        {"file": "out/a.txt", "root": "manual"},
        {"file": "{secret}/a.txt"},
        {"file": "/etc/passwd"},
        {"file": "../manual2/a.txt", "root": "manual"},
        {"file": "none.txt"},
    ],
    ids=range(8),
)
async def test_nothing_else_is_read_and_no_rule_can_change_that(
    work: Path, arguments: dict[str, str]
) -> None:
    (work.parent / "manual2").mkdir()
    given = {
        key: value.replace("{secret}", f"{work.parent}/secret") for key, value in arguments.items()
    }
    rules = (Rule(Verdict.ALLOW, "read_file", "/**"), Rule(Verdict.ALLOW, "read_file"))
    for policy in (UNLIMITED, Policy(rules=rules)):
        with opened(work, roots(work), policy) as session:
            outcome = await read(session, **given)
        assert outcome.fault is not None
        assert outcome.fault.code == "PERMISSION_DENIED"
        assert "outside the configured read roots" in outcome.fault.message


async def test_what_is_below_a_root_and_still_cannot_be_read_says_why(work: Path) -> None:
    with opened(work, roots(work)) as session:
        missing = await read(session, file="b.txt", root="docs")
        directory = await read(session, file=".", root="manual")
        unknown = await read(session, file="a.txt", root="etc")
        absolute = await read(session, file=f"{work}/docs/a.txt", root="docs")
        sensitive = await read(session, file=".env", root="manual")

    faults = [each.fault for each in (missing, directory, unknown, absolute, sensitive)]
    assert [fault.code if fault else None for fault in faults] == [
        "NOT_FOUND", "INVALID_ARGS", "INVALID_ARGS", "INVALID_ARGS", "PERMISSION_DENIED",
    ]  # fmt: skip
    assert faults[3] is not None
    assert "file must be relative when root is provided" in faults[3].message


async def test_roots_are_those_of_one_tool(work: Path) -> None:
    with opened(work, roots(work)) as session:
        listed = await session.call("read_directory", WHY, path="src")
        beyond = await session.call("read_directory", WHY, path=f"{work.parent}/manual")

    assert listed.result == "a.txt"
    assert beyond.fault is not None
    assert beyond.fault.code == "PERMISSION_DENIED"


async def test_the_model_is_told_the_roots_as_they_really_are(work: Path) -> None:
    with opened(work, roots(work)) as session:
        mounted = session.toolbox.find("read_file")

    assert mounted is not None
    assert mounted.tool.description.splitlines()[1:] == [
        f"Root docs is {work}/docs: Design documents",
        f"Root manual is {work.parent}/manual",
        "Start there.",
    ]
    assert mounted.wire_schema["properties"]["root"]["enum"] == ["docs", "manual"]


async def test_the_whole_disk_can_be_a_root(work: Path) -> None:
    text = '<tool name="read_file"><read id="disk" path="/"/></tool>\n<user>hi</user>\n'
    with opened(work, text) as session:
        outcome = await read(session, file="etc/hostname", root="disk")
        inside = await read(session, file="src/a.txt")

    assert outcome.fault is None
    assert inside.fault is None


@pytest.mark.parametrize(
    "place", ["workspace", "tool_dir", "prompt_dir", "source_dir", "session_dir", "cache_dir"]
)
async def test_places_have_names(work: Path, place: str) -> None:
    expected = {"session_dir": work / ".agent/sessions", "cache_dir": work / ".agent/cache"}
    file = work / "docs" / "a.chatmd"
    text = f'<tool name="read_file"><read id="x" path="${{{place}}}"/></tool>\n<user>hi</user>\n'
    file.write_text(text)

    resolved = load_agent(str(file), str(work)).resolved

    found = expected.get(place, work / "docs" if place in ("prompt_dir", "source_dir") else work)
    assert resolved.problems == ()
    assert resolved.tools[0].sandbox.read_roots == (str(found),)


def test_a_root_that_is_no_directory_is_an_error(work: Path) -> None:
    file = work / "a.chatmd"
    file.write_text('\n<tool name="read_file"><read id="x" path="docs/a.txt"/></tool>\n')

    agent = load_agent(str(file), str(work))

    (problem,) = agent.resolved.problems
    assert (problem.code, problem.line) == ("missing-root", 2)
    assert agent.has_errors
