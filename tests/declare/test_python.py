"""Functions of Python files as tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.declare.declaring import codes, one_problem, resolved
from whence.declare.function import tool
from whence.declare.python import load_function
from whence.errors import InvalidArgs, NotFound, WhenceError
from whence.shapes.declaration import PythonReference
from whence.shapes.document import Severity
from whence.shapes.tool import Effect, Tool

GOOD = '''from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

seen = []


@dataclass
class Place:
    city: str
    country: str = "IS"


def forecast(place: Place, days: Annotated[int, "How many"] = 1) -> str:
    """Forecast for a place.

    More.
    """
    seen.append(place.city)
    return f"{place.city}: rain for {days} days"


async def count() -> int:
    """How often it was asked."""
    return len(seen)


def untyped(place, days: int = 1):
    """No."""


def open_ended(*places: str) -> str:
    """No."""


def odd(when: complex) -> str:
    """No."""


def unresolved(when: Nowhere) -> str:
    """No."""


CONSTANT = 1
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tools.py"
    path.write_text(GOOD, encoding="utf-8")
    return path


def declared(file: Path, function: str, more: str = "") -> str:
    return f'<tool python="{file}:{function}" {more}/>'


@pytest.mark.anyio
async def test_a_typed_function_becomes_a_tool_that_runs(file: Path) -> None:
    found = resolved(declared(file, "forecast"))

    assert found.problems == ()
    (made,) = found.tools
    assert made.name == "forecast"
    assert made.description == "Forecast for a place"
    assert made.source == "python"
    assert made.effects == {Effect.EXECUTE}
    assert made.sandbox.timeout_ms == 60_000
    assert found.bindings == {"forecast": PythonReference(str(file), "forecast")}
    properties: Any = made.input_schema["properties"]
    assert properties["days"] == {"type": "integer", "description": "How many", "default": 1}
    assert properties["place"]["properties"]["city"] == {"type": "string"}
    assert made.handler is not None
    answer = await made.handler({"place": {"city": "Vik"}, "days": 3}, None)
    assert answer == "Vik: rain for 3 days"


@pytest.mark.anyio
async def test_functions_of_one_file_share_its_state(file: Path) -> None:
    ask, count = resolved(declared(file, "forecast") + declared(file, "count")).tools

    assert ask.handler is not None
    assert count.handler is not None
    await ask.handler({"place": {"city": "Vik"}}, None)
    assert await count.handler({}, None) == 1


def test_the_declaration_may_say_more_than_the_function(file: Path) -> None:
    more = 'name="weather" description="Rain or not" effects="read" timeout="5"'
    (made,) = resolved(declared(file, "forecast", more)).tools

    assert (made.name, made.description) == ("weather", "Rain or not")
    assert made.effects == {Effect.READ}
    assert made.sandbox.timeout_ms == 5000


def test_effects_none_says_that_a_function_touches_nothing(file: Path) -> None:
    (made,) = resolved(declared(file, "forecast", 'effects="none"')).tools

    assert made.effects == frozenset()


def test_a_tool_that_the_file_made_itself_keeps_what_it_says() -> None:
    @tool("math.double", effects={Effect.READ})
    async def double(number: int) -> int:
        """Twice the number."""
        return 2 * number

    found = resolved('<tool python="t.py:double"/>', functions={("t.py", "double"): double})

    assert found.problems == ()
    assert found.tools[0].name == "math.double"
    assert found.tools[0].effects == {Effect.READ}


def test_a_tool_can_be_loaded_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(
        "from whence.declare.function import tool\n"
        "@tool('own.name')\nasync def f(x: int) -> int:\n    '''F.'''\n    return x\n"
    )

    loaded = load_function(str(path), "f")
    assert isinstance(loaded, Tool)
    assert loaded.name == "own.name"


@pytest.mark.parametrize("written", ["", "tools.py", "tools.py:", "tools:f", ":f", "tools.py:a b"])
def test_a_reference_names_a_file_and_a_function(written: str) -> None:
    problem = one_problem(resolved(f'<tool python="{written}"/>'))

    assert problem.code == "bad-python"
    assert "tools.py:forecast" in problem.suggestion


@pytest.mark.parametrize(
    ("function", "message", "suggestion"),
    [
        ("forecst", "has no function", "Did you mean forecast?"),
        ("untyped", ":29: parameter 'place' of untyped has no type", "place: str"),
        ("CONSTANT", ":45: CONSTANT is of type int, not a function", "def"),
        ("Place", ":10: Place is of type type, not a function", "def"),
    ],
)
def test_what_cannot_be_loaded_is_named_with_its_line(
    file: Path, function: str, message: str, suggestion: str
) -> None:
    with pytest.raises(WhenceError) as caught:
        load_function(str(file), function)

    assert message in caught.value.message
    assert caught.value.message.startswith(str(file))
    assert suggestion in caught.value.suggestion


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("forecst", "has no function"),
        ("untyped", "has no type"),
        ("open_ended", "cannot take *places"),
        ("odd", "complex"),
        ("unresolved", "Nowhere"),
    ],
)
def test_a_function_that_is_no_tool_is_a_problem_of_the_declaration(
    file: Path, function: str, message: str
) -> None:
    found = resolved("\n" + declared(file, function))

    problem = one_problem(found)
    assert (problem.code, problem.severity) == ("unusable-python", Severity.ERROR)
    assert message in problem.message
    assert str(file) in problem.message
    assert (problem.line, problem.column) == (2, 7)
    assert found.tools == ()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\ndef f(:\n", ":2: SyntaxError"),
        ("x = 1\n\nraise ValueError('broken')\n", ":3: ValueError: broken"),
        ("import sys\nsys.exit(3)\n", ":2: SystemExit: 3"),
        ("\nimport no_such_module_anywhere\n", ":2: ModuleNotFoundError"),
        ("import json\njson.loads('{')\n", ":2: JSONDecodeError"),
        ("def f(x: int) -> int:\n    return x\n\0", "SyntaxError"),
    ],
)
def test_a_file_that_does_not_run_is_named_with_the_line_of_its_own(
    tmp_path: Path, source: str, message: str
) -> None:
    path = tmp_path / "broken.py"
    path.write_text(source, encoding="utf-8")
    before = set(sys.modules)

    with pytest.raises(InvalidArgs) as caught:
        load_function(str(path), "f")
    assert message in caught.value.message
    assert not [name for name in set(sys.modules) - before if name.startswith("whence_tools")]


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"missing\.py"):
        load_function(str(tmp_path / "missing.py"), "f")


def test_a_path_that_the_system_refuses_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgs, match="cannot be read"):
        load_function(str(tmp_path / f"{'x' * 300}.py"), "f")


def test_a_file_knows_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "where.py"
    path.write_text("def f() -> str:\n    return __file__\n")

    loaded = load_function(str(path), "f")
    assert not isinstance(loaded, Tool)
    assert loaded() == str(path)


def test_a_directory_a_pipe_and_a_huge_file_are_no_python_files(tmp_path: Path) -> None:
    pipe, folder, huge = tmp_path / "pipe.py", tmp_path / "folder.py", tmp_path / "huge.py"
    os.mkfifo(pipe)
    folder.mkdir()
    huge.write_bytes(b"#" * 4_000_001)

    for path in (pipe, folder, huge):
        with pytest.raises(InvalidArgs, match="no ordinary Python file"):
            load_function(str(path), "f")


def test_an_edited_file_is_run_anew_even_within_the_same_second(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    answers: list[Any] = []
    for number in (1, 2):
        path.write_text(f"def f() -> int:\n    return {number}\n")
        os.utime(path, (0, 0))
        loaded = load_function(str(path), "f")
        assert not isinstance(loaded, Tool)
        answers.append(loaded())

    assert answers == [1, 2]
    assert [each.name for each in tmp_path.iterdir()] == ["edited.py"]


def test_effects_that_do_not_exist_are_an_error(file: Path) -> None:
    assert codes(resolved(declared(file, "forecast", 'effects="reed"'))) == ["bad-effects"]
