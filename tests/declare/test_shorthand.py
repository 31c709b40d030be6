from __future__ import annotations

import copy
import datetime
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.declare.shorthand import compile_schema, is_type_word
from whence.declare.type_text import MAX_DEPTH, TYPE_WORDS
from whence.errors import InvalidArgs

pytestmark = pytest.mark.requirement("tools:shorthand")


def refusal(value: object) -> InvalidArgs:
    with pytest.raises(InvalidArgs) as caught:
        compile_schema(value)
    assert caught.value.suggestion
    return caught.value


def accepts(shorthand: object, value: object) -> bool:
    return jsonschema_rs.validator_for(compile_schema(shorthand)).is_valid(value)


@pytest.mark.parametrize(
    ("words", "schema"),
    [
        (("string", "str"), {"type": "string"}),
        (("int", "integer"), {"type": "integer"}),
        (("float", "number"), {"type": "number"}),
        (("bool", "boolean"), {"type": "boolean"}),
        (("array", "list"), {"type": "array"}),
        (("object",), {"type": "object"}),
        (("null",), {"type": "null"}),
        (("any",), {}),
    ],
)
def test_a_word_names_a_type(words: tuple[str, ...], schema: object) -> None:
    assert [compile_schema(word) for word in words] == [schema] * len(words)
    assert all(is_type_word(word) for word in words)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("string[]", {"type": "array", "items": {"type": "string"}}),
        (
            "int[][]",
            {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        ),
        ("int?", {"type": ["integer", "null"]}),
        ("int??", {"type": ["integer", "null"]}),
        ("int?[]", {"type": "array", "items": {"type": ["integer", "null"]}}),
        ("any?", {}),
        ("null?", {"type": "null"}),
        ("int | null", {"type": ["integer", "null"]}),
        ('"file" | "directory"', {"type": "string", "enum": ["file", "directory"]}),
        ("'it''s' | \"a\\\"b\"", {"type": "string", "enum": ["it's", 'a"b']}),
        ('"a" | "b"?', {"type": ["string", "null"], "enum": ["a", "b", None]}),
        ('"a" | "a"', {"type": "string", "enum": ["a"]}),
        ('"a"', {"type": "string", "enum": ["a"]}),
        ("bullet | table", {"type": "string", "enum": ["bullet", "table"]}),
        ("bullet | null", {"type": ["string", "null"], "enum": ["bullet", None]}),
        ("1 | 2 | -3", {"type": "integer", "enum": [1, 2, -3]}),
        ("1 | 2.5", {"type": "number", "enum": [1, 2.5]}),
        ("true | false", {"type": "boolean", "enum": [True, False]}),
        ("true | 1 | auto", {"enum": [True, 1, "auto"]}),
        ("int | string", {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ("int | integer", {"type": "integer"}),
        ("int | any", {}),
        (
            'int | "auto"',
            {"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["auto"]}]},
        ),
        (
            "int | string | null",
            {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        ),
        (
            "(int | null | string?)?",
            {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        ),
        (
            "(int | string)[]",
            {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
        ),
        ("{}", {"type": "object", "properties": {}}),
        (
            "{start: int, end: int}?",
            {
                "type": ["object", "null"],
                "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}},
                "required": ["start", "end"],
            },
        ),
        (
            "{ 'a b': int?, }",
            {"type": "object", "properties": {"a b": {"type": ["integer", "null"]}}},
        ),
        (
            '{type: "x" | "y", items: {properties: int}[]}',
            {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": ["x", "y"]},
                    "items": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"properties": {"type": "integer"}},
                            "required": ["properties"],
                        },
                    },
                },
                "required": ["type", "items"],
            },
        ),
    ],
)
def test_an_expression_becomes_a_schema(text: str, schema: object) -> None:
    assert compile_schema(text) == schema
    assert compile_schema(f"  {text} ") == schema


def test_a_schema_may_be_true_or_false() -> None:
    assert compile_schema(True) == {}
    assert compile_schema(False) == {"not": {}}
    open_object = {"type": "object", "additionalProperties": False}
    assert compile_schema(open_object) == open_object


def test_a_type_word_inside_a_schema_is_mapped_and_the_rest_is_kept() -> None:
    schema = {"type": "int", "default": 10, "description": "How many", "minimum": 1}
    assert compile_schema(schema) == {**schema, "type": "integer"}
    assert compile_schema({"type": ["str", "int", "integer", None]}) == {
        "type": ["string", "integer", "null"]
    }
    assert compile_schema({"type": "any", "title": "t"}) == {"title": "t"}


def test_an_expression_after_type_joins_its_siblings() -> None:
    assert compile_schema({"type": '"a" | "b"', "default": "a"}) == {
        "type": "string",
        "enum": ["a", "b"],
        "default": "a",
    }
    assert compile_schema({"description": "d", "type": "string[]", "maxItems": 3}) == {
        "description": "d",
        "type": "array",
        "items": {"type": "string"},
        "maxItems": 3,
    }


def test_an_expression_that_repeats_a_sibling_is_refused() -> None:
    error = refusal({"type": "string[]", "items": "int"})
    assert "'string[]'" in error.message
    assert "'items'" in error.message


def test_bare_properties_are_an_object_and_required_stays_as_given() -> None:
    assert compile_schema({"properties": {"path": "string", "k": "int"}, "required": ["path"]}) == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "k": {"type": "integer"}},
        "required": ["path"],
    }
    assert "required" not in compile_schema({"properties": {"path": "string"}})


