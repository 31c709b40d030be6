"""Grammars and places: what the networks may say, and where it goes."""

from __future__ import annotations

from typing import Any

import pytest

from whence.declare.toolbox import Toolbox
from whence.provider.local import paths, plainly
from whence.provider.local.fit import fit
from whence.provider.local.grammar import one_of, spans
from whence.provider.local.pieces import pieces_of
from whence.provider.local.plainly import Known
from whence.provider.local.slots import Slot, Want, slots_of
from whence.shapes.tool import Effect, Tool


def slots(properties: dict[str, Any], *required: str, **paths: Effect) -> tuple[Slot, ...]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": list(required),
    }
    (mounted,) = Toolbox([Tool("t", "A tool", schema, None, paths=paths)])
    return slots_of(mounted)


def test_the_kind_of_a_place_comes_from_type_format_name_and_declared_paths() -> None:
    found = slots(
        {
            "count": {"type": "integer"},
            "on": {"type": "boolean"},
            "unit": {"enum": ["c", "f"]},
            "url": {"type": "string"},
            "mail": {"type": "string", "format": "email"},
            "file_name": {"type": "string"},
            "where": {"type": "string"},
            "destination": {"type": "string", "description": "Where the train goes"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "labels": {"type": "array", "items": {"type": "string"}},
            "range": {"type": "object", "properties": {"start": {"type": "integer"}}},
            "odd": {"type": "array", "items": {"type": "array"}},
        },
        where=Effect.READ,
    )

    assert {".".join(slot.at): slot.want.value for slot in found} == {
        "count": "number", "on": "truth", "unit": "choice", "url": "url", "mail": "email",
        "file_name": "path", "where": "path", "destination": "text", "maybe": "number",
        "labels": "list", "range.start": "number", "odd": "other",
    }  # fmt: skip


def test_a_leaf_of_an_optional_object_is_not_required() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

    (slot,) = slots({"range": inner})

    assert (slot.at, slot.required) == (("range", "a"), False)


def test_alternatives_are_escaped() -> None:
    assert one_of(['say "hi"', "back\\slash"], '"') == (
        'root ::= ("say \\"hi\\"" | "back\\\\slash") "\\""'
    )


@pytest.mark.requirement("local:spans")
def test_a_span_neither_ends_nor_goes_on_with_words_that_only_join() -> None:
    request = "the way to Rome"
    grammar = spans(request, pieces_of(request), [0, 1, 2, 3], [1])

    assert grammar is not None
    assert grammar.splitlines() == [
        'root ::= (w1) "\\""',
        'w3 ::= "Rome"',
        'w2 ::= "to" (" " w3)',
        'w1 ::= "way" (" " w2)?',
        'w0 ::= "the" (" " w1)',
    ]


def test_where_nothing_is_left_there_is_no_grammar() -> None:
    request = "to the"

    assert spans(request, pieces_of(request), [0, 1], [0, 1]) is None


def test_a_word_beside_a_value_that_names_its_place_is_used_up_with_it() -> None:
    (priority,) = slots({"priority": {"enum": ["low", "high"]}})
    known = Known.of("water the plants, high priority")

    ((choice, indices),) = plainly.said_choices(priority, known)
    known.take(priority, choice, indices)

    assert choice == "high"
    assert [known.pieces[index].text for index in sorted(known.used)] == ["high", "priority"]


def test_a_choice_inside_quoted_words_chooses_nothing() -> None:
    (state,) = slots({"state": {"enum": ["open", "closed"]}})

    assert plainly.said_choices(state, Known.of('write "the door is open"')) == []


def test_numbers_outside_the_bounds_of_a_place_do_not_fit() -> None:
    (level,) = slots({"level": {"type": "integer", "minimum": 0, "maximum": 100}})
    known = Known.of("300 or 2.5 or 40")

    assert [number for number, _ in plainly.said_numbers(level, known)] == [40]


@pytest.mark.parametrize(
    ("request_text", "path"),
    [
        ("the docs folder", "docs"),
        ("list the files in src", "src"),
        ("the file notes", "notes"),
    ],
)
def test_a_word_can_be_a_path_by_where_it_stands(request_text: str, path: str) -> None:
    (slot,) = slots({"path": {"type": "string"}}, "path")
    known = Known.of(request_text)

    assert [known.pieces[i].text for i in paths.bare_paths(slot, known)] == [path]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("label", "labelled", True),
        ("commit", "commits", True),
        ("schedule", "scheduling", True),
        ("make", "makefile", False),
        ("comment", "command", False),
        ("to", "tool", False),
    ],
)
def test_forms_of_a_word_are_told_from_other_words(one: str, other: str, same: bool) -> None:
    assert plainly.same_word(one, other) is same


def test_what_is_missing_and_what_is_left_over_is_counted() -> None:
    found = slots({"n": {"type": "integer"}, "kind": {"enum": ["a1", "b2"]}}, "n")

    assert fit(found, Known.of("do b2 with 5"))[:] == (0, 0, 1)
    assert fit(found, Known.of("do it with x.txt"))[:] == (2, 1, 0)


def test_a_folder_is_no_file() -> None:
    (slot,) = slots({"path": {"type": "string", "description": "File to read"}}, "path")

    assert paths.is_other_thing(slot, Known.of("what is in the docs folder"))
    assert not paths.is_other_thing(slot, Known.of("read a.txt in the docs folder"))
    assert slot.want is Want.PATH
