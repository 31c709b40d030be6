"""Settings of an agent file."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.declare.declaring import codes, one_problem, resolved
from whence.chatmd.grammar import ELEMENTS
from whence.shapes.declaration import Budget, Config, Effort, ToolProtocol
from whence.shapes.document import Severity
from whence.shapes.policy import WhyPolicy


def test_every_setting_is_read_as_its_type() -> None:
    found = resolved(
        '<config model="openai:gpt-5" max_tokens="4096" temperature="0.7" reasoning_effort="low"'
        ' show_tool_call id="run-1" mode="code" why="strict" max_turns="20"'
        ' parallel_tool_calls="false" protocol="xml" budget="$2.50, 200k tokens"/>'
    )

    assert found.problems == ()
    assert found.config == Config(
        model="openai:gpt-5",
        max_tokens=4096,
        temperature=0.7,
        reasoning_effort=Effort.LOW,
        show_tool_call=True,
        id="run-1",
        mode="code",
        why=WhyPolicy.STRICT,
        max_turns=20,
        parallel_tool_calls=False,
        protocol=ToolProtocol.XML,
        budget=Budget(2.5, 200_000),
    )


def test_the_settings_are_those_that_the_grammar_knows() -> None:
    assert {field.name for field in fields(Config)} == ELEMENTS["config"].attributes


def test_a_file_without_settings_says_nothing() -> None:
    assert resolved("<user>hi</user>").config == Config()
    assert resolved("<config/>").config.parallel_tool_calls is True


def test_the_first_config_wins_and_each_later_one_warns() -> None:
    found = resolved('\n<config model="a"/>\n<config model="b" temperature="hot"/>\n<config/>')

    assert found.config.model == "a"
    assert codes(found) == ["extra-config", "extra-config"]
    assert {each.severity for each in found.problems} == {Severity.WARNING}
    assert "line 2" in found.problems[0].message
    assert [each.line for each in found.problems] == [3, 4]


@pytest.mark.parametrize(
    ("attribute", "value", "would_do"),
    [
        ("temperature", "hot", "from 0 to 2"),
        ("temperature", "2.1", "from 0 to 2"),
        ("temperature", "nan", "from 0 to 2"),
        ("temperature", "-1", "from 0 to 2"),
        ("max_tokens", "many", "whole number above 0"),
        ("max_tokens", "0", "whole number above 0"),
        ("max_tokens", "1.5", "whole number above 0"),
        ("max_turns", "-3", "whole number above 0"),
        ("max_turns", "9" * 5000, "whole number above 0"),
        ("reasoning_effort", "hgh", "Did you mean high?"),
        ("why", "requird", "Did you mean required?"),
        ("protocol", "json", "native, xml"),
        ("mode", "no such mode", "slug"),
        ("model", " ", "Give it a value"),
        ("id", "", "Give it a value"),
        ("budget", "5", "$2.50"),
        ("budget", "", "200k tokens"),
        ("budget", "$1, $2", "each once"),
        ("budget", "0 tokens", "each once"),
    ],
)
def test_a_bad_value_is_an_error_that_says_what_would_do(
    attribute: str, value: str, would_do: str
) -> None:
    found = resolved(f'<config {attribute}="{value}"/>')

    problem = one_problem(found)
    assert problem.code == f"bad-{attribute.replace('_', '-')}"
    assert value[:50] in problem.message
    assert would_do in problem.suggestion
    assert problem.column == 9
    assert getattr(found.config, attribute) is None


def test_one_bad_value_does_not_take_the_others_with_it() -> None:
    found = resolved('<config model="m" temperature="hot" max_turns="x" why="off"/>')

    assert codes(found) == ["bad-temperature", "bad-max-turns"]
    assert (found.config.model, found.config.why) == ("m", WhyPolicy.OFF)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("$3", Budget(dollars=3)),
        ("1000 tokens", Budget(tokens=1000)),
        ("2M tokens", Budget(tokens=2_000_000)),
        ("500tokens,$ 0.5", Budget(0.5, 500)),
    ],
)
def test_a_budget_is_money_tokens_or_both(text: str, budget: Budget) -> None:
    assert resolved(f'<config budget="{text}"/>').config.budget == budget


@given(st.floats(min_value=0, max_value=2))
@settings(deadline=None)
def test_any_temperature_within_bounds_is_kept(temperature: float) -> None:
    written = f"{temperature:.12f}"

    assert resolved(f'<config temperature="{written}"/>').config.temperature == float(written)