def test_properties_called_like_keywords_are_properties() -> None:
    listing = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "name": "string",
                "type": '"file" | "directory"',
                "items": "int",
                "properties": {"type": "object", "properties": {"required": "bool"}},
                "enum": "string[]",
                "default": {"type": "int"},
            },
        },
    }
    properties = compile_schema(listing)["items"]["properties"]
    assert properties["type"] == {"type": "string", "enum": ["file", "directory"]}
    assert properties["items"] == {"type": "integer"}
    assert properties["properties"]["properties"] == {"required": {"type": "boolean"}}
    assert properties["enum"] == {"type": "array", "items": {"type": "string"}}
    assert properties["default"] == {"type": "integer"}


def test_a_marked_property_may_be_left_out_or_null() -> None:
    shorthand = {"properties": {"a": "int?", "b": "int"}, "required": ["a", "b"]}
    assert compile_schema(shorthand)["required"] == ["b"]
    assert accepts(shorthand, {"b": 1})
    assert accepts(shorthand, {"a": None, "b": 1})
    assert not accepts(shorthand, {"a": "x", "b": 1})
    assert not accepts(shorthand, {"a": 1})


def test_the_mark_also_counts_after_type() -> None:
    marked = {"properties": {"a": {"type": "string?", "description": "d"}}, "required": ["a"]}
    assert compile_schema(marked) == {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"], "description": "d"}},
    }


def test_a_mapping_without_keywords_is_an_object_whose_unmarked_properties_are_required() -> None:
    inline = {"start": "int", "end": "int?", "kind": {"type": "string", "enum": ["a"]}}
    assert compile_schema(inline) == {
        "type": "object",
        "properties": {
            "start": {"type": "integer"},
            "end": {"type": ["integer", "null"]},
            "kind": {"type": "string", "enum": ["a"]},
        },
        "required": ["start", "kind"],
    }


def test_keywords_among_properties_are_told_apart_by_their_values() -> None:
    search = compile_schema({"pattern": "string", "path": "string?", "title": "string"})
    assert list(search["properties"]) == ["pattern", "path", "title"]
    assert search["required"] == ["pattern", "title"]


@pytest.mark.parametrize(
    "mixed",
    [
        {"type": "string", "size": "int"},
        {"type": "object", "range": {"type": "object"}},
        {"description": "A file.", "path": "string"},
    ],
)
def test_properties_beside_keywords_are_refused_instead_of_lost(mixed: object) -> None:
    error = refusal(mixed)
    assert "below `properties:`" in error.suggestion
    assert error.details["at"] == [list(mixed)[-1] if isinstance(mixed, dict) else None]


