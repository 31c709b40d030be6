"""Do the arguments fit the tool?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whence.declare.toolbox import Mounted
from whence.gate.plain import shown
from whence.shapes.call import Fault
from whence.shapes.schema import without_nulls

if TYPE_CHECKING:
    import jsonschema_rs

_MOST_PROBLEMS = 10
_DEEPEST = 64
_SCALARS = frozenset({str, int, float, bool, type(None)})
_CONTAINERS = (dict, list, tuple)
_HABITS = {
    "file_path": "path", "filepath": "path", "filename": "path", "file": "path", "dir": "path",
    "directory": "path", "command": "cmd", "contents": "content", "pattern": "query",
    "regex": "query", "source": "src", "destination": "dst", "patch": "diff", "reason": "why",
}  # fmt: skip
"""Names that models use from habit for what the protocol calls otherwise."""


def renamed(arguments: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """The arguments under the names that the schema has, where older ones were used."""
    return {
        name if (new := aliases.get(name, name)) in arguments else new: value
        for name, value in arguments.items()
    }


def check(mounted: Mounted, arguments: dict[str, Any]) -> tuple[dict[str, Any], Fault | None]:
    """The arguments as the handler gets them, and what is wrong with them.

    A null for an optional argument that takes no null counts as left out, also inside others.
    """
    if mounted.is_open or arguments.keys() <= mounted.properties:
        if _is_valid(mounted, arguments):
            return arguments, None
        given = _given(mounted, arguments)
        if given != arguments and _is_valid(mounted, given):
            return given, None
    unknown = () if mounted.is_open else arguments.keys() - mounted.properties
    return arguments, _fault(mounted, arguments, sorted(unknown, key=str))


def _given(mounted: Mounted, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        _bound_depth(arguments)
    except (ValueError, TypeError):
        return arguments
    return without_nulls(arguments, mounted.tool.input_schema)


def _is_valid(mounted: Mounted, arguments: dict[str, Any]) -> bool:
    """Whether they fit; what is not JSON at all does not."""
    try:
        if not mounted.is_flat:
            _bound_depth(arguments)
        return mounted.validator.is_valid(arguments)
    except (ValueError, TypeError, RecursionError, OverflowError):
        return False


def _bound_depth(arguments: dict[str, Any]) -> None:
    """Let nothing pass that is not JSON, or that nests too deep: validators look only as needed."""
    layer: list[Any] = [arguments]
    for _ in range(_DEEPEST):
        layer = [child for item in layer for child in _containers(item)]
        if not layer:
            return
    raise ValueError(f"nested more than {_DEEPEST} levels deep")


def _containers(item: Any) -> list[Any]:
    """The lists and objects among its children."""
    children = item
    if isinstance(item, dict):
        _known(set(map(type, item)), (str,))
        children = item.values()
    kinds = set(map(type, children))
    if kinds <= _SCALARS:
        return []
    _known(kinds, (*_CONTAINERS, str, int, float, type(None)))
    return [child for child in children if isinstance(child, _CONTAINERS)]


def _known(kinds: set[type], allowed: tuple[type, ...]) -> None:
    for kind in kinds:
        if not issubclass(kind, allowed):
            raise TypeError(f"a {kind.__name__} is among them")


def _fault(mounted: Mounted, arguments: dict[str, Any], unknown: list[str]) -> Fault:
    problems = [_unknown(mounted, name) for name in unknown]
    known = {key: value for key, value in arguments.items() if key not in unknown}
    problems += _schema_problems(mounted, known)
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Fault(
        "INVALID_ARGS",
        f"{mounted.name}: {first['message']}{more}",
        first["suggestion"],
        details={"problems": problems},
    )


def _unknown(mounted: Mounted, name: str) -> dict[str, str]:
    names = sorted(mounted.properties)
    habit = _HABITS.get(name)
    close = [habit] if habit in mounted.properties else []
    from rapidfuzz import process

    if not close and isinstance(name, str):
        close = [match[0] for match in process.extract(name, names, limit=1, score_cutoff=60)]
    takes = f"It takes {', '.join(names)}." if names else "It takes no arguments but why."
    return {
        "argument": name,
        "message": f"unknown argument {name!r}",
        "suggestion": f"Did you mean {close[0]!r}? {takes}" if close else takes,
    }


def _schema_problems(mounted: Mounted, arguments: dict[str, Any]) -> list[dict[str, str]]:
    try:
        _bound_depth(arguments)
        errors = mounted.validator.iter_errors(arguments)
        return [_described(mounted, error) for error, _ in zip(errors, range(_MOST_PROBLEMS))]  # noqa: B905
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        return [
            {
                "argument": "",
                "message": f"the arguments are not plain JSON: {error}: {shown(arguments, 100)}",
                "suggestion": "Send JSON objects, lists, numbers and valid Unicode text only.",
            }
        ]


def _described(mounted: Mounted, error: jsonschema_rs.ValidationError) -> dict[str, str]:
    where = ".".join(str(step) for step in error.instance_path)
    keyword = type(error.kind).__name__
    if keyword == "Required":
        missing = str(getattr(error.kind, "property", ""))
        name = f"{where}.{missing}" if where else missing
        kind = _expected(mounted, [*map(str, error.instance_path), missing])
        return {
            "argument": name,
            "message": f"required argument {name!r} is missing",
            "suggestion": f"Add {name!r}{kind}.",
        }
    kind = _expected(mounted, [str(step) for step in error.instance_path])
    return {
        "argument": where,
        "message": f"argument {where!r}: {_cut(error.message)}",
        "suggestion": f"Give {where!r} as the schema says{kind}.",
    }


def _expected(mounted: Mounted, path: list[str]) -> str:
    schema: Any = mounted.tool.input_schema
    for step in path:
        properties = schema.get("properties", {})
        schema = properties.get(step) or schema.get("items") or {}
        if not isinstance(schema, dict):
            return ""
    if "enum" in schema:
        return f": one of {', '.join(map(repr, schema['enum']))}"
    kind = schema.get("type")
    about = f", {schema['description']}" if schema.get("description") else ""
    return f": {kind}{about}" if isinstance(kind, str) else ""


def _cut(text: str) -> str:
    return text if len(text) <= 300 else text[:297] + "…"
