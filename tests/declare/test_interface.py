"""What an agent takes and gives."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.declare.declaring import codes, one_problem, resolved
from whence.shapes.declaration import PLAIN_INPUT, Param


def test_without_inputs_an_agent_takes_one_text_and_answers_with_text() -> None:
    interface = resolved("<system>Be kind.</system>").interface

    assert interface.input_schema == PLAIN_INPUT
    assert interface.inputs == ()
    assert interface.output_schema is None


def test_inputs_become_the_schema() -> None:
    found = resolved(
        '<input name="topic" type="string" description="What about" required/>\n'
        '<input name="depth" type="int" default="2"/>\n'
        '<input name="tone" enum="dry,warm"/>\n'
        '<input name="tags" type="string[]" default=\'["a"]\'/>\n'
        '<input name="note" type="string?" required/>'
    )

    assert found.problems == ()
    assert found.interface.input_schema == {
        "type": "object",
        "properties": {
            "topic": {"type": "string", "description": "What about"},
            "depth": {"type": "integer", "default": 2},
            "tone": {"type": "string", "enum": ["dry", "warm"]},
            "tags": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
            "note": {"type": ["string", "null"]},
        },
        "required": ["topic"],
        "additionalProperties": False,
    }
    assert found.interface.inputs[0] == Param(
        "topic", {"type": "string", "description": "What about"}, required=True
    )


@pytest.mark.parametrize(
    ("attributes", "schema"),
    [
        ("", {"type": "string"}),
        ('type="bool"', {"type": "boolean"}),
        ('type="a | b"', {"type": "string", "enum": ["a", "b"]}),
        ('type="{x: int, y: int?}[]"', None),
        ('type="integer" enum="1, 2,3"', {"type": "integer", "enum": [1, 2, 3]}),
        ('enum=\'["a,b", "c"]\'', {"type": "string", "enum": ["a,b", "c"]}),
        ('type="number" default="1.5"', {"type": "number", "default": 1.5}),
        ('type="string" default="5"', {"type": "string", "default": "5"}),
        ('type="string" default=""', {"type": "string", "default": ""}),
        ('type="boolean" default="false"', {"type": "boolean", "default": False}),
        ('type="any" default="x"', {"default": "x"}),
    ],
)
def test_types_choices_and_defaults_are_read_by_the_type(attributes: str, schema: Any) -> None:
    found = resolved(f'<input name="x" {attributes}/>')

    assert found.problems == ()
    if schema is not None:
        assert found.interface.inputs[0].schema == schema


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ('name="x" type="intger"', "bad-type"),
        ('name="x" type="{a: "', "bad-type"),
        ('name="x" type="int" default="two"', "bad-default"),
        ('name="x" type="int" default="1.5"', "bad-default"),
        ('name="x" type="number" default="NaN"', "bad-default"),
        ('name="x" enum="[1"', "bad-enum"),
        ('name="two words"', "bad-name"),
        ('name=""', "bad-name"),
    ],
)
def test_a_bad_input_is_an_error_at_its_attribute(attributes: str, code: str) -> None:
    problem = one_problem(resolved(f"<input {attributes}/>"))

    assert problem.code == code
    assert problem.source_line[problem.column - 1 :].startswith(code.removeprefix("bad-"))
    assert problem.suggestion


def test_a_wrong_type_says_what_was_meant() -> None:
    problem = one_problem(resolved('<input name="x" type="intger"/>'))

    assert "intger" in problem.message
    assert "integer" in problem.suggestion


def test_an_input_declared_twice_is_an_error_that_names_the_first_line() -> None:
    found = resolved('<input name="x"/>\n\n<input name="x" type="int"/>')

    problem = one_problem(found)
    assert (problem.code, problem.line) == ("duplicate-input", 3)
    assert "line 1" in problem.message
    assert found.interface.inputs[0].schema == {"type": "string"}


@pytest.mark.parametrize(
    "text",
    [
        '<output schema="{title: string, tags: string[]}"/>',
        "<output>{title: string, tags: string[]}</output>",
        '<output>{"required": ["title", "tags"], "properties": {"title": {}}}</output>',
    ],
)
def test_an_answer_is_described_in_shorthand_or_json_schema(text: str) -> None:
    found = resolved(text)

    assert found.problems == ()
    schema = found.interface.output_schema
    assert schema is not None
    validator = jsonschema_rs.Draft202012Validator(dict(schema))
    assert validator.is_valid({"title": "x", "tags": ["y"]})
    assert not validator.is_valid({"title": "x"})


def test_a_description_of_the_answer_is_kept() -> None:
    found = resolved('<output schema="string" description="One line"/>')

    assert found.interface.output_schema == {"type": "string", "description": "One line"}


@pytest.mark.parametrize(
    "text",
    [
        "<output/>",
        '<output schema=" "></output>',
        '<output schema="string">string</output>',
        '<output schema="strng"/>',
        '<output>{"type": "object", "properties": []}</output>',
        '<output>{"$ref": "https://example.org/schema"}</output>',
        '<output>{"pattern": "("}</output>',
        "<output>[1, 2]</output>",
    ],
)
def test_an_answer_that_is_not_described_is_an_error(text: str) -> None:
    found = resolved(text)

    assert codes(found) == ["bad-schema"]
    assert found.interface.output_schema is None


def test_a_second_output_is_an_error() -> None:
    found = resolved('<output schema="string"/>\n<output schema="int"/>')

    assert codes(found) == ["duplicate-output"]
    assert found.interface.output_schema == {"type": "string"}


VALUES = st.one_of(
    st.text(st.characters(exclude_characters='"<>&\\\0', exclude_categories=["Cs", "Cc"])),
    st.sampled_from(["int", "string[]", "[1,2]", "{a: int}", "1e999", "[" * 500, "null", "true"]),
)


@given(VALUES, VALUES, VALUES)
@settings(deadline=None, max_examples=200)
def test_any_type_choice_and_default_gives_a_usable_schema_or_a_problem(
    kind: str, enum: str, default: str
) -> None:
    found = resolved(f'<input name="x" type="{kind}" enum="{enum}" default="{default}"/>')

    (declared,) = found.interface.inputs
    validator = jsonschema_rs.Draft202012Validator(dict(declared.schema))
    if "default" in declared.schema:
        assert validator.is_valid(declared.schema["default"])
    else:
        assert "bad-default" in codes(found)