def test_every_place_of_a_schema_takes_shorthand() -> None:
    compiled = compile_schema(
        {
            "type": "object",
            "additionalProperties": "string",
            "patternProperties": {"^x": "int"},
            "propertyNames": {"type": "str"},
            "$defs": {"line": "int"},
            "anyOf": ["object", {"not": "null"}],
            "properties": {"tuple": {"type": "list", "prefixItems": ["int", "str"]}},
        }
    )
    assert compiled["additionalProperties"] == {"type": "string"}
    assert compiled["patternProperties"] == {"^x": {"type": "integer"}}
    assert compiled["propertyNames"] == {"type": "string"}
    assert compiled["$defs"] == {"line": {"type": "integer"}}
    assert compiled["anyOf"] == [{"type": "object"}, {"not": {"type": "null"}}]
    tuple_items = [{"type": "integer"}, {"type": "string"}]
    assert compiled["properties"]["tuple"] == {"type": "array", "prefixItems": tuple_items}


def test_values_are_never_looked_into() -> None:
    value = {"type": "int", "properties": {"a": "int"}, "nested": ["string?", {"items": "int"}]}
    for keyword in ("default", "const", "x-note", "unknownKeyword"):
        schema = {"type": "object", keyword: value if keyword != "unknownKeyword" else [value]}
        assert compile_schema(schema) == schema
    for keyword in ("enum", "examples"):
        listed: dict[str, Any] = {"type": "object", keyword: [value, "int", None]}
        assert compile_schema(listed) == listed


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/a"},
        {"$ref": "#/$defs/a", "properties": {"b": {"type": "string"}}, "$defs": {"a": {}}},
        {"type": ["string", "null"], "pattern": "^a|b$", "format": "date"},
        {
            "type": "object",
            "if": {"properties": {"kind": {"const": "int"}}},
            "then": {"required": ["size"]},
            "else": {"not": {"properties": {"size": True}}},
            "dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}},
            "dependentRequired": {"a": ["b"]},
        },
        {"description": "Anything", "markdownDescription": "*Anything*"},
        {"type": "object", "properties": {}, "required": [], "additionalProperties": {}},
    ],
)
def test_json_schema_passes_through_unchanged(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    assert compile_schema(schema) == before
    assert schema == before


def test_the_answer_shares_nothing_with_the_argument() -> None:
    default: list[int] = []
    frozen = MappingProxyType({"type": "array", "default": default, "enum": ([], [1])})
    compiled = compile_schema(frozen)
    compiled["default"].append(1)
    assert default == []
    assert compiled["enum"] == [[], [1]]
    compile_schema("int")["type"] = "spoiled"
    assert compile_schema("int") == {"type": "integer"}
    assert TYPE_WORDS["int"] == {"type": "integer"}


@pytest.mark.parametrize(
    ("text", "wrong", "meant"),
    [
        ("strng", "strng", "'string'"),
        ("String", "String", "'string'"),
        ("intger[]", "intger", "'integer'"),
        ("int | strng", "strng", "'string'"),
        ("zzz", "zzz", "The types are"),
        ("list | table", "table", "quoted"),
        ("10", "10", "quoted"),
        ("true", "true", "quoted"),
    ],
)
def test_an_unknown_word_is_refused_with_what_was_meant(text: str, wrong: str, meant: str) -> None:
    error = refusal({"properties": {"a": {"items": text}}})
    assert f"unknown type '{wrong}'" in error.message
    assert "properties.a.items" in error.message
    assert error.details["at"] == ["properties", "a", "items"]
    assert meant in error.suggestion


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "|", "int |", "int]", "[int]", "int[", "()", "(int", "{a}", "{a: int"),
        *("{a: int b: int}", "{: int}", "{a: int, a: int}", '"open', '"\\q" | "a"', "int string"),
        *("{a: }", "?", "int # why"),
    ],
)
def test_text_that_is_no_expression_is_refused_and_shown(text: str) -> None:
    assert repr(text) in refusal(text).message


