"""The faces that models see: names, schemas and output forms. No logic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from whence.errors import NotFound
from whence.shapes.tool import Tool

NAMES = ("chatmd", "moollm", "roo")
"""Every catalog."""
DEFAULT = ("chatmd", "moollm")
"""Where a tool is looked for that is named without a catalog, in this order."""


def load_catalog(name: str) -> tuple[Tool, ...]:
    """The tools of one catalog."""
    if name not in NAMES:
        raise NotFound(f"there is no catalog {name!r}", f"Catalogs: {', '.join(NAMES)}.")
    tools: tuple[Tool, ...] = import_module(f"whence.catalogs.{name}").TOOLS
    return tools


class Catalogs(Mapping[str, tuple[Tool, ...]]):
    """Every catalog by its name, each loaded when somebody looks into it."""

    def __getitem__(self, name: str) -> tuple[Tool, ...]:
        if name not in NAMES:
            raise KeyError(name)
        return load_catalog(name)

    def __contains__(self, name: object) -> bool:
        return name in NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


def load_catalogs() -> tuple[Tool, ...]:
    """The tools of the default catalogs."""
    return tuple(tool for name in DEFAULT for tool in load_catalog(name))
