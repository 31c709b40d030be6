"""Imports point one way only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import whence

PACKAGE = Path(whence.__file__).parent
LAYERS = (
    {"cli", "tui", "web"},
    {"loop"},
    {"execute", "provider", "mcp", "journal", "catalogs"},
    {"gate"},
    {"declare"},
    {"chatmd"},
    {"shapes"},
    {"errors"},
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
EXTRA = {
    ("loop", "work"),
    ("catalogs", "work"),
    ("catalogs", "execute"),
    ("work", "execute"),
    ("work", "shapes"),
}
ONLY_PORTS = {"catalogs", "work"}
"""Rooms that may see of `execute` nothing but its ports."""


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def edges() -> Iterator[tuple[str, str, str, Path]]:
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in ("__init__", "__main__"):
            continue
        for module in imports(path):
            parts = module.split(".")
            if parts[0] == "whence" and len(parts) > 1 and parts[1] != room:
                yield room, parts[1], module, path


def allowed(room: str, target: str, module: str) -> bool:
    if target == "errors":
        return True
    if (room, target) in EXTRA:
        return not (target == "execute" and room in ONLY_PORTS and module != "whence.execute.ports")
    return room in LEVEL and target in LEVEL and LEVEL[room] < LEVEL[target]


def test_imports_point_down_only() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for room, target, module, path in edges()
        if not allowed(room, target, module)
    ]

    assert wrong == []


def test_the_check_itself_finds_a_wrong_direction() -> None:
    assert not allowed("gate", "execute", "whence.execute.executor")
    assert not allowed("journal", "catalogs", "whence.catalogs.moollm")
    assert not allowed("work", "execute", "whence.execute.files")
    assert allowed("loop", "gate", "whence.gate.gate")
