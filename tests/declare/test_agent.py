"""Other agent files as tools."""

from __future__ import annotations

import pytest

from tests.declare.declaring import codes, one_problem, one_tool, resolved
from whence.shapes.declaration import PLAIN_INPUT, AgentReference
from whence.shapes.tool import Effect

TRIAGE = "prompts/triage.chatmd"
DECLARED = f'<tool name="triage" agent="{TRIAGE}" local/>'


def test_an_agent_takes_one_text_where_its_file_says_nothing() -> None:
    files = {TRIAGE: "<system>Sort bugs.</system>"}
    tool = one_tool(DECLARED, files=files)

    assert tool.input_schema == PLAIN_INPUT
    assert tool.output_schema is None
    assert (tool.source, tool.handler, tool.effects) == ("agent", None, frozenset())
    assert TRIAGE in tool.description
    assert resolved(DECLARED, files=files).bindings == {"triage": AgentReference(TRIAGE)}


def test_an_agent_takes_and_gives_what_its_file_declares() -> None:
    file = (
        '<input name="bug" description="The report" required/><input name="depth" type="int"/>'
        '<output schema="{severity: int}"/><system>Sort bugs.</system>'
    )
    tool = one_tool(DECLARED, files={TRIAGE: file})

    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "bug": {"type": "string", "description": "The report"},
            "depth": {"type": "integer"},
        },
        "required": ["bug"],
        "additionalProperties": False,
    }
    assert tool.output_schema == {
        "type": "object",
        "properties": {"severity": {"type": "integer"}},
        "required": ["severity"],
    }


def test_local_may_be_left_out_for_a_file() -> None:
    found = resolved('<tool agent="./a.chatmd" name="a"/>', files={"./a.chatmd": ""})

    assert found.bindings == {"a": AgentReference("./a.chatmd")}


def test_a_description_and_a_timeout_of_its_own() -> None:
    text = f'<tool name="triage" agent="{TRIAGE}" description="Sorts bugs" timeout="5m"/>'
    tool = one_tool(text, files={TRIAGE: ""})

    assert tool.description == "Sorts bugs"
    assert tool.sandbox.timeout_ms == 300_000


def test_an_agent_may_take_longer_than_other_tools() -> None:
    assert one_tool(DECLARED, files={TRIAGE: ""}).sandbox.timeout_ms == 600_000


def test_a_remote_agent_is_not_fetched_to_be_declared() -> None:
    found = resolved('<tool name="far" agent="https://example.org/far.chatmd"/>')

    assert found.problems == ()
    assert found.bindings == {"far": AgentReference("https://example.org/far.chatmd", remote=True)}
    assert found.tools[0].effects == {Effect.NETWORK}
    assert found.tools[0].input_schema == PLAIN_INPUT


def test_a_missing_file_is_reported_where_it_is_named() -> None:
    found = resolved("\n" + DECLARED)

    problem = one_problem(found)
    assert found.tools == ()
    assert problem.code == "unusable-agent"
    assert problem.message == f"There is no file {TRIAGE}."
    assert (problem.line, problem.column) == (2, 21)


def test_a_bad_interface_of_the_other_file_names_its_line() -> None:
    found = resolved(DECLARED, files={TRIAGE: '<system>x</system>\n<input name="a" type="nt"/>'})

    problem = one_problem(found)
    assert problem.code == "unusable-agent"
    assert problem.message.startswith(f"{TRIAGE}:2:17: ")
    assert found.tools == ()


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ('name="a" agent=""', "bad-agent"),
        ('name="a" agent="http://example.org/a.chatmd"', "bad-agent"),
        ('name="a" agent="file:///etc/passwd"', "bad-agent"),
        ('name="a" agent="https://example.org/a.chatmd" local', "bad-agent"),
        (f'agent="{TRIAGE}"', "missing-name"),
        (f'name="a" agent="{TRIAGE}" timeout="never"', "bad-timeout"),
    ],
)
def test_a_senseless_reference_is_an_error(attributes: str, code: str) -> None:
    assert codes(resolved(f"<tool {attributes}/>", files={TRIAGE: ""})) == [code]


def test_local_may_be_denied_for_an_address() -> None:
    text = '<tool name="far" agent="https://example.org/far.chatmd" local="false"/>'

    assert resolved(text).problems == ()
