"""Typed functions as tools."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import jsonschema_rs
import msgspec
import pytest

from whence.declare.function import tool
from whence.errors import InvalidArgs
from whence.shapes.tool import Effect, Tool

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("tools:function")]


class Unit(Enum):
    C = "c"
    F = "f"


@dataclass
class Point:
    x: int
    y: int = 0


async def answer(made: Tool, **arguments: Any) -> object:
    assert made.handler is not None
    return await made.handler(arguments, None)


def test_what_may_be_left_out_keeps_its_description() -> None:
    @tool()
    async def find(glob: Annotated[str, "Which files"] | None = None) -> str:
        """Find."""
        return str(glob)

    assert find.input_schema["properties"] == {
        "glob": {"type": "string", "description": "Which files"}
    }


async def test_the_schema_comes_from_the_types() -> None:
    @tool()
    async def weather(
        city: Annotated[str, "Name of the city"],
        days: Annotated[int, msgspec.Meta(ge=1, le=7)] = 1,
        unit: Literal["c", "f"] | None = None,
    ) -> dict[str, float]:
        """Forecast for a city.

        More that the model need not know.
        """
        return {city: float(days)}

    assert weather.name == "weather"
    assert weather.description == "Forecast for a city"
    assert weather.input_schema == {
        "type": "object",
        "required": ["city"],
        "additionalProperties": False,
        "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 1},
            "unit": {"enum": ["c", "f"]},
        },
    }
    assert weather.output_schema == {"type": "object", "additionalProperties": {"type": "number"}}
    assert await answer(weather, city="Bern", days=3) == {"Bern": 3.0}


async def test_nested_types_arrive_as_such() -> None:
    @tool("geo.move")
    async def move(point: Point, unit: Unit = Unit.C, tags: list[str] | None = None) -> str:
        """Move."""
        return f"{type(point).__name__} {point.x} {unit.name} {tags}"

    assert await answer(move, point={"x": 3}, unit="f") == "Point 3 F None"
    jsonschema_rs.meta.validate(dict(move.input_schema))


async def test_a_function_that_is_not_async_runs_too() -> None:
    @tool()
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert await answer(add, a=2, b=3) == 5


async def test_ports_are_given_and_never_shown() -> None:
    @tool(paths={"path": Effect.READ})
    async def peek(ports: object, path: str) -> str:
        """Peek."""
        return f"{path} {ports}"

    assert list(peek.input_schema["properties"]) == ["path"]  # type: ignore[arg-type]
    assert peek.effects == {Effect.READ}
    assert peek.handler is not None
    assert await peek.handler({"path": "a"}, "ports") == "a ports"


async def test_a_parameter_without_a_type_and_star_arguments_are_refused() -> None:
    def untyped(a) -> str:  # type: ignore[no-untyped-def] # noqa: ANN001
        return str(a)

    def starred(*a: int) -> str:
        return str(a)

    for function in (untyped, starred):
        with pytest.raises(TypeError):
            tool()(function)


async def test_a_type_that_contains_itself_is_refused() -> None:
    with pytest.raises(TypeError, match="contains itself"):
        tool()(endless)


class Node(msgspec.Struct):
    next: Node | None = None


async def endless(node: Node) -> str:
    """Endless."""
    return str(node)


async def test_a_value_that_the_type_cannot_take_is_invalid() -> None:
    @tool()
    async def half(n: int) -> int:
        """Half."""
        return n // 2

    with pytest.raises(InvalidArgs):
        await answer(half, n="two")


def test_a_type_without_a_schema_is_named_with_its_function() -> None:
    async def paint(colour: object) -> str:
        return str(colour)

    with pytest.raises(TypeError, match=r"^paint: a type has no JSON Schema: .*object"):
        tool("paint")(paint)


async def test_a_decorator_without_brackets_is_told() -> None:
    def double(x: int) -> int:
        return 2 * x

    with pytest.raises(TypeError, match=r"write @tool\(\)"):
        tool(double)  # type: ignore[arg-type]
