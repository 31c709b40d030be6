"""Our `dataclass` makes what the standard library's would have made."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.shapes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Ours:
    """A value."""

    a: int
    b: str = "x"
    c: list[int] = field(default_factory=list, repr=False)
    d: int = field(default=0, compare=False)

    @property
    def double(self) -> int:
        return 2 * self.a


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """A value."""

    a: int
    b: str = "x"
    c: list[int] = field(default_factory=list, repr=False)
    d: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plain:
    """Known by its identity, and shown as it says itself."""

    a: int

    def __repr__(self) -> str:
        return "plain"


@dataclass(slots=True)
class Open:
    """Left to the standard library."""

    a: int


values = st.fixed_dictionaries(
    {"a": st.integers(0, 2)},
    optional={"b": st.sampled_from("xy"), "c": st.lists(st.integers(0, 1)), "d": st.integers(0, 1)},
)


@given(values, values)
def test_values_are_made_shown_and_compared_as_the_standard_librarys_are(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    ours, theirs = Ours(**one), Theirs(**one)

    assert repr(ours).replace("Ours", "Theirs") == repr(theirs)
    assert (ours == Ours(**other)) == (theirs == Theirs(**other))
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert dataclasses.asdict(dataclasses.replace(ours, d=7)) == dataclasses.asdict(
        dataclasses.replace(theirs, d=7)
    )
    assert msgspec.json.encode(ours) == msgspec.json.encode(theirs)
    assert msgspec.convert(one, Ours) == ours


@pytest.mark.parametrize("arguments", [(), (1, 2, 3, 4, 5)])
def test_wrong_arguments_are_refused(arguments: tuple[int, ...]) -> None:
    with pytest.raises(TypeError):
        Ours(*arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword"):
        Ours(a=1, z=2)  # type: ignore[call-arg]


def test_nothing_can_be_changed_or_added() -> None:
    value = Ours(1)

    with pytest.raises(dataclasses.FrozenInstanceError):
        value.a = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del value.a
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.z = 2  # type: ignore[attr-defined]
    assert value.a == 1
    assert value.double == 2
    assert not hasattr(value, "__dict__")


def test_a_default_that_is_made_is_made_for_each() -> None:
    Ours(1).c.append(1)

    assert Ours(1).c == []


def test_equal_values_have_one_hash_and_others_of_their_fields_count() -> None:
    assert hash(Empty()) == hash(Empty())
    assert Empty() == Empty()
    assert len({Plain(1), Plain(1)}) == 2
    assert repr(Plain(1)) == "plain"


def test_values_can_be_copied_and_pickled() -> None:
    value = Ours(1, c=[1])

    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert copy.copy(value) == value


def test_a_value_can_be_matched_by_position() -> None:
    match Ours(1, "y"):
        case Ours(a, b):
            assert (a, b) == (1, "y")


def test_the_signature_is_known_once_a_value_was_made() -> None:
    Ours(1)

    assert [*inspect.signature(Ours).parameters] == ["a", "b", "c", "d"]


def test_what_is_not_frozen_is_the_standard_librarys() -> None:
    value = Open(1)
    value.a = 2

    assert value == Open(2)
