from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.declare.names import Names
from whence.errors import Conflict, NotFound

pytestmark = pytest.mark.requirement("names:wire")

WIRE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=90)
nearly_alike = st.text("ab._-9 é", max_size=4)
name_sets = st.lists(anything | nearly_alike, unique=True, max_size=12)


def plain(*names: str) -> Names:
    return Names.of((name, ()) for name in names)


def digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]


@pytest.mark.parametrize(
    ("canonical", "wire"),
    [
        ("fs.read", "fs_read"),
        ("memory.summarize", "memory_summarize"),
        ("keep-dashes_and_Case", "keep-dashes_and_Case"),
        ("9lives", "_9lives"),
        ("-x", "_-x"),
        (".hidden", "_hidden"),
        ("größe", "gr__e"),
        ("", "_"),
        ("a" * 64, "a" * 64),
        ("a" * 65, "a" * 55 + "_" + digest("a" * 65)),
    ],
)
def test_a_name_gets_its_legal_form(canonical: str, wire: str) -> None:
    assert plain(canonical).wire(canonical) == wire


def test_the_prefix_counts_towards_the_length() -> None:
    name = "9" * 64
    assert plain(name).wire(name) == "_" + "9" * 54 + "_" + digest(name)


def test_a_name_that_is_legal_keeps_it_and_the_other_gets_a_hash() -> None:
    names = plain("fs.read", "fs_read")
    assert names.wire("fs_read") == "fs_read"
    assert names.wire("fs.read") == f"fs_read_{digest('fs.read')}"


def test_of_two_changed_names_the_first_in_order_keeps_the_short_form() -> None:
    names = plain("a:b", "a.b")
    assert names.wire("a.b") == "a_b"
    assert names.wire("a:b") == f"a_b_{digest('a:b')}"


def test_a_hash_that_is_taken_is_drawn_again() -> None:
    squatter = f"a_b_{digest('a.b')}"
    names = plain("a.b", "a_b", squatter)
    assert names.wire(squatter) == squatter
    assert names.wire("a.b") not in {"a_b", squatter}
    assert names.canonical(names.wire("a.b")) == "a.b"


def test_canonical_wire_and_alias_all_find_the_tool() -> None:
    names = Names.of([("fs.read", ["read_file", "View"]), ("fs.write", [])])
    found = [names.canonical(name) for name in ("fs.read", "fs_read", "read_file", "View")]
    assert found == ["fs.read"] * 4
    assert names.canonical("read") is None


def test_an_alias_hides_neither_a_canonical_nor_a_wire_name() -> None:
    names = Names.of([("fs.read", ["fs.write", "fs_write"]), ("fs.write", ["fs_read"])])
    assert names.canonical("fs.write") == "fs.write"
    assert names.canonical("fs_write") == "fs.write"
    assert names.canonical("fs_read") == "fs.read"


def test_an_alias_of_two_tools_means_neither() -> None:
    names = Names.of([("a.x", ["open"]), ("b.x", ["open", "only_b", "only_b"])])
    assert names.canonical("open") is None
    assert names.canonical("only_b") == "b.x"


def test_two_tools_of_one_name_are_a_conflict() -> None:
    with pytest.raises(Conflict) as caught:
        plain("fs.read", "fs.ls", "fs.read")
    assert "'fs.read'" in caught.value.message
    assert caught.value.suggestion


def test_an_unknown_tool_has_no_wire_name_and_the_error_says_which_were_meant() -> None:
    with pytest.raises(NotFound) as caught:
        plain("fs.read", "terminal.run").wire("fs.raed")
    assert "'fs.raed'" in caught.value.message
    assert "fs.read" in caught.value.suggestion
    with pytest.raises(NotFound) as caught:
        plain().wire("fs.read")
    assert caught.value.suggestion


@pytest.mark.parametrize("asked", ["fs.raed", "fs-read", "FS_READ", "Fs Read", "reed_file"])
def test_the_closest_name_comes_first(asked: str) -> None:
    names = Names.of([("fs.read", ["read_file"]), ("search.lexical", []), ("terminal.run", [])])
    assert names.closest(asked)[0] == "fs.read"


def test_closest_names_are_canonical_distinct_and_few() -> None:
    names = Names.of([(f"fs.read{n}", [f"fs-read{n}"]) for n in range(6)])
    assert names.closest("fs.read") == ["fs.read0", "fs.read1", "fs.read2"]
    assert len(names.closest("fs.read", n=5)) == 5
    assert names.closest("zzzz") == []
    assert names.closest("") == []


def test_an_enormous_name_is_looked_up_in_bounded_work() -> None:
    names = plain("fs.read")
    assert names.canonical("x" * 10_000_000) is None
    assert names.closest("x" * 10_000_000) == []


@given(name_sets)
@settings(deadline=None)
def test_wire_names_are_legal_distinct_and_lead_back(names: list[str]) -> None:
    table = plain(*names)
    wires = [table.wire(name) for name in names]
    assert len(set(wires)) == len(names)
    assert all(WIRE.fullmatch(wire) for wire in wires)
    assert [table.canonical(wire) for wire in wires] == names
    assert [table.canonical(name) for name in names] == names
    assert all(set(table.closest(name)) <= set(names) for name in names)


@given(name_sets.flatmap(lambda names: st.tuples(st.just(names), st.permutations(names))))
@settings(deadline=None)
def test_the_table_does_not_depend_on_the_order(orders: tuple[list[str], list[str]]) -> None:
    names, shuffled = orders
    assert plain(*names) == plain(*shuffled)


@given(st.lists(nearly_alike, unique=True, min_size=1), st.lists(nearly_alike))
@settings(deadline=None)
def test_aliases_never_change_what_canonical_and_wire_names_mean(
    names: list[str], aliases: list[str]
) -> None:
    bare, aliased = plain(*names), Names.of((name, aliases) for name in names)
    assert aliased.wires == bare.wires
    for name in [*names, *bare.wires.values()]:
        assert aliased.canonical(name) == bare.canonical(name)
