"""Schemas in each provider's form, and the tool's own schema untouched."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.declare.toolbox import Toolbox
from whence.errors import InvalidArgs
from whence.provider import anthropic, openai_chat, openai_responses
from whence.provider.profiles import (
    ANTHROPIC,
    ANTHROPIC_STRICT,
    GEMINI,
    OPENAI,
    OPENAI_STRICT,
    PLAIN,
    Profile,
    adapt,
    check_name,
)
from whence.provider.wire import loads
from whence.shapes.schema import without_nulls
from whence.shapes.tool import Tool

PROFILES = [PLAIN, OPENAI, OPENAI_STRICT, ANTHROPIC, ANTHROPIC_STRICT, GEMINI]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "default": 10},
        "cwd": {"type": ["string", "null"]},
        "kind": {"enum": ["a", "b"]},
        "where": {
            "type": "object",
            "properties": {"line": {"type": "integer"}},
            "required": [],
        },
        "all": {
            "type": "array",
            "items": {"type": "object", "properties": {"x": {"type": "number"}}},
        },
    },
    "required": ["path"],
}


def strict(schema: dict[str, Any]) -> Any:
    return adapt(schema, OPENAI_STRICT).schema


def test_under_strictness_every_property_is_demanded_and_optional_ones_may_be_null() -> None:
    adapted = adapt(SCHEMA, OPENAI_STRICT)
    schema: Any = adapted.schema

    assert adapted.strict
    assert schema["required"] == list(SCHEMA["properties"])
    assert schema["additionalProperties"] is False
    assert schema["properties"]["path"]["type"] == "string"
    assert schema["properties"]["limit"]["type"] == ["integer", "null"]
    assert schema["properties"]["cwd"]["type"] == ["string", "null"]
    assert {"type": "null"} in schema["properties"]["kind"]["anyOf"]


def test_strictness_reaches_objects_at_any_depth() -> None:
    properties = strict(SCHEMA)["properties"]

    assert properties["where"]["required"] == ["line"]
    assert properties["where"]["additionalProperties"] is False
    assert properties["all"]["items"]["properties"]["x"]["type"] == ["number", "null"]


def test_a_rule_that_a_provider_does_not_know_is_told_in_words_and_reported() -> None:
    adapted = adapt(SCHEMA, OPENAI_STRICT)
    schema: Any = adapted.schema

    assert schema["properties"]["path"] == {"type": "string", "description": "(minLength: 1)"}
    assert "default: 10" in schema["properties"]["limit"]["description"]
    assert "minLength of path" in [note.what for note in adapted.notes]


@pytest.mark.parametrize(
    "free",
    [
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "additionalProperties": True},
        {"type": "object"},
        {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
        {"type": "array"},
        {},
        True,
    ],
)
def test_a_tool_that_needs_freedom_is_sent_whole_and_without_strictness(free: Any) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"env": free}, "required": ["env"]}
    adapted = adapt(schema, OPENAI_STRICT)

    assert not adapted.strict
    assert adapted.schema == schema
    assert adapted.notes[0].what == "strictness"


def test_a_choice_at_the_top_becomes_one_object_that_loses_no_alternative() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"why": {"type": "string"}},
        "required": ["why"],
        "oneOf": [
            {
                "properties": {"path": {"type": "string"}, "n": {"type": "integer"}},
                "required": ["path", "n"],
            },
            {
                "properties": {"url": {"type": "string"}, "n": {"type": "string"}},
                "required": ["url", "n"],
            },
        ],
    }
    adapted = adapt(schema, ANTHROPIC)

    assert adapted.schema == {
        "type": "object",
        "properties": {
            "why": {"type": "string"},
            "path": {"type": "string"},
            "n": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "url": {"type": "string"},
        },
        "required": ["why", "n"],
    }
    assert adapted.notes[0].fate == "changed"


def test_a_reference_at_the_top_is_followed_and_keeps_the_reason() -> None:
    schema: dict[str, Any] = {
        "$ref": "#/$defs/Args",
        "$defs": {
            "Args": {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]}
        },
        "properties": {"why": {"type": "string"}},
        "required": ["why"],
    }
    adapted: Any = adapt(schema, OPENAI).schema

    assert list(adapted["properties"]) == ["why", "p"]
    assert adapted["required"] == ["why", "p"]


def test_gemini_gets_references_followed_and_null_as_a_flag() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "place": {"$ref": "#/$defs/Place"},
            "cwd": {"type": ["string", "null"]},
            "both": {"type": ["string", "integer"]},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "fixed": {"const": "a"},
            "one": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "count": {"enum": [1, 2]},
        },
        "$defs": {"Place": {"type": "object", "properties": {"x": {"type": "number"}}}},
        "additionalProperties": False,
    }
    adapted: Any = adapt(schema, GEMINI).schema

    assert adapted == {
        "type": "object",
        "properties": {
            "place": {"type": "object", "properties": {"x": {"type": "number"}}},
            "cwd": {"type": "string", "nullable": True},
            "both": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "maybe": {"type": "integer", "nullable": True},
            "fixed": {"enum": ["a"]},
            "one": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "count": {"description": "(enum: [1, 2])"},
        },
    }


def test_a_reference_to_itself_ends_somewhere() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }
    adapted = adapt(schema, GEMINI)

    assert "contains itself" in adapted.notes[0].reason


def test_references_that_multiply_without_end_are_refused() -> None:
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, 40):
        inner = {"$ref": f"#/$defs/d{level - 1}"}
        defs[f"d{level}"] = {"type": "object", "properties": {"a": inner, "b": inner}}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/d39"}},
        "$defs": defs,
    }

    with pytest.raises(InvalidArgs, match="more than 20000 parts"):
        adapt(schema, GEMINI)


def test_all_of_is_folded_where_a_provider_does_not_know_it() -> None:
    inner = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "string"}}},
        ]
    }
    properties = strict({"type": "object", "properties": {"x": inner}, "required": ["x"]})[
        "properties"
    ]

    assert properties["x"]["required"] == ["a", "b"]
    assert properties["x"]["properties"]["b"]["type"] == ["string", "null"]


def test_servers_that_take_json_schema_get_it_as_it_is() -> None:
    assert adapt(SCHEMA, PLAIN).schema is SCHEMA
    assert adapt(SCHEMA, OPENAI).schema == SCHEMA


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", ["", "a" * 129, "fs.read!", "naïve", "a b"])
def test_a_name_that_does_not_fit_is_refused(profile: Profile, name: str) -> None:
    with pytest.raises(InvalidArgs, match="takes no tool called"):
        check_name(name, profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_wire_name_fits_every_profile(profile: Profile) -> None:
    check_name("_" + "a" * 63, profile)


@pytest.mark.parametrize("codec", [openai_chat, openai_responses, anthropic])
def test_only_tools_that_are_declared_strict_are_sent_strictly(codec: Any) -> None:
    box = Toolbox([Tool("held", "d", SCHEMA, None, strict=True), Tool("free", "d", SCHEMA, None)])

    held, free = map(loads, codec.encode_tools(box).fragments)

    held, free = held.get("function", held), free.get("function", free)
    assert held["strict"] is True
    schema = held.get("parameters") or held["input_schema"]
    assert set(schema["required"]) == set(schema["properties"])
    assert not free.get("strict")


def test_the_nulls_of_a_strict_answer_are_left_out_again() -> None:
    arguments = {
        "path": "x",
        "limit": None,
        "cwd": None,
        "kind": None,
        "where": {"line": None},
        "all": [{"x": None}, {"x": 1}],
        "unknown": None,
    }

    assert without_nulls(arguments, SCHEMA) == {
        "path": "x",
        "cwd": None,
        "where": {},
        "all": [{}, {"x": 1}],
        "unknown": None,
    }


def test_a_null_that_the_tool_demands_stays() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    }

    assert without_nulls({"a": None}, schema) == {"a": None}


leaves = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"enum": ["a", 1]},
        {"type": "array", "items": {"type": "string"}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"const": "x"},
        {"type": "string", "format": "uri", "pattern": "^a"},
    ]
)


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    inner = leaves if depth == 0 else leaves | objects(depth - 1)
    properties = draw(st.dictionaries(st.sampled_from("abcde"), inner, max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties) or ["a"]), unique=True, max_size=3))
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in required if name in properties],
    }


@settings(deadline=None, max_examples=60)
@given(objects(), st.sampled_from(PROFILES))
def test_no_profile_changes_the_tool_and_every_result_is_a_schema(
    schema: dict[str, Any], profile: Profile
) -> None:
    before = copy.deepcopy(schema)
    adapted = adapt(schema, profile)

    assert schema == before
    jsonschema_rs.meta.validate(dict(adapted.schema))


@settings(deadline=None, max_examples=60)
@given(objects(), st.data())
def test_what_fits_the_tool_fits_its_strict_form_once_it_is_filled_up(
    schema: dict[str, Any], data: st.DataObject
) -> None:
    adapted = adapt(schema, OPENAI_STRICT)
    value = data.draw(instances(schema))
    filled = with_nulls(value, adapted.schema) if adapted.strict else value

    jsonschema_rs.Draft202012Validator(dict(adapted.schema)).validate(filled)
    restored = without_nulls(filled, schema)
    jsonschema_rs.Draft202012Validator(schema).validate(restored)
    assert {k: v for k, v in restored.items() if v is not None}.keys() == value.keys()


def with_nulls(value: Any, schema: Any) -> Any:
    """What a model under strictness sends: every property, null for those that it leaves out."""
    if isinstance(value, dict) and "properties" in schema:
        return {
            name: with_nulls(value.get(name), inner) for name, inner in schema["properties"].items()
        }
    return value


@st.composite
def instances(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    if "properties" in schema:
        required = schema["required"]
        names = [n for n in schema["properties"] if n in required or draw(st.booleans())]
        return {name: draw(instances(schema["properties"][name])) for name in names}
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kind = schema.get("type", "string")
    return {
        "string": "abc",
        "integer": 3,
        "boolean": True,
        "array": ["x"],
        "object": {"k": "v"},
    }.get(kind if isinstance(kind, str) else "string")