@pytest.mark.parametrize(
    ("value", "at", "shown"),
    [
        (None, [], "nothing"),
        (3, [], "3"),
        ({"a": None}, ["a"], "nothing"),
        ({"items": ["int", "str"]}, ["items"], "['int', 'str']"),
        ({"properties": ["a"]}, ["properties"], "['a']"),
        ({"anyOf": "int"}, ["anyOf"], "'int'"),
        ({"anyOf": ["int", 7]}, ["anyOf", 1], "7"),
        ({"type": {"a": 1}}, ["type"], "{'a': 1}"),
        ({"type": None}, ["type"], "None"),
        ({"type": ["int", "any"]}, ["type", 1], "'any'"),
        ({"type": ["int", 4]}, ["type", 1], "'4'"),
        ({"type": "object", "required": "a"}, ["required"], '"a"'),
        ({"properties": {"a": "int?"}, "required": [["a"]]}, ["required", 0], '["a"]'),
        ({"type": "string", "minLength": -1}, ["minLength"], "-1"),
        ({"default": float("nan")}, ["default"], "nan"),
        ({"default": datetime.date(2026, 1, 1)}, ["default"], "2026"),
        ({"enum": [{1, 2}]}, ["enum", 0], "{1, 2}"),
        ({"const": "a\ud800"}, ["const"], "UTF-8"),
        ({"properties": {"\udfff": "int"}}, ["properties"], "UTF-8"),
        ({"maximum": 10**5000}, ["maximum"], "300 digits"),
        ({"properties": {True: "int"}}, ["properties"], "True"),
    ],
)
def test_what_is_no_schema_is_refused_where_it_stands(
    value: object, at: list[object], shown: str
) -> None:
    error = refusal(value)
    assert error.details["at"] == at
    assert shown in error.message


def nested(levels: int, key: str) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {key: value}
    return value


