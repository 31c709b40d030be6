"""apply_patch as a model calls it: as a function, and as text under a grammar."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whence.declare.toolbox import Toolbox
from whence.loop.agent_file import load_agent
from whence.loop.session import Session
from whence.provider import openai_chat, openai_responses
from whence.shapes.item import ToolCall
from whence.shapes.policy import Policy, Rule, Verdict

WHY = "Greet as the test expects"
PATCH = """\
*** Begin Patch
*** Update File: src/a.py
@@
 one
-two
+zwei
 three
*** Add File: docs/new.md
+# New
*** End Patch
"""

pytestmark = pytest.mark.anyio


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("one\ntwo\nthree\n")
    return tmp_path


@pytest.fixture
def session(work: Path) -> Iterator[Session]:
    with Session(work, durable=False) as opened:
        yield opened


@pytest.mark.requirement("ochat:patch")
@pytest.mark.parametrize("argument", ["input", "patch"])
async def test_a_patch_changes_several_files(session: Session, work: Path, argument: str) -> None:
    outcome = await session.call("apply_patch", WHY, **{argument: PATCH})

    assert outcome.fault is None, outcome.fault
    assert (work / "src" / "a.py").read_text() == "one\nzwei\nthree\n"
    assert (work / "docs" / "new.md").read_text() == "# New\n"
    assert "✅ Patch applied successfully!" in str(outcome.result)


@pytest.mark.requirement("ochat:patch")
@pytest.mark.parametrize(
    "line",
    ["*** Delete File: .agent/x", "*** Delete File: ../x", "*** Delete File: /etc/hosts",
     "*** Update File: src/a.py\n*** Move to: ../b", "*** Delete File: .env"],
    ids=["journal", "above", "absolute", "moved", "secrets"],
)  # fmt: skip
async def test_the_gate_sees_every_path_of_a_patch(session: Session, work: Path, line: str) -> None:
    patch = PATCH.replace("*** Add File", f"{line}\n*** Add File")

    outcome = await session.call("apply_patch", WHY, input=patch)

    assert outcome.fault is not None
    assert outcome.fault.code == "PERMISSION_DENIED"
    assert (work / "src" / "a.py").read_text() == "one\ntwo\nthree\n"
    assert not (work / "docs").exists()


@pytest.mark.requirement("ochat:patch")
async def test_rules_hold_for_the_files_of_a_patch(work: Path) -> None:
    policy = Policy(rules=(Rule(Verdict.DENY, "apply_patch", "docs/**"),))
    with Session(work, policy=policy, durable=False) as session:
        outcome = await session.call("apply_patch", WHY, input=PATCH)

    assert outcome.fault is not None
    assert "docs/**" in outcome.fault.message


@pytest.mark.requirement("ochat:patch")
@pytest.mark.parametrize("text", ["", "no patch", "*** Begin Patch\n*** End Patch"])
async def test_what_is_no_patch_is_refused(session: Session, text: str) -> None:
    outcome = await session.call("apply_patch", WHY, input=text)

    assert outcome.fault is not None
    assert outcome.fault.code == "INVALID_ARGS"


def tools_of(work: Path, attributes: str) -> Toolbox:
    file = work / "a.chatmd"
    file.write_text(f'<tool name="apply_patch"{attributes}/>\n<user>hi</user>\n')
    resolved = load_agent(str(file), str(work)).resolved
    assert resolved.problems == ()
    return Toolbox(resolved.tools)


@pytest.mark.requirement("ochat:freeform")
def test_a_prompt_can_ask_for_text_under_a_grammar(work: Path) -> None:
    (wire,) = openai_responses.encode_tools(tools_of(work, " freeform")).fragments
    tool: dict[str, Any] = json.loads(wire)

    assert (tool["type"], tool["name"]) == ("custom", "apply_patch")
    assert "parameters" not in tool
    assert tool["format"]["type"] == "grammar"
    assert tool["format"]["syntax"] == "lark"
    assert tool["format"]["definition"].startswith("start: WHY free\n")
    assert tool["format"]["definition"].count("start:") == 1


@pytest.mark.requirement("ochat:freeform")
@pytest.mark.parametrize(
    ("attributes", "codec"), [("", openai_responses), (" freeform", openai_chat)]
)
def test_otherwise_and_elsewhere_it_is_a_function(work: Path, attributes: str, codec: Any) -> None:
    (wire,) = codec.encode_tools(tools_of(work, attributes)).fragments

    assert json.loads(wire)["type"] == "function"


@pytest.mark.requirement("ochat:freeform")
def test_the_grammar_takes_a_patch_with_its_reason_and_none_without(work: Path) -> None:
    lark = pytest.importorskip("lark")
    (wire,) = openai_responses.encode_tools(tools_of(work, " freeform")).fragments
    parser = lark.Lark(json.loads(wire)["format"]["definition"], parser="earley")

    parser.parse(f"*** Why: {WHY}\n{PATCH}")
    for wrong in (PATCH, f"*** Why: \n{PATCH}", f"*** Why: {WHY}\n", f"{WHY}\n{PATCH}"):
        with pytest.raises(lark.exceptions.LarkError):
            parser.parse(wrong)


@pytest.mark.requirement("ochat:freeform")
async def test_a_call_of_text_gives_its_reason_in_its_first_line(
    session: Session, work: Path
) -> None:
    text = f"*** Why: {WHY}\n{PATCH}"
    call = ToolCall("c1", "apply_patch", text, {"input": text}, custom=True)

    outcome = await session.perform(call.as_call())

    assert outcome.fault is None, outcome.fault
    assert (work / "docs" / "new.md").exists()
    without = ToolCall("c2", "apply_patch", PATCH, {"input": PATCH}, custom=True)
    refused = await session.perform(without.as_call())
    assert refused.fault is not None
    assert refused.fault.code == "MISSING_WHY"


@pytest.mark.requirement("ochat:freeform")
def test_a_tool_that_takes_no_text_cannot_be_asked_for_it(work: Path) -> None:
    file = work / "a.chatmd"
    file.write_text('<tool name="read_dir" freeform/>\n<user>hi</user>\n')

    (problem,) = load_agent(str(file), str(work)).resolved.problems

    assert problem.code == "misplaced-attribute"