def nested_list(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def test_depth_is_bounded_wherever_it_hides() -> None:
    endless: dict[str, Any] = {}
    endless["items"] = endless
    for value in (
        nested(10_000, "items"),
        nested(10_000, "default"),
        {"default": nested_list(10_000)},
        endless,
        "int" + "[]" * 1_000,
        "(" * 1_000 + "int" + ")" * 1_000,
        "{a: " * 700 + "int" + "}" * 700,
    ):
        assert f"more than {MAX_DEPTH} levels" in refusal(value).message


def test_the_deepest_schema_that_is_allowed_compiles() -> None:
    schema = nested(MAX_DEPTH - 1, "items")
    assert compile_schema(schema) == schema
    refusal({"items": schema})


def test_size_is_bounded() -> None:
    assert "values" in refusal({"enum": list(range(30_000))}).message
    assert "5,000 characters" in refusal("x" * 5_000).message
    doubling: list[Any] = []
    for _ in range(40):
        doubling = [doubling, doubling]
    refusal({"default": doubling})


@dataclass(frozen=True)
class Sample:
    """Shorthand together with values that fit it, and values that do not."""

    shorthand: Any
    good: st.SearchStrategy[Any]
    bad: st.SearchStrategy[Any]


NAMES = st.sampled_from(["path", "type", "items", "properties", "required", "a b", "größe"])
WORDS = st.text("abcxyz", min_size=4, max_size=6)
LEAVES: list[Sample] = [
    Sample("string", st.text(), st.integers() | st.none()),
    Sample("str", st.text(), st.booleans()),
    Sample("int", st.integers(), st.text() | st.none() | st.just(1.5)),
    Sample("float", st.floats(allow_nan=False, allow_infinity=False), st.text()),
    Sample("number", st.integers(), st.booleans()),
    Sample("bool", st.booleans(), st.integers() | st.text()),
    Sample("object", st.dictionaries(st.text(), st.integers()), st.lists(st.none())),
    Sample("list", st.lists(st.integers()), st.text()),
    Sample("null", st.none(), st.text() | st.booleans()),
    Sample('"file" | "directory"', st.sampled_from(["file", "directory"]), WORDS | st.integers()),
    Sample("bullet | table", st.sampled_from(["bullet", "table"]), WORDS | st.none()),
    Sample("1 | 2", st.sampled_from([1, 2]), st.integers(min_value=3) | st.just("1")),
    Sample("(int | string)", st.integers() | st.text(), st.none() | st.lists(st.text())),
]


def array_of(sample: Sample, *, as_text: bool) -> Sample:
    whole = f"({sample.shorthand})[]" if as_text else {"type": "list", "items": sample.shorthand}
    spoiled = st.tuples(st.lists(sample.good, max_size=2), sample.bad).map(lambda t: [*t[0], t[1]])
    return Sample(whole, st.lists(sample.good, max_size=3), spoiled | st.text())


def optional(sample: Sample) -> Sample:
    whole = f"({sample.shorthand})?"
    return Sample(whole, sample.good | st.none(), sample.bad.filter(lambda bad: bad is not None))


def object_of(parts: dict[str, Sample], *, as_text: bool) -> Sample:
    """An object whose unmarked properties are required, as text or as a schema."""
    entries = {name: part.shorthand for name, part in parts.items()}
    whole: object = {"properties": entries, "required": list(parts)}
    if as_text:
        whole = "{" + ", ".join(f'"{name}": {text}' for name, text in entries.items()) + "}"
    good = st.fixed_dictionaries({name: part.good for name, part in parts.items()})
    spoils = [
        st.tuples(good, st.just(name), part.bad).map(lambda t: {**t[0], t[1]: t[2]})
        for name, part in parts.items()
    ]
    lacking = [
        good.map(lambda value, name=name: {k: v for k, v in value.items() if k != name})  # type: ignore[misc]
        for name, part in parts.items()
        if not str(part.shorthand).endswith("?")
    ]
    return Sample(whole, good, st.one_of(*spoils, *lacking, st.text()))


def grow(inner: st.SearchStrategy[Sample]) -> st.SearchStrategy[Sample]:
    def is_text(sample: Sample) -> bool:
        return isinstance(sample.shorthand, str)

    texts = inner.filter(is_text)
    return st.one_of(
        st.builds(array_of, inner, as_text=st.just(False)),
        st.builds(array_of, texts, as_text=st.just(True)),
        st.builds(optional, texts),
        st.builds(
            object_of, st.dictionaries(NAMES, inner, min_size=1, max_size=3), as_text=st.just(False)
        ),
        st.builds(
            object_of,
            st.dictionaries(NAMES, texts, min_size=1, max_size=3),
            as_text=st.just(True),
        ),
    )


samples = st.recursive(st.sampled_from(LEAVES), grow, max_leaves=5)


@given(samples)
@settings(deadline=None)
def test_any_shorthand_becomes_a_valid_schema_once_and_for_all(sample: Sample) -> None:
    schema = compile_schema(sample.shorthand)
    assert jsonschema_rs.meta.is_valid(schema)
    assert compile_schema(schema) == schema


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_what_fits_the_shorthand_is_accepted_and_what_does_not_is_rejected(
    data: st.DataObject,
) -> None:
    sample = data.draw(samples)
    validator = jsonschema_rs.validator_for(compile_schema(sample.shorthand))
    good = data.draw(sample.good)
    assert validator.is_valid(good)
    assert not validator.is_valid(data.draw(sample.bad))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from([*TYPE_WORDS]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "items", "properties", "required", "enum", "anyOf", "path"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values | st.text(" ab\"|?[]{}(),:'1", max_size=20))
@settings(deadline=None, max_examples=300)
def test_whatever_comes_in_a_valid_schema_or_a_refusal_comes_out(value: object) -> None:
    try:
        schema = compile_schema(value)
    except InvalidArgs:
        assert refusal(value).message
        return
    assert jsonschema_rs.meta.is_valid(schema)
    assert compile_schema(schema) == schema
